/*
 * Write calls: one transaction holds the claim of the idempotency key, the
 * work, the charge, the stored response and the audit row. The transaction is
 * retried on serialization failures and deadlocks.
 */
#include "api/dispatch/dispatch.h"

#include "base/guard.h"
#include "base/json_read.h"
#include "engine/runs/start.h"

#include <string.h>

enum { WRITE_TRIES = 4 };

/* The stored answer in the form that the operation declares for a replay. Members keep their order. */
static bool in_replay_form(struct call *call, const char *body, const char **ret_body, struct error *err)
{
    const struct operation *op = call->op;
    struct json_bounds bounds = { .max_bytes = strlen(body) };
    const json_t *stored;
    const json_t *members;
    if (!json_read(call->arena, body, strlen(body), bounds, &stored, err) ||
        !json_read(call->arena, op->replay_json, strlen(op->replay_json),
                   (struct json_bounds){ .max_bytes = strlen(op->replay_json) }, &members, err))
        return false;
    json_object_update(json_for_iteration(stored), json_for_iteration(members));
    *ret_body = json_compact(call->arena, stored);
    return true;
}

static bool answer_replay(struct call_state *state, const struct ledger_replay *replay, struct error *err)
{
    struct call *call = state->call;
    const char *body = replay->body;
    if (call->op->replay_json != NULL && !in_replay_form(call, body, &body, err))
        return false;
    int status = call->op->replay_status != 0 ? call->op->replay_status : replay->status;
    dispatch_answer_stored(call, status, body, replay->credit_cost);
    call->replayed = true;
    return true;
}

void dispatch_wake_workers(struct db_conn *conn)
{
    struct error ignored = { .code = ERR_NONE };
    if (!db_script(conn, "notify posthorn_work", &ignored))
        return;
}

void dispatch_wake_steppers(const struct work *work)
{
    struct error ignored = { .code = ERR_NONE };
    if (!runs_notify_at_once(work, &ignored))
        return;
}

static bool park_on_job(struct api *api, struct call_state *state, struct db_tx *tx, int64_t job_id, bool *ret_parked,
                        struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct db_conn *tx_conn = tx->conn;
    struct db_batch *batch = db_batch_new(tx_conn, arena);
    /* The call is parked before the commit. The job cannot settle unnoticed. */
    parked_calls_add(api->parked, state, job_id);
    parked_calls_record(api->parked, state, batch);
    if (!db_batch_run_commit(batch, tx, err)) {
        parked_calls_remove(api->parked, state);
        return false;
    }
    dispatch_wake_workers(tx_conn);
    *ret_parked = true;
    parked_calls_committed(api->parked, state);
    return true;
}

/* Charges the call, stores its response, writes the audit row and commits. */
static bool settle_write(struct call_state *state, struct op_context *ctx, struct db_tx *tx, struct error *err)
{
    struct call *call = state->call;
    struct ledger_entry *entry = &state->entry;
    entry->subjects = ctx->subjects;
    entry->subject_count = ctx->subject_count;
    entry->credits *= call->reply.item_count;
    if (entry->credit_cost >= 0)
        entry->credit_cost *= call->reply.item_count;
    if (call->op->job_charges)
        entry->credits = 0;
    if (call->reply.charge_nothing) {
        entry->credits = 0;
        entry->credit_cost = entry->credit_cost >= 0 ? 0 : -1;
    }
    /* The price of one item was checked before the work. */
    if (call->reply.item_count > 1 && entry->credits > 0 && !ledger_check_credits(&ctx->work, entry->credits, err))
        return false;
    call->credit_cost = entry->credit_cost;
    const char *body = call->reply.keep_no_key ? NULL : buf_text(call->reply.body);
    if (call->reply.keep_no_key && !ledger_release(&ctx->work, entry, err))
        return false;
    return ledger_settle(&ctx->work, entry, call->reply.status, body, tx, err);
}

