/*
 * Explanation of automations: the fires for an address, why a fire started
 * nothing, and the runs with every decision, its facts and the next wake. Nothing
 * of a payload is read.
 */
#include "engine/sends/explain.h"

#include "base/clock.h"
#include "base/text.h"

enum { RUN_SENTENCE_MAX_BYTES = 4096 };

static void say_time(struct buf *out, const char *before, int64_t time_us)
{
    char text[CLOCK_ISO_CHARS + 1];
    clock_format_iso(time_us, text);
    buf_printf(out, "%s%s", before, text);
}

/* ---- Fires ---- */

static const char *fire_sentence(const struct work *work, const struct explain_fires_row *row)
{
    struct buf *out = buf_in_arena(work->arena, RUN_SENTENCE_MAX_BYTES);
    if (row->run_ids.count > 0)
        buf_printf(out, "Started %zu %s", row->run_ids.count, row->run_ids.count == 1 ? "run" : "runs");
    else
        buf_printf(out, "Started nothing: %s",
                   row->rejection_reason != NULL ? row->rejection_reason
                   : row->reasons.count > 0      ? "each automation refused"
                                                 : "no published automation listens to this trigger");
    for (size_t i = 0; i < row->reasons.count; i++)
        buf_printf(out, "; \"%s\" did not start: %s", row->refused_names.items[i] != NULL ? row->refused_names.items[i] : "deleted",
                   row->reasons.items[i] != NULL ? row->reasons.items[i] : "no reason is known");
    buf_add_char(out, '.');
    return buf_text(out);
}

static void write_refusals(const struct work *work, const struct explain_fires_row *row, struct json_writer *json)
{
    json_key(json, "notStarted");
    json_array_begin(json);
    for (size_t i = 0; i < row->refused_ids.count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "automationId", ID_AUTOMATION, row->refused_ids.items[i]);
        json_member_text_if(json, "name", row->refused_names.items[i]);
        json_member_text_if(json, "reason", row->reasons.items[i]);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_fire(const struct work *work, const struct explain_fires_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "summary", fire_sentence(work, row));
    json_member_id(json, work, "triggerInstanceId", ID_INSTANCE, row->id);
    json_member_id(json, work, "triggerEventId", ID_TRIGGER, row->trigger_id);
    json_member_text(json, "title", row->title);
    json_member_text(json, "source", row->source);
    json_member_text(json, "state", row->state);
    json_member_time(json, "occurredAt", row->occurred_at);
    json_member_text_if(json, "rejectionReason", row->rejection_reason);
    json_key(json, "automationRunIds");
    json_array_begin(json);
    for (size_t i = 0; i < row->run_ids.count; i++)
        json_text(json, work_id(work, ID_RUN, row->run_ids.items[i]));
    json_array_end(json);
    write_refusals(work, row, json);
    json_object_end(json);
}

/* ---- Runs ---- */

/* What an open run waits for. */
static void say_wait(struct buf *out, const struct explain_runs_row *row)
{
    if (row->is_held)
        buf_printf(out, "Held at node %s: the automation or the audience run is paused, or the database was restored",
                   row->node_id);
    else
        buf_printf(out, "At node %s", row->node_id);
    if (row->waits_message.set)
        buf_add_text(out, "; waits for a message of the run or for what its recipient does");
    if (row->waits_trigger.set)
        buf_add_text(out, "; waits for an event");
    if (row->due_at.set)
        say_time(out, "; next step at ", row->due_at.value);
}

static const char *run_sentence(const struct work *work, const struct explain_runs_row *row)
{
    struct buf *out = buf_in_arena(work->arena, RUN_SENTENCE_MAX_BYTES);
    if (text_equal(row->status, "completed"))
        buf_add_text(out, "Completed");
    else if (text_equal(row->status, "failed"))
        buf_printf(out, "Failed at node %s: %s", row->node_id, row->error != NULL ? row->error : "no reason is known");
    else if (text_equal(row->status, "canceled"))
        buf_printf(out, "Canceled at node %s", row->node_id);
    else
        say_wait(out, row);
    if (row->completed_at.set)
        say_time(out, " at ", row->completed_at.value);
    buf_add_char(out, '.');
    return buf_text(out);
}

static void write_run(const struct work *work, const struct explain_runs_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "summary", run_sentence(work, row));
    json_member_id(json, work, "automationRunId", ID_RUN, row->id);
    json_member_id(json, work, "automationId", ID_AUTOMATION, row->automation_id);
    json_member_text_if(json, "automationName", row->automation_name);
    if (row->version.set)
        json_member_int(json, "version", row->version.value);
    json_member_text(json, "status", row->status);
    json_member_text(json, "nodeId", row->node_id);
    json_member_time_if(json, "nextStepAt", row->due_at);
    json_member_id_if(json, work, "waitsForSendId", ID_SEND, row->waits_message);
    json_member_id_if(json, work, "waitsForTriggerEventId", ID_TRIGGER, row->waits_trigger);
    if (row->is_held)
        json_member_bool(json, "held", true);
    json_member_text_if(json, "error", row->error);
    json_member_time(json, "startedAt", row->started_at);
    json_member_time_if(json, "completedAt", row->completed_at);
    json_member_id_if(json, work, "audienceRunId", ID_AUDIENCE_RUN, row->audience_run_id);
    json_member_id_if(json, work, "triggerInstanceId", ID_INSTANCE, row->trigger_instance_id);
    json_member_raw(json, "steps", row->steps != NULL ? row->steps : "[]");
    json_object_end(json);
}

void explain_write_automations(const struct work *work, const struct db_rows *fires, const struct db_rows *runs,
                               struct json_writer *json)
{
    const struct explain_fires_row *fire_rows = fires->rows;
    const struct explain_runs_row *run_rows = runs->rows;
    json_key(json, "fires");
    json_array_begin(json);
    for (size_t i = 0; i < fires->count && i < EXPLAIN_RUNS_MAX; i++)
        write_fire(work, &fire_rows[i], json);
    json_array_end(json);
    json_key(json, "runs");
    json_array_begin(json);
    for (size_t i = 0; i < runs->count && i < EXPLAIN_RUNS_MAX; i++)
        write_run(work, &run_rows[i], json);
    json_array_end(json);
    json_member_bool(json, "hasMoreRuns", runs->count > EXPLAIN_RUNS_MAX || fires->count > EXPLAIN_RUNS_MAX);
}
