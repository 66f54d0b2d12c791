/*
 * The job of fields.delete: it marks a custom field as being deleted, removes its
 * values from the contacts of the brand, one transaction a step, and then the
 * field. The position is in the row of the field, so each round, and a job that
 * was interrupted, goes on where the last step ended.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/fields/fields.h"

/* Other jobs get the worker between two rounds. */
enum { DELETE_FIELD_MAX_ATTEMPTS = 5, ROUND_MAX_S = 10 };

struct clearing {
    bool done;
};

static const char *name_of(const struct job *job)
{
    const struct delete_field_payload *payload = job->payload;
    return payload->field_name;
}

static bool execute(struct job *job, struct error *err)
{
    struct clearing *clearing = arena_alloc(job->work.arena, sizeof(*clearing));
    int64_t deadline_us = clock_monotonic_us() + ROUND_MAX_S * US_PER_S;
    int64_t total = 0;
    bool exists;
    job->result = clearing;
    if (!field_leave(&job->work, name_of(job), &exists, err))
        return false;
    clearing->done = !exists;
    while (!clearing->done && clock_monotonic_us() < deadline_us) {
        int64_t seen;
        ARENA_SCOPE scratch = arena_new(0);
        struct work work = job->work;
        work.arena = scratch;
        if (!field_clear_step(&work, name_of(job), &seen, err))
            return false;
        clearing->done = seen < FIELD_CLEAR_STEP;
        total += seen;
        job_progress(job, (double)total, 0, "Clearing the values");
    }
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct clearing *clearing = job->result;
    bool deleted;
    *ret_status = 200;
    if (!clearing->done) {
        job_run_again(job, job->work.now_us);
        return true;
    }
    if (!field_delete(&job->work, name_of(job), &deleted, err))
        return false;
    json_object_begin(answer);
    json_member_text(answer, "fieldName", name_of(job));
    json_member_bool(answer, "deleted", deleted);
    json_object_end(answer);
    return true;
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    (void)why;
    return field_stay(&job->work, name_of(job), err);
}

const struct job_type job_delete_field = {
    .max_attempts = DELETE_FIELD_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
