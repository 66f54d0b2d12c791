#include "engine/events/recipient_events.h"

#include "db/advisory_locks.h"
#include "sql/recipient_events.h"
#include "sql/run_starts.h"

#include <string.h>

static const char *const change_names[] = {
    [RECIPIENT_EVENT_ADD] = "add",
    [RECIPIENT_EVENT_MOVE] = "move",
    [RECIPIENT_EVENT_REMOVE] = "remove",
};

static bool forget_zeros(const struct work *work, const struct recipient_events_record_params *params, struct error *err)
{
    struct recipient_events_forget_zeros_params zeros = {
        .brand_id = params->brand_id,
        .send_ids = params->send_ids,
        .ordinals = params->ordinals,
        .types = params->types,
        .recorded_ats = params->recorded_ats,
    };
    return sql_recipient_events_forget_zeros(work->conn, work->arena, &zeros, NULL, err);
}

/* Wakes the runs that wait for engagement with these messages. While the lock is held, no run begins to wait for one of them. */
static bool wake_runs(const struct work *work, struct int_list message_ids, struct error *err)
{
    struct run_lock_messages_params lock = { .lock = ADVISORY_LOCK_RUN_MESSAGES, .message_ids = message_ids };
    struct run_wake_by_messages_params wake = { .brand_id = work->brand_id, .message_ids = message_ids, .now = work->now_us };
    struct run_notify_brand_params notify = { work->brand_id };
    if (message_ids.count == 0)
        return true;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &run_lock_messages_statement, &lock);
    db_batch_add(batch, &run_wake_by_messages_statement, &wake);
    db_batch_add(batch, &run_notify_brand_statement, &notify);
    return db_batch_run(batch, err);
}

/* Marks the events that were recorded, and returns the messages of runs among them. */
static struct int_list note_recorded(struct arena *arena, const struct recipient_events_record_row *rows, size_t count,
                                     bool *ret_new)
{
    int64_t *ids = arena_array(arena, count + 1, sizeof(*ids));
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        ret_new[rows[i].place - 1] = true;
        if (rows[i].message_id.set)
            ids[found++] = rows[i].message_id.value;
    }
    return (struct int_list){ ids, found };
}

bool recipient_events_record(const struct work *work, const struct recipient_event *events, size_t count, bool *ret_new,
                             struct error *err)
{
    memset(ret_new, 0, count * sizeof(*ret_new));
    if (count == 0)
        return true;
    int64_t *send_ids = arena_array(work->arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    int64_t *ats = arena_array(work->arena, count, sizeof(*ats));
    const char **types = arena_array(work->arena, count, sizeof(*types));
    const char **summaries = arena_array(work->arena, count, sizeof(*summaries));
    const char **urls = arena_array(work->arena, count, sizeof(*urls));
    const char **actors = arena_array(work->arena, count, sizeof(*actors));
    const char **changes = arena_array(work->arena, count, sizeof(*changes));
    int64_t *recorded_ats = arena_array(work->arena, count, sizeof(*recorded_ats));
    bool any_taken_back = false;
    for (size_t i = 0; i < count; i++) {
        changes[i] = change_names[events[i].change];
        recorded_ats[i] = events[i].recorded_at_us;
        any_taken_back |= events[i].change != RECIPIENT_EVENT_ADD;
        send_ids[i] = events[i].send_id;
        ordinals[i] = events[i].ordinal;
        ats[i] = events[i].at_us;
        types[i] = events[i].type;
        summaries[i] = events[i].summary;
        urls[i] = events[i].url;
        actors[i] = events[i].actor;
    }
    struct recipient_events_record_params params = {
        .brand_id = work->brand_id,
        .send_ids = { send_ids, count },
        .ordinals = { ordinals, count },
        .types = { types, count },
        .ats = { ats, count },
        .summaries = { summaries, count },
        .urls = { urls, count },
        .actors = { actors, count },
        .changes = { changes, count },
        .recorded_ats = { recorded_ats, count },
    };
    struct recipient_events_record_row *rows;
    size_t row_count;
    if (!sql_recipient_events_record(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    struct int_list messages = note_recorded(work->arena, rows, row_count, ret_new);
    return (!any_taken_back || forget_zeros(work, &params, err)) && wake_runs(work, messages, err);
}
