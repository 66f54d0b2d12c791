/*
 * Shared commits. The single writes that wait at one moment travel together:
 * one pipeline carries BEGIN and the statements of all, a second one their
 * audit rows, their stored responses and COMMIT, so that two round trips and
 * one wait for the disk serve them all.
 *
 * Nobody may suffer from that. What needs no database is refused before. When
 * a call turns out to need more than the batch can give it (its key is in use,
 * its statement fails or waits for somebody's lock, its answer is a refusal),
 * the transaction is rolled back, that call is queued again to go alone by
 * dispatch_write, which finds the truth for it, and the others try again
 * without it.
 *
 * Calls lock their rows in one order, by operation, brand and lock key, so two
 * batches, of this or of another process, do not wait for each other in a
 * circle. What still does waits LEDGER_SHARED_WAIT_MS at most.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"

#include <stdlib.h>
#include <string.h>

/* Of a batch: one with statements for all, one that tells who is to blame, one without those. After that, a commit each. */
enum { TRIES = 3 };

struct member {
    struct call_state *state;
    struct op_context ctx;
    void *kept; /* between the steps of its operation */
    const char *lock_key;
    size_t arrival;
    bool asked;
    bool has_own; /* statements in the pipeline that are not shared with other members */
    size_t first; /* of them */
    size_t end;
    bool to_blame; /* the batch failed because of it */
};

struct group_commit {
    struct api *api;
    struct db_conn *conn;
    struct member *members;
    size_t count;
};

/* ---- Coming in and going out ---- */

static void go_alone(struct api *api, struct call_state *state)
{
    struct call_state *duplicates = dispatch_leave_key(api, state);
    state->goes_alone = true;
    /* Before its duplicates, which want to find what it will have stored. Another thread may end it from here on. */
    dispatch_queue(api, state);
    dispatch_queue_duplicates(api, duplicates);
}

/* What can be said of a call without the database. */
static bool check_alone(struct api *api, struct member *member, struct error *err)
{
    struct call *call = member->state->call;
    const struct operation *op = call->op;
    void *args = arena_alloc(call->arena, op->args->size);
    return !dispatch_refused_input(call, err) &&
           decode_arguments(call->arena, &api->engine->ids, op->args, &call->input, args, err) &&
           op->single_write->check(&member->ctx, args, &member->kept, &member->lock_key, err);
}

static bool admit(struct api *api, struct member *member, struct db_conn *conn, struct error *err)
{
    struct call_state *state = member->state;
    struct call *call = state->call;
    struct work admission = dispatch_work(api, state, call->arena, conn);
    if (!dispatch_start(api, state, NULL, err) || !dispatch_admit(api, state, &admission, err))
        return false;
    member->ctx = (struct op_context){
        .work = dispatch_work(api, state, call->arena, conn),
        .op = call->op,
        .call = call,
        .entry = &state->entry,
    };
    return dispatch_make_entry(state, call->arena, err);
}

/* Takes the call in, unless it is refused, waits for its duplicate or must go alone. */
static void join(struct group_commit *batch, struct call_state *state)
{
    struct api *api = batch->api;
    struct member *member = &batch->members[batch->count];
    struct error err = { .code = ERR_NONE };
    *member = (struct member){ .state = state, .lock_key = "", .arrival = batch->count };
    if (!admit(api, member, batch->conn, &err)) {
        dispatch_finish(api, state, false, &err);
        return;
    }
    bool has_key = state->entry.idempotency_key != NULL;
    if (has_key && !in_flight_keys_enter(api->in_flight, state->call->who.organization_id, state->key_hash, state))
        return;
    if (check_alone(api, member, &err))
        batch->count++;
    else if (has_key)
        go_alone(api, state); /* a replay comes before a refusal */
    else
        dispatch_finish(api, state, false, &err);
}

static int compare(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int by_lock(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;
    int order = strcmp(a->ctx.op->id, b->ctx.op->id);
    if (order == 0)
        order = compare(a->ctx.work.brand_id, b->ctx.work.brand_id);
    if (order == 0)
        order = strcmp(a->lock_key, b->lock_key);
    return order != 0 ? order : compare((int64_t)a->arrival, (int64_t)b->arrival);
}

/* ---- One try ---- */

static struct ledger_call *ledger_calls(const struct group_commit *batch, struct arena *arena)
{
    struct ledger_call *calls = arena_array(arena, batch->count, sizeof(*calls));
    for (size_t i = 0; i < batch->count; i++)
        calls[i] = (struct ledger_call){ .work = &batch->members[i].ctx.work, .entry = &batch->members[i].state->entry };
    return calls;
}

static bool is_same_group(const struct member *one, const struct member *other)
{
    return one->ctx.op == other->ctx.op && one->ctx.work.brand_id == other->ctx.work.brand_id;
}

/* Adds the statements of the first member that has not been asked for, together with those of its group, as far as their
 * rows differ; of two writes of one row the later must see what the earlier did. False when all were asked for. */
static bool ask_next(struct group_commit *batch, bool together, struct arena *arena, struct db_batch *statements)
{
    struct single_write *writes = arena_array(arena, batch->count, sizeof(*writes));
    size_t count = 0;
    struct member *first = NULL;
    const struct member *last = NULL;
    for (size_t i = 0; i < batch->count && (first == NULL || together); i++) {
        struct member *member = &batch->members[i];
        if (member->asked || (first != NULL && !is_same_group(first, member)) ||
            (last != NULL && strcmp(last->lock_key, member->lock_key) == 0))
            continue;
        member->asked = true;
        writes[count++] = (struct single_write){ &member->ctx, member->kept };
        first = first != NULL ? first : member;
        last = member;
    }
    if (count == 0)
        return false;
    first->first = db_batch_count(statements);
    first->ctx.op->single_write->ask(writes, count, statements);
    first->end = db_batch_count(statements);
    first->has_own = count == 1;
    return true;
}

static void ask_all(struct group_commit *batch, bool together, struct arena *arena, struct db_batch *statements)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->members[i].asked = batch->members[i].has_own = false;
    while (ask_next(batch, together, arena, statements))
        continue;
}

