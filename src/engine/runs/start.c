#include "engine/runs/start.h"

#include "base/panic.h"
#include "db/advisory_locks.h"
#include "sql/run_starts.h"

/* The members of the runs, as the columns of the statement. */
struct columns {
    int64_t *ids;
    int64_t *automation_ids;
    int64_t *version_ids;
    const char **nodes;
    int64_t *trigger_ids;
    int64_t *instance_ids;
    int64_t *payload_ids;
    int64_t *audience_run_ids;
    int64_t *contact_ids;
    const char **emails;
    const char **keys;
};

static struct columns make_columns(struct arena *arena, size_t count)
{
    return (struct columns){
        .ids = arena_array(arena, count, sizeof(int64_t)),
        .automation_ids = arena_array(arena, count, sizeof(int64_t)),
        .version_ids = arena_array(arena, count, sizeof(int64_t)),
        .nodes = arena_array(arena, count, sizeof(const char *)),
        .trigger_ids = arena_array(arena, count, sizeof(int64_t)),
        .instance_ids = arena_array(arena, count, sizeof(int64_t)),
        .payload_ids = arena_array(arena, count, sizeof(int64_t)),
        .audience_run_ids = arena_array(arena, count, sizeof(int64_t)),
        .contact_ids = arena_array(arena, count, sizeof(int64_t)),
        .emails = arena_array(arena, count, sizeof(const char *)),
        .keys = arena_array(arena, count, sizeof(const char *)),
    };
}

static void set_row(const struct columns *columns, size_t i, const struct run_start *start)
{
    columns->ids[i] = start->id;
    columns->automation_ids[i] = start->automation_id;
    columns->version_ids[i] = start->version_id;
    columns->nodes[i] = start->trigger_node;
    columns->trigger_ids[i] = start->trigger_id;
    columns->instance_ids[i] = start->instance_id;
    columns->payload_ids[i] = start->payload_id;
    columns->audience_run_ids[i] = start->audience_run_id;
    columns->contact_ids[i] = start->contact_id;
    columns->emails[i] = start->email;
    columns->keys[i] = start->email_key;
}

static struct run_starts_params params_of(const struct work *work, const struct run_start *starts, size_t count)
{
    struct columns columns = make_columns(work->arena, count);
    for (size_t i = 0; i < count; i++)
        set_row(&columns, i, &starts[i]);
    return (struct run_starts_params){
        .brand_id = work->brand_id,
        .ids = { columns.ids, count },
        .automation_ids = { columns.automation_ids, count },
        .version_ids = { columns.version_ids, count },
        .nodes = { columns.nodes, count },
        .trigger_ids = { columns.trigger_ids, count },
        .instance_ids = { columns.instance_ids, count },
        .payload_ids = { columns.payload_ids, count },
        .audience_run_ids = { columns.audience_run_ids, count },
        .contact_ids = { columns.contact_ids, count },
        .emails = { columns.emails, count },
        .keys = { columns.keys, count },
        .now = work->now_us,
    };
}

bool runs_start_ask(const struct work *work, const struct run_start *starts, size_t count, struct db_batch *batch,
                    size_t *ret_index, struct error *err)
{
    if (count > RUN_STARTS_MAX)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "Too many runs start at once.");
    struct run_starts_params params = params_of(work, starts, count);
    *ret_index = db_batch_add(batch, &run_starts_statement, &params);
    return true;
}

struct int_list runs_start_take(const struct work *work, const struct db_batch *batch, size_t index)
{
    const struct db_rows *found = db_batch_rows(batch, index);
    const struct run_starts_row *ids = found->rows;
    int64_t *items = arena_array(work->arena, found->count, sizeof(*items));
    for (size_t i = 0; i < found->count; i++)
        items[i] = ids[i].id;
    return (struct int_list){ items, found->count };
}

bool runs_start(const struct work *work, const struct run_start *starts, size_t count, struct int_list *ret_ids, struct error *err)
{
    size_t index;
    *ret_ids = (struct int_list){ .count = 0 };
    if (count == 0)
        return true;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (!runs_start_ask(work, starts, count, batch, &index, err) || !db_batch_run(batch, err))
        return false;
    *ret_ids = runs_start_take(work, batch, index);
    return true;
}

size_t runs_wake_by_events_ask(const struct work *work, const struct run_events *events, struct db_batch *batch)
{
    struct run_hold_addresses_params hold = { .lock = ADVISORY_LOCK_RUN_EVENTS,
                                              .brand_id = work->brand_id,
                                              .email_keys = events->email_keys };
    struct run_wake_by_events_params wake = {
        .brand_id = work->brand_id, .trigger_ids = events->trigger_ids, .email_keys = events->email_keys, .now = work->now_us
    };
    db_batch_add(batch, &run_hold_addresses_statement, &hold);
    return db_batch_add(batch, &run_wake_by_events_statement, &wake);
}

bool runs_have_woken(const struct db_batch *batch, size_t index)
{
    return db_batch_rows(batch, index)->affected > 0;
}

bool runs_wake_by_events(const struct work *work, const struct run_events *events, bool *ret_woken, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t woken_at = runs_wake_by_events_ask(work, events, batch);
    if (!db_batch_run(batch, err))
        return false;
    *ret_woken = runs_have_woken(batch, woken_at);
    return true;
}

bool runs_wake_by_messages(const struct work *work, struct int_list message_ids, struct error *err)
{
    if (message_ids.count == 0)
        return true;
    struct run_lock_messages_params lock = { .lock = ADVISORY_LOCK_RUN_MESSAGES, .message_ids = message_ids };
    struct run_wake_by_messages_params wake = { .brand_id = work->brand_id, .message_ids = message_ids, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &run_lock_messages_statement, &lock);
    size_t woken = db_batch_add(batch, &run_wake_by_messages_statement, &wake);
    if (!db_batch_run(batch, err))
        return false;
    return db_batch_rows(batch, woken)->affected == 0 || runs_notify(work, err);
}

bool runs_notify(const struct work *work, struct error *err)
{
    struct run_notify_brand_params notify = { .brand_id = work->brand_id };
    return sql_run_notify_brand(work->conn, work->arena, &notify, NULL, err);
}

bool runs_notify_at_once(const struct work *work, struct error *err)
{
    if (db_in_transaction(work->conn))
        panic("a notification would take the durability of an open transaction");
    struct run_notify_brand_at_once_params notify = { .brand_id = work->brand_id };
    return sql_run_notify_brand_at_once(work->conn, work->arena, &notify, NULL, err);
}
