#include "engine/payloads/payloads.h"
#include "engine/runs/stepped_run.h"
#include "sql/delivery.h"

#include <string.h>

static const char *const statuses[] = {
    [RUN_GOES] = "running", [RUN_MAILS] = "running",       [RUN_WAITS] = "running",
    [RUN_LEFT] = "running", [RUN_COMPLETED] = "completed", [RUN_FAILED] = "failed",
};

static bool has_ended(const struct stepped_run *run)
{
    return run->state == RUN_COMPLETED || run->state == RUN_FAILED;
}

static bool keeps_payload(const struct stepped_run *run)
{
    return !has_ended(run) && run->node->payload_ahead;
}

static int64_t *numbers(const struct step_batch *batch, size_t count)
{
    return arena_array(batch->work.arena, count, sizeof(int64_t));
}

static const char **texts(const struct step_batch *batch, size_t count)
{
    return arena_array(batch->work.arena, count, sizeof(const char *));
}

/* ---- Visits ---- */

static size_t add_visits(const struct step_batch *batch, struct db_batch *statements)
{
    size_t count = batch->record_count;
    int64_t *run_ids = numbers(batch, count), *visits = numbers(batch, count), *started = numbers(batch, count),
            *completed = numbers(batch, count);
    const char **nodes = texts(batch, count), **types = texts(batch, count), **states = texts(batch, count),
               **branches = texts(batch, count), **facts = texts(batch, count), **errors = texts(batch, count);
    for (size_t i = 0; i < count; i++) {
        const struct visit_record *record = &batch->records[i];
        run_ids[i] = record->run_id;
        visits[i] = record->visit;
        nodes[i] = record->node->id;
        types[i] = node_types[record->node->type].name;
        states[i] = record->status;
        branches[i] = record->branch;
        facts[i] = record->facts_json;
        errors[i] = record->error;
        started[i] = record->entered_us;
        completed[i] = record->has_ended ? batch->work.now_us : DB_TIME_MINUS_INFINITY;
    }
    struct step_write_visits_params params = {
        .brand_id = batch->work.brand_id,
        .run_ids = { run_ids, count },
        .visits = { visits, count },
        .node_ids = { nodes, count },
        .node_types = { types, count },
        .statuses = { states, count },
        .branches = { branches, count },
        .facts = { facts, count },
        .errors = { errors, count },
        .started_ats = { started, count },
        .completed_ats = { completed, count },
    };
    return db_batch_add(statements, &step_write_visits_statement, &params);
}

/* ---- Runs ---- */

/* The columns of the runs, which are those of step_write_runs. */
struct run_columns {
    size_t count;
    int64_t *ids, *visits, *entered, *due, *messages, *triggers;
    const char **states, **nodes, **errors;
    bool *keep_payload;
};

static struct run_columns make_run_columns(const struct step_batch *batch)
{
    size_t count = batch->count;
    return (struct run_columns){
        .ids = numbers(batch, count),
        .visits = numbers(batch, count),
        .entered = numbers(batch, count),
        .due = numbers(batch, count),
        .messages = numbers(batch, count),
        .triggers = numbers(batch, count),
        .states = texts(batch, count),
        .nodes = texts(batch, count),
        .errors = texts(batch, count),
        .keep_payload = arena_array(batch->work.arena, count, sizeof(bool)),
    };
}

static void put_run(struct run_columns *columns, const struct stepped_run *run)
{
    size_t i = columns->count++;
    bool waits = !has_ended(run);
    columns->ids[i] = run->row->id;
    columns->states[i] = statuses[run->state];
    columns->nodes[i] = run->node != NULL ? run->node->id : run->row->node_id;
    columns->visits[i] = run->visit;
    columns->entered[i] = run->entered_us;
    columns->due[i] = waits && run->due_us.set ? run->due_us.value : DB_TIME_MINUS_INFINITY;
    columns->messages[i] = waits ? run->waits_message : 0;
    columns->triggers[i] = waits ? run->waits_trigger : 0;
    columns->errors[i] = run->error;
    columns->keep_payload[i] = keeps_payload(run);
}

static void add_runs(const struct step_batch *batch, struct db_batch *statements)
{
    struct run_columns columns = make_run_columns(batch);
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].state != RUN_SKIPPED)
            put_run(&columns, &batch->runs[i]);
    struct step_write_runs_params params = {
        .brand_id = batch->work.brand_id,
        .ids = { columns.ids, columns.count },
        .statuses = { columns.states, columns.count },
        .node_ids = { columns.nodes, columns.count },
        .visits = { columns.visits, columns.count },
        .entered_ats = { columns.entered, columns.count },
        .due_ats = { columns.due, columns.count },
        .messages = { columns.messages, columns.count },
        .triggers = { columns.triggers, columns.count },
        .errors = { columns.errors, columns.count },
        .keeps_payload = { columns.keep_payload, columns.count },
        .now = batch->work.now_us,
    };
    db_batch_add(statements, &step_write_runs_statement, &params);
}

