#include "engine/audiences/audiences.h"

#include <string.h>

/* The contract reports the build of a cohort with the status names of jobs, besides its readiness. */
static const char *build_status_of(const char *readiness)
{
    static const char *const words[][2] = { { "pending", "queued" }, { "ready", "completed" } };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (strcmp(words[i][0], readiness) == 0)
            return words[i][1];
    return readiness;
}

static void write_build(const struct work *work, const struct audience_row *audience, struct json_writer *json)
{
    json_key(json, "build");
    json_object_begin(json);
    json_member_id_if(json, work, "jobId", ID_JOB, audience->build_job);
    json_member_text(json, "status", build_status_of(audience->readiness));
    json_key(json, "counts");
    json_object_begin(json);
    json_member_int(json, "eventsScanned", audience->events_scanned);
    json_member_int(json, "stampedContacts", audience->stamped_contacts);
    json_object_end(json);
    json_member_time_if(json, "enqueuedAt", audience->enqueued_at);
    json_member_time_if(json, "completedAt", audience->completed_at);
    json_object_end(json);
}

void audience_write(const struct work *work, const struct audience_row *audience, struct audience_parts parts,
                    struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "audienceId", ID_AUDIENCE, audience->id);
    json_member_text(json, "name", audience->name);
    json_member_raw(json, "filters", audience->filters);
    if (parts.count.set)
        json_member_int(json, "count", parts.count.value);
    if (parts.ignoring_case.set)
        json_member_int(json, "matchesIgnoringCase", parts.ignoring_case.value);
    if (audience->readiness != NULL) {
        json_member_text(json, "materializationStatus", audience->readiness);
        if (parts.build)
            write_build(work, audience, json);
    }
    json_member_time(json, "createdAt", audience->created_at);
    json_member_time(json, "updatedAt", audience->updated_at);
    json_object_end(json);
}