/* Whether a statement failed that serves this call only. */
static bool has_failed(const struct db_batch *statements, const struct member *member)
{
    for (size_t i = member->first; i < member->end && member->has_own; i++)
        if (db_batch_error(statements, i)->code != ERR_NONE)
            return true;
    return false;
}

/* Sends the statements of all. False when not all of them did what they should. */
static bool run_work(struct group_commit *batch, bool together, struct arena *arena, const struct ledger_call *calls,
                     struct db_batch *statements, struct error *err)
{
    size_t used_at = ledger_used_keys_ask(arena, calls, batch->count, statements);
    ask_all(batch, together, arena, statements);
    bool well = db_batch_run(statements, err);
    bool *used = arena_array(arena, batch->count, sizeof(*used));
    if (ledger_used_keys_read(statements, used_at, calls, batch->count, used))
        well = false;
    for (size_t i = 0; i < batch->count; i++)
        batch->members[i].to_blame = used[i] || has_failed(statements, &batch->members[i]);
    return well;
}

/* Writes the answer of one call; what it still asks the database is part of the transaction. */
static bool make_reply(struct group_commit *batch, struct member *member, const struct db_batch *statements,
                       struct ledger_call *ledger)
{
    struct call_state *state = member->state;
    struct call *call = state->call;
    struct error refusal = { .code = ERR_NONE };
    uint64_t trips_before = db_round_trips(batch->conn);
    dispatch_begin_reply(call);
    member->ctx.subject_count = 0;
    bool ok = call->op->single_write->reply(&member->ctx, member->kept, statements, &call->reply, &refusal);
    state->round_trips = 1 + db_round_trips(batch->conn) - trips_before;
    if (!ok || !dispatch_check_reply(call, &refusal) || !dispatch_check_promises(state, batch->conn, &refusal))
        return false;
    state->entry.subjects = member->ctx.subjects;
    state->entry.subject_count = member->ctx.subject_count;
    ledger->status = call->reply.status;
    ledger->body = call->reply.keep_no_key ? NULL : buf_text(call->reply.body);
    return true;
}

static bool make_replies(struct group_commit *batch, const struct db_batch *statements, struct ledger_call *calls)
{
    bool well = true;
    for (size_t i = 0; i < batch->count; i++) {
        struct member *member = &batch->members[i];
        member->to_blame = !make_reply(batch, member, statements, &calls[i]);
        well = well && !member->to_blame;
    }
    return well;
}

/* The work of all in one transaction; `together`: also with as few statements as possible, which do not tell who is to blame
 * when they fail. `err` tells of the database only. */
static bool try_batch(struct group_commit *batch, bool together, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct ledger_call *calls = ledger_calls(batch, arena);
    DB_TX tx;
    if (!db_tx_begin(batch->conn, &tx, err))
        return false;
    struct db_batch *statements = db_batch_new(batch->conn, arena);
    return run_work(batch, together, arena, calls, statements, err) && make_replies(batch, statements, calls) &&
           ledger_settle_all(arena, calls, batch->count, &tx, err);
}

/* ---- The end ---- */

static void finish_all(struct group_commit *batch, bool ok, const struct error *err)
{
    bool has_jobs = false;
    for (size_t i = 0; i < batch->count && ok; i++)
        has_jobs = has_jobs || batch->members[i].state->call->reply.job_id != 0;
    if (has_jobs)
        dispatch_wake_workers(batch->conn);
    for (size_t i = 0; i < batch->count; i++) {
        struct call_state *state = batch->members[i].state;
        dispatch_queue_duplicates(batch->api, dispatch_leave_key(batch->api, state));
        dispatch_finish(batch->api, state, ok, err);
    }
    batch->count = 0;
}

/* Sends those away who are to blame, or all. False when nobody was. */
static bool send_away(struct group_commit *batch, bool all)
{
    size_t before = batch->count;
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (all || batch->members[i].to_blame)
            go_alone(batch->api, batch->members[i].state);
        else
            batch->members[kept++] = batch->members[i];
    }
    batch->count = kept;
    return kept < before;
}

void dispatch_run_writes(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    ARENA_SCOPE arena = arena_new(0);
    struct group_commit batch = { .api = api, .conn = conn, .members = arena_array(arena, count, sizeof(struct member)) };
    for (size_t i = 0; i < count; i++)
        join(&batch, states[i]);
    qsort(batch.members, batch.count, sizeof(struct member), by_lock);
    bool together = true;
    for (int attempt = 1; batch.count > 0; attempt++) {
        struct error err = { .code = ERR_NONE };
        bool ok = try_batch(&batch, together, &err);
        /* Behind a lost connection nobody knows what was committed, so nothing is done again. What took too long together is
         * not tried together again. */
        if (ok || db_error_is_lost(&err))
            finish_all(&batch, ok, &err);
        else
            together = send_away(&batch, attempt == TRIES || db_error_is_canceled(&err));
    }
}