/* Runs that failed before their node was known have no record of the visit. */
static void add_lost_visits(const struct step_batch *batch, struct db_batch *statements)
{
    int64_t *ids = numbers(batch, batch->count);
    const char *error = NULL;
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->runs[i].state != RUN_FAILED || batch->runs[i].node != NULL)
            continue;
        ids[count++] = batch->runs[i].row->id;
        error = batch->runs[i].error;
    }
    struct step_fail_visits_params params = {
        .brand_id = batch->work.brand_id, .run_ids = { ids, count }, .error = error, .now = batch->work.now_us
    };
    if (count > 0)
        db_batch_add(statements, &step_fail_visits_statement, &params);
}

/* ---- Events and counts ---- */

static void add_events(const struct step_batch *batch, struct db_batch *statements)
{
    int64_t *ids = numbers(batch, batch->count);
    const char **types = texts(batch, batch->count), **summaries = texts(batch, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        if (!has_ended(run))
            continue;
        ids[count] = run->row->id;
        types[count] = statuses[run->state];
        summaries[count++] = run->error;
    }
    struct step_write_events_params params = { .brand_id = batch->work.brand_id,
                                               .ids = { ids, count },
                                               .types = { types, count },
                                               .summaries = { summaries, count },
                                               .now = batch->work.now_us };
    if (count > 0)
        db_batch_add(statements, &step_write_events_statement, &params);
}

/* A run counts as started with its first step. */
static void add_counts(const struct step_batch *batch, struct db_batch *statements)
{
    int64_t *ids = numbers(batch, 2 * batch->count);
    const char **kinds = texts(batch, 2 * batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        if (run->state == RUN_SKIPPED || run->row->is_test)
            continue;
        if (run->row->visit == 0) {
            ids[count] = run->row->automation_id;
            kinds[count++] = "started";
        }
        if (has_ended(run)) {
            ids[count] = run->row->automation_id;
            kinds[count++] = statuses[run->state];
        }
    }
    struct step_count_params params = {
        .brand_id = batch->work.brand_id, .automation_ids = { ids, count }, .kinds = { kinds, count }, .now = batch->work.now_us
    };
    if (count > 0)
        db_batch_add(statements, &step_count_statement, &params);
}

static void add_ended_launches(const struct step_batch *batch, struct db_batch *statements)
{
    int64_t *ids = numbers(batch, batch->count);
    bool *failed = arena_array(batch->work.arena, batch->count, sizeof(bool));
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        if (!has_ended(run) || !run->row->audience_run_id.set)
            continue;
        ids[count] = run->row->audience_run_id.value;
        failed[count++] = run->state == RUN_FAILED;
    }
    struct step_count_launches_params params = { .brand_id = batch->work.brand_id,
                                                 .audience_run_ids = { ids, count },
                                                 .are_failed = { failed, count },
                                                 .now = batch->work.now_us };
    if (count > 0)
        db_batch_add(statements, &step_count_launches_statement, &params);
}

static void add_launch_room(const struct step_batch *batch, struct db_batch *statements, struct int_list launches, bool has_room)
{
    struct step_launches_without_room_params params = {
        .brand_id = batch->work.brand_id, .ids = launches, .has_room = has_room, .now = batch->work.now_us
    };
    if (launches.count > 0)
        db_batch_add(statements, &step_launches_without_room_statement, &params);
}

/* ---- Holds and payloads ---- */

static void add_holds(const struct step_batch *batch, struct db_batch *statements)
{
    int64_t *ids = numbers(batch, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].row->is_paused)
            ids[count++] = batch->runs[i].row->id;
    struct step_hold_params params = { .brand_id = batch->work.brand_id, .ids = { ids, count } };
    if (count > 0)
        db_batch_add(statements, &step_hold_statement, &params);
}

static struct int_list dropped_payloads(const struct step_batch *batch)
{
    int64_t *ids = numbers(batch, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        if (run->state != RUN_SKIPPED && run->row->payload_id.set && !keeps_payload(run))
            ids[count++] = run->row->payload_id.value;
    }
    return (struct int_list){ ids, count };
}

/* ---- All ---- */

bool step_write(struct step_batch *batch, struct db_tx *tx, struct error *err)
{
    struct db_batch *statements = db_batch_new(batch->work.conn, batch->work.arena);
    struct int_list payloads = dropped_payloads(batch);
    size_t visits = add_visits(batch, statements);
    add_runs(batch, statements);
    add_lost_visits(batch, statements);
    add_events(batch, statements);
    add_holds(batch, statements);
    add_launch_room(batch, statements, batch->refused_launches, false);
    add_launch_room(batch, statements, batch->resumed_launches, true);
    add_ended_launches(batch, statements);
    add_counts(batch, statements);
    if (batch->has_appended)
        db_batch_add(statements, &delivery_notify_senders_statement, NULL);
    if (!db_batch_run(statements, err))
        return false;
    if (db_batch_rows(statements, visits)->affected != (int64_t)batch->record_count)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "A visit of a node has ended already.");
    struct db_batch *last = db_batch_new(batch->work.conn, batch->work.arena);
    payload_erase_unread_ask(&batch->work, payloads, last);
    return db_batch_run_commit(last, tx, err);
}
