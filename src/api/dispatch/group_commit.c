/*
 * Group commit: the single writes that wait at one moment share one
 * transaction. One pipeline carries BEGIN and the statements of all. A second
 * one carries their audit rows, their stored responses and COMMIT. Two round
 * trips and one wait for the disk serve all of them. An operation may send more
 * statements between them, for all of its writes together.
 *
 * A call must not fail because of another call in its batch. Calls that can be
 * refused without the database are refused first. A call may need more than the
 * batch can give: its key is in use, its statement fails or waits for a lock, it
 * has much to do, or its answer is a refusal. Then the transaction is rolled back, that call is
 * queued again to run alone in dispatch_write, and the other calls retry
 * without it.
 *
 * Calls lock their rows in one order (operation, brand, lock key), so that two
 * batches do not deadlock, in this process or in another. Any other wait ends
 * after LEDGER_SHARED_WAIT_MS.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"
#include "base/guard.h"
#include "base/unwind.h"

#include <stdlib.h>
#include <string.h>

/* Tries of a batch: the first with shared statements, the second without large calls, the third with separate statements to find
 * the failing call, the fourth without that call. After that each call has its own commit. */
enum { MAX_TRIES = 4 };

struct member {
    struct api *api;
    struct db_conn *conn;
    struct call_state *state;
    struct op_context ctx;
    void *kept; /* state of the operation between check, ask and reply */
    const char *lock_key;
    size_t arrival;
    bool is_sent;
    bool has_own; /* its statements in the pipeline are not shared with other members */
    size_t first; /* the index of the first of them */
    size_t end;
    bool caused_failure; /* the batch failed because of this call */
    bool is_refused;     /* the call has written nothing, and its answer is the refusal */
    struct error refusal;
};

/* Members of one operation and brand whose statements are sent together. */
struct group {
    struct member *first;
    const struct single_write *writes;
    size_t count;
};

struct group_commit {
    struct api *api;
    struct db_conn *conn;
    struct member *members;
    size_t count;
};

/* ---- Coming in and going out ---- */

static void queue_alone(struct api *api, struct call_state *state)
{
    struct call_state *duplicates = dispatch_leave_key(api, state);
    state->runs_alone = true;
    /* Queued before its duplicates, which replay the response that it stores. From here on another thread may complete it. */
    dispatch_queue(api, state);
    dispatch_queue_duplicates(api, duplicates);
}

static bool check_guarded(void *context, struct error *err)
{
    struct member *member = context;
    struct api *api = member->api;
    struct call *call = member->state->call;
    const struct operation *op = call->op;
    void *args = arena_alloc(call->arena, op->args->size);
    return !dispatch_refused_input(call, err) &&
           decode_arguments(call->arena, &api->engine->ids, op->args, &call->input, args, err) &&
           op->single_write->check(&member->ctx, args, &member->kept, &member->lock_key, err);
}

/* Checks the call without the database. */
static bool check_without_database(struct member *member, struct error *err)
{
    return guard_run(check_guarded, member, DISPATCH_GUARDED, err);
}

static bool admit_guarded(void *context, struct error *err)
{
    struct member *member = context;
    struct api *api = member->api;
    struct call_state *state = member->state;
    struct call *call = state->call;
    struct work admission = dispatch_work(api, state, call->arena, member->conn);
    if (!dispatch_start(api, state, NULL, err) || !dispatch_admit(api, state, &admission, err))
        return false;
    member->ctx = (struct op_context){
        .work = dispatch_work(api, state, call->arena, member->conn),
        .op = call->op,
        .call = call,
        .entry = &state->entry,
    };
    return dispatch_make_entry(state, call->arena, err);
}

/* Adds the call to the batch, unless it is refused, waits for its duplicate or must run alone. */
static void batch_add_call(struct group_commit *batch, struct call_state *state)
{
    struct api *api = batch->api;
    struct member *member = &batch->members[batch->count];
    struct error err = { .code = ERR_NONE };
    *member = (struct member){ .api = api, .conn = batch->conn, .state = state, .lock_key = "", .arrival = batch->count };
    if (!guard_run(admit_guarded, member, DISPATCH_GUARDED, &err)) {
        dispatch_finish(api, state, false, &err);
        return;
    }
    bool has_key = state->entry.idempotency_key != NULL;
    if (has_key && !in_flight_keys_enter(api->in_flight, state->call->who.organization_id, state->key_hash, state))
        return;
    bool is_checked = check_without_database(member, &err);
    if (is_checked && member->lock_key != NULL)
        batch->count++;
    else if (is_checked || has_key)
        queue_alone(api, state); /* an idempotent replay takes precedence over a refusal */
    else
        dispatch_finish(api, state, false, &err);
}

