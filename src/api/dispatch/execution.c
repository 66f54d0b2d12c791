/*
 * Execution: decodes the arguments of an admitted call, runs the handler of its
 * operation and checks the reply against the declaration.
 */
#include "api/decode.h"
#include "api/dispatch/dispatch.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "engine/core/short_tokens.h"

enum { REPLY_MAX_BYTES = 32 * 1024 * 1024 };

struct work dispatch_work(struct api *api, const struct call_state *state, struct arena *arena, struct db_conn *conn)
{
    return (struct work){
        .engine = api->engine,
        .arena = arena,
        .conn = conn,
        .organization_id = state->call->who.organization_id,
        .brand_id = state->brand_id,
        .now_us = clock_now_us(),
    };
}

void dispatch_begin_reply(struct call *call)
{
    struct reply *reply = &call->reply;
    struct buf *body = reply->body != NULL ? reply->body : buf_in_arena(call->arena, REPLY_MAX_BYTES);
    buf_clear(body);
    *reply = (struct reply){ .status = call->op->status, .body = body, .item_count = 1 };
    json_writer_init(&reply->json, body);
}

bool dispatch_check_reply(const struct call *call, struct error *err)
{
    if (!call->reply.body->overflowed)
        return true;
    return fail(err, ERR_INTERNAL_ERROR, NULL, "The response is too large.");
}

bool dispatch_check_promises(const struct call_state *state, const struct db_conn *conn, struct error *err)
{
#ifdef POSTHORN_CHECKS
    const struct operation *op = state->call->op;
    if (state->round_trips > (uint64_t)op->query_budget)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The query budget of %s is exceeded.", op->id) ||
               error_because(err, "%llu round trips, %d declared", (unsigned long long)state->round_trips, op->query_budget);
    if (conn != NULL && op->mode == OP_READ && db_in_transaction(conn))
        return fail(err, ERR_INTERNAL_ERROR, NULL, "%s left a transaction open.", op->id);
#else
    (void)state;
    (void)conn;
    (void)err;
#endif
    return true;
}

static bool run_single_read(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    const struct op_single *single = ctx->op->single;
    void *params = arena_alloc(ctx->work.arena, single->params_size);
    struct db_rows rows;
    return single->bind(ctx, args, params, err) && db_run(ctx->work.conn, ctx->work.arena, single->statement, params, &rows, err) &&
           single->reply(ctx, args, rows.rows, rows.count, reply, err);
}

static bool run_single_write(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    const struct op_single_write *single = ctx->op->single_write;
    void *kept;
    const char *lock_key;
    if (!single->check(ctx, args, &kept, &lock_key, err))
        return false;
    const struct single_write write = { ctx, kept };
    struct db_batch *batch = db_batch_new(ctx->work.conn, ctx->work.arena);
    single->ask(&write, 1, batch);
    return db_batch_run(batch, err) && (single->finish == NULL || single->finish(&write, 1, batch, err)) &&
           single->reply(ctx, kept, batch, reply, err);
}

/* ---- Short tokens ---- */

/* An assistant's call uses short tokens; those that it gives are found now. Calls without a connection have no cursors. */
static bool find_short_tokens(struct op_context *ctx, struct error *err)
{
    const struct call *call = ctx->call;
    if (!call->caller.is_model || ctx->work.conn == NULL)
        return true;
    struct short_tokens *tokens = arena_alloc(ctx->work.arena, sizeof(*tokens));
    *tokens = (struct short_tokens){
        .caller_id = call->who.key_id != 0 ? call->who.key_id : -call->who.session_id,
        .tool = call->tool,
    };
    ctx->work.short_tokens = tokens;
    const char *cursor = call->input.body != NULL ? json_get_text(call->input.body, "cursor") : NULL;
    return short_token_find(&ctx->work, SHORT_CURSOR, cursor, err) &&
           short_token_find(&ctx->work, SHORT_CONFIRMATION, call->confirmation, err);
}

static bool keep_short_tokens(const struct op_context *ctx, struct error *err)
{
    return ctx->work.short_tokens == NULL || short_tokens_keep(&ctx->work, err);
}

/* ---- One call ---- */

bool dispatch_handle(struct api *api, struct call_state *state, struct op_context *ctx, struct error *err)
{
    struct call *call = state->call;
    const struct operation *op = call->op;
    void *args = arena_alloc(ctx->work.arena, op->args->size);
    if (!decode_arguments(ctx->work.arena, &api->engine->ids, op->args, &call->input, args, err) || !find_short_tokens(ctx, err))
        return false;
    dispatch_begin_reply(call);
    uint64_t trips_before = ctx->work.conn != NULL ? db_round_trips(ctx->work.conn) : 0;
    bool ok;
    if (op->single_write != NULL)
        ok = run_single_write(ctx, args, &call->reply, err);
    else if (op->single != NULL)
        ok = run_single_read(ctx, args, &call->reply, err);
    else
        ok = op->handler(ctx, args, &call->reply, err);
    if (ctx->work.conn != NULL)
        state->round_trips = db_round_trips(ctx->work.conn) - trips_before;
    return ok && dispatch_check_reply(call, err) && dispatch_check_promises(state, ctx->work.conn, err) &&
           keep_short_tokens(ctx, err);
}

void dispatch_answer_stored(struct call *call, int status, const char *body, int64_t credit_cost)
{
    dispatch_begin_reply(call);
    call->reply.status = status;
    buf_add_text(call->reply.body, body);
    call->credit_cost = credit_cost;
}

bool dispatch_start(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err)
{
    pthread_mutex_lock(&api->calls_lock);
    bool wanted = !state->cancelled;
    state->phase = CALL_RUNNING;
    state->conn = conn;
    pthread_mutex_unlock(&api->calls_lock);
    return wanted || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
}