static bool try_once(struct api *api, struct call_state *state, struct op_context *ctx, bool *ret_parked, struct error *err)
{
    struct call *call = state->call;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(ctx->work.conn, &tx, err))
        return false;
    if (state->entry.idempotency_key != NULL) {
        enum ledger_claim claim;
        struct ledger_replay replay;
        if (!ledger_claim(&ctx->work, &state->entry, &claim, &replay, err))
            return false;
        if (claim == LEDGER_REPLAY)
            return answer_replay(state, &replay, err);
        if (claim == LEDGER_JOIN)
            return park_on_job(api, state, &tx, replay.job_id, ret_parked, err);
    }
    if (call->input.refusal.code != ERR_NONE) {
        *err = call->input.refusal;
        return false;
    }
    if (state->entry.credits > 0 && !ledger_check_credits(&ctx->work, state->entry.credits, err))
        return false;
    if (!dispatch_handle(api, state, ctx, err))
        return false;
    if (call->op->mode == OP_JOB && call->reply.job_id != 0)
        return park_on_job(api, state, &tx, call->reply.job_id, ret_parked, err);
    if (!settle_write(state, ctx, &tx, err))
        return false;
    if (call->reply.job_id != 0)
        dispatch_wake_workers(ctx->work.conn);
    if (call->reply.starts_runs)
        dispatch_wake_steppers(&ctx->work);
    if (call->reply.changes_credentials)
        auth_forget(api->auth);
    return true;
}

struct write_try {
    struct api *api;
    struct call_state *state;
    struct op_context *ctx;
    bool *ret_parked;
};

static bool try_guarded(void *context, struct error *err)
{
    const struct write_try *attempt = context;
    return dispatch_make_entry(attempt->state, attempt->ctx->work.arena, err) &&
           try_once(attempt->api, attempt->state, attempt->ctx, attempt->ret_parked, err);
}

static void release_arena(void *object)
{
    arena_free(object);
}

/* Runs the transaction and retries it while the database reports a retryable error. */
static bool write_with_retries(struct api *api, struct call_state *state, struct db_conn *conn, bool *ret_parked, struct error *err)
{
    struct call *call = state->call;
    for (int attempt = 1;; attempt++) {
        /* Each try has its own arena, so that memory does not pile up. The arena of the last try lives as long as the call. */
        struct arena *arena = arena_new(0);
        struct op_context ctx = {
            .work = dispatch_work(api, state, arena, conn),
            .op = call->op,
            .call = call,
            .entry = &state->entry,
        };
        struct write_try this_try = { api, state, &ctx, ret_parked };
        bool ok = guard_run(try_guarded, &this_try, DISPATCH_GUARDED, err);
        /* A parked call may have been completed and its arena freed. It is not touched again. */
        if (*ret_parked) {
            arena_free(arena);
            return true;
        }
        if (ok || attempt == WRITE_TRIES || !db_error_is_retryable(err)) {
            arena_defer(call->arena, release_arena, arena);
            call->kept_bytes = arena_used_bytes(arena);
            return ok;
        }
        arena_free(arena);
        error_clear(err);
    }
}

/* Sets the connection that api_cancel stops for this call. */
static void set_cancellable(struct api *api, struct call_state *state, struct db_conn *conn)
{
    pthread_mutex_lock(&api->calls_lock);
    state->conn = conn;
    pthread_mutex_unlock(&api->calls_lock);
}

bool dispatch_write(struct api *api, struct call_state *state, struct db_conn *conn, bool *ret_parked, struct error *err)
{
    struct call *call = state->call;
    struct work admission = dispatch_work(api, state, call->arena, conn);
    if (!dispatch_admit(api, state, &admission, err))
        return false;
    if (!dispatch_has_key(call))
        return write_with_retries(api, state, conn, ret_parked, err);

    /* `state` may be freed once the call is parked. These copies are needed afterwards. */
    int64_t organization_id = call->who.organization_id;
    unsigned char key_hash[SECRET_HASH_BYTES];
    secret_hash(call->idempotency_key, key_hash);
    /* While the call waits for its duplicate, the connection serves other calls. */
    set_cancellable(api, state, NULL);
    if (!in_flight_keys_enter(api->in_flight, organization_id, key_hash, state)) {
        *ret_parked = true;
        return true;
    }
    set_cancellable(api, state, conn);
    bool ok = write_with_retries(api, state, conn, ret_parked, err);
    dispatch_queue_duplicates(api, in_flight_keys_leave(api->in_flight, organization_id, key_hash));
    return ok;
}