static int compare_ints(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int by_lock(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;
    int order = strcmp(a->ctx.op->id, b->ctx.op->id);
    if (order == 0)
        order = compare_ints(a->ctx.work.brand_id, b->ctx.work.brand_id);
    if (order == 0)
        order = strcmp(a->lock_key, b->lock_key);
    return order != 0 ? order : compare_ints((int64_t)a->arrival, (int64_t)b->arrival);
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

/* Adds the statements of the next member that is not sent yet, and of its group when `together` is set. A group holds different
 * rows only: the later of two writes of one row must see the result of the earlier one. False when all members are sent. */
static bool ask_next(struct group_commit *batch, bool together, struct arena *arena, struct db_batch *statements,
                     struct group *ret_group)
{
    struct single_write *writes = arena_array(arena, batch->count, sizeof(*writes));
    size_t count = 0;
    struct member *first = NULL;
    const struct member *last = NULL;
    for (size_t i = 0; i < batch->count && (first == NULL || together); i++) {
        struct member *member = &batch->members[i];
        if (member->is_sent || (first != NULL && !is_same_group(first, member)) ||
            (last != NULL && strcmp(last->lock_key, member->lock_key) == 0))
            continue;
        member->is_sent = true;
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
    *ret_group = (struct group){ first, writes, count };
    return true;
}

/* Adds the statements of all members; returns the number of groups. */
static size_t ask_all(struct group_commit *batch, bool together, struct arena *arena, struct db_batch *statements,
                      struct group *ret_groups)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->members[i].is_sent = batch->members[i].has_own = batch->members[i].is_refused = false;
    while (ask_next(batch, together, arena, statements, &ret_groups[count]))
        count++;
    return count;
}

/* Sends the statements that depend on the results. False when they failed for a group; a group of one is known to be the cause. */
static bool finish_groups(const struct group *groups, size_t count, const struct db_batch *statements, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &groups[i];
        const struct op_single_write *single = group->first->ctx.op->single_write;
        if (single->finish != NULL && !single->finish(group->writes, group->count, statements, err)) {
            group->first->caused_failure = group->count == 1;
            return false;
        }
    }
    return true;
}

static void find_refused(struct group_commit *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct member *member = &batch->members[i];
        const struct op_single_write *single = member->ctx.op->single_write;
        member->is_refused = single->is_refused != NULL && single->is_refused(member->kept, &member->refusal);
    }
}

/* True when one of the statements failed that serve this call only. */
static bool has_failed(const struct db_batch *statements, const struct member *member)
{
    for (size_t i = member->first; i < member->end && member->has_own; i++)
        if (db_batch_error(statements, i)->code != ERR_NONE)
            return true;
    return false;
}

/* Marks the calls that would hold up the others of the batch. One that is by itself holds up nobody. */
static bool find_large(struct group_commit *batch, const struct db_batch *statements)
{
    bool found = false;
    for (size_t i = 0; i < batch->count && batch->count > 1; i++) {
        struct member *member = &batch->members[i];
        const struct op_single_write *single = member->ctx.op->single_write;
        member->caused_failure = single->is_large != NULL && single->is_large(member->kept, statements);
        found = found || member->caused_failure;
    }
    return found;
}

/* Sends the statements of all members. False when one failed, a key was already used or a call is large. */
static bool run_work(struct group_commit *batch, bool together, struct arena *arena, const struct ledger_call *calls,
                     struct db_batch *statements, struct error *err)
{
    struct group *groups = arena_array(arena, batch->count + 1, sizeof(*groups));
    size_t used_at = ledger_used_keys_ask(arena, calls, batch->count, statements);
    size_t group_count = ask_all(batch, together, arena, statements, groups);
    bool ok = db_batch_run(statements, err);
    bool *used = arena_array(arena, batch->count, sizeof(*used));
    if (ledger_used_keys_read(statements, used_at, calls, batch->count, used))
        ok = false;
    for (size_t i = 0; i < batch->count; i++)
        batch->members[i].caused_failure = used[i] || has_failed(statements, &batch->members[i]);
    if (!ok || find_large(batch, statements) || !finish_groups(groups, group_count, statements, err))
        return false;
    find_refused(batch);
    return true;
}

/* Writes the reply of one call. Statements that it still sends belong to the same transaction. */
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
    bool ok = true;
    for (size_t i = 0; i < batch->count; i++) {
        struct member *member = &batch->members[i];
        member->caused_failure = !member->is_refused && !make_reply(batch, member, statements, &calls[i]);
        ok = ok && !member->caused_failure;
    }
    return ok;
}

/* One try of a batch. `together` uses as few statements as possible; a failed shared statement does not show which call caused
 * it. */
struct batch_try {
    struct group_commit *batch;
    bool together;
    bool ok;
    struct error error; /* database errors only */
};

/* Writes audit rows and responses, and commits. A refused call leaves none. */
static bool settle(const struct group_commit *batch, struct arena *arena, const struct ledger_call *calls, struct db_tx *tx,
                   struct error *err)
{
    struct ledger_call *done = arena_array(arena, batch->count, sizeof(*done));
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->members[i].is_refused)
            done[count++] = calls[i];
    return ledger_settle_all(arena, done, count, tx, err);
}

static bool try_in_transaction(struct group_commit *batch, bool together, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct ledger_call *calls = ledger_calls(batch, arena);
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(batch->conn, &tx, err))
        return false;
    struct db_batch *statements = db_batch_new(batch->conn, arena);
    return run_work(batch, together, arena, calls, statements, err) && make_replies(batch, statements, calls) &&
           settle(batch, arena, calls, &tx, err);
}

static void try_unwindable(void *context)
{
    struct batch_try *this_try = context;
    this_try->ok = try_in_transaction(this_try->batch, this_try->together, &this_try->error);
}

/* Runs all members in one transaction. False when they do not fit into the memory of one batch; nothing was committed then. */
static bool try_batch(struct batch_try *this_try)
{
    this_try->ok = false;
    this_try->error = (struct error){ .code = ERR_NONE };
    return unwind_catch(try_unwindable, this_try);
}

/* ---- The end ---- */

/* Who is notified of what was committed. */
struct wakes {
    bool has_jobs;
    int64_t *brand_ids; /* whose steppers have runs */
    size_t brand_count;
};

/* The members of a brand follow one another. */
static struct wakes wakes_of(const struct group_commit *batch, struct arena *arena)
{
    struct wakes wakes = { .brand_ids = arena_array(arena, batch->count, sizeof(int64_t)) };
    for (size_t i = 0; i < batch->count; i++) {
        const struct member *member = &batch->members[i];
        const struct reply *reply = &member->state->call->reply;
        int64_t brand_id = member->ctx.work.brand_id;
        if (member->is_refused)
            continue;
        wakes.has_jobs = wakes.has_jobs || reply->job_id != 0;
        if (reply->starts_runs && (wakes.brand_count == 0 || wakes.brand_ids[wakes.brand_count - 1] != brand_id))
            wakes.brand_ids[wakes.brand_count++] = brand_id;
    }
    return wakes;
}

static void wake_others(const struct group_commit *batch, const struct wakes *wakes, struct arena *arena)
{
    for (size_t i = 0; i < wakes->brand_count; i++) {
        struct work work = {
            .engine = batch->api->engine,
            .arena = arena,
            .conn = batch->conn,
            .brand_id = wakes->brand_ids[i],
        };
        dispatch_wake_steppers(&work);
    }
    if (wakes->has_jobs)
        dispatch_wake_workers(batch->conn);
}

/* The answers do not wait for the notifications. */
static void finish_all(struct group_commit *batch, bool ok, const struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct wakes wakes = ok ? wakes_of(batch, arena) : (struct wakes){ .has_jobs = false };
    for (size_t i = 0; i < batch->count; i++) {
        const struct member *member = &batch->members[i];
        struct call_state *state = member->state;
        dispatch_queue_duplicates(batch->api, dispatch_leave_key(batch->api, state));
        dispatch_finish(batch->api, state, ok && !member->is_refused, member->is_refused ? &member->refusal : err);
    }
    wake_others(batch, &wakes, arena);
    batch->count = 0;
}

/* Queues the calls that caused the failure, or all calls, to run alone. False when no call caused it. */
static bool queue_failed_alone(struct group_commit *batch, bool all)
{
    size_t before = batch->count;
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (all || batch->members[i].caused_failure)
            queue_alone(batch->api, batch->members[i].state);
        else
            batch->members[kept++] = batch->members[i];
    }
    batch->count = kept;
    return kept < before;
}

static void run_batch(struct group_commit *batch)
{
    qsort(batch->members, batch->count, sizeof(struct member), by_lock);
    struct batch_try this_try = { .batch = batch, .together = true };
    for (int attempt = 1; batch->count > 0; attempt++) {
        bool fits = try_batch(&this_try);
        const struct error *err = &this_try.error;
        /* After a lost connection it is unknown what was committed, so nothing is repeated. A batch that took too long is not
         * tried again as a batch. */
        if (this_try.ok || db_error_is_lost(err))
            finish_all(batch, this_try.ok, err);
        else
            this_try.together = queue_failed_alone(batch, !fits || attempt == MAX_TRIES || db_error_is_canceled(err));
    }
}

/* The operation whose calls need a transaction of their own; NULL: the transaction of all others. Statements of `finish` lock rows
 * behind those of all others, out of the order. */
static const struct operation *own_batch(const struct call_state *state)
{
    const struct operation *op = state->call->op;
    return op->single_write->finish != NULL ? op : NULL;
}

void dispatch_run_writes(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    ARENA_SCOPE arena = arena_new(0);
    bool *is_taken = arena_array(arena, count, sizeof(*is_taken));
    struct group_commit batch = { .api = api, .conn = conn, .members = arena_array(arena, count, sizeof(struct member)) };
    for (size_t first = 0; first < count; first++) {
        if (is_taken[first])
            continue;
        const struct operation *op = own_batch(states[first]);
        for (size_t i = first; i < count; i++) {
            if (is_taken[i] || own_batch(states[i]) != op)
                continue;
            is_taken[i] = true;
            batch_add_call(&batch, states[i]);
        }
        run_batch(&batch);
    }
}
