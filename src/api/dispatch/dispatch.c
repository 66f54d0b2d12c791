#include "api/dispatch/dispatch.h"

#include "api/decode.h"
#include "base/clock.h"
#include "base/log.h"
#include "catalogue/policies.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY_MAX_BYTES = 32 * 1024 * 1024 };

static const struct arg_shape no_arguments;

/* A call that authenticates its caller and does nothing else; see api_connection_check. */
static bool reply_empty_object(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)ctx;
    (void)args;
    (void)err;
    json_object_begin(&reply->json);
    json_object_end(&reply->json);
    return true;
}

static const struct operation connection_check = {
    .id = "connection.check",
    .index = -1,
    .summary = "Authenticates a connection",
    .mode = OP_MEMORY,
    .reach = REACH_ORGANIZATION,
    .status = 200,
    .built = true,
    .args = &no_arguments,
    .handler = reply_empty_object,
};
const struct operation *const api_connection_check[] = { &connection_check, NULL };

/* ---- Finding the operation ---- */

static const struct operation *choose_operation(const struct call *call)
{
    const struct operation *last = NULL;
    for (size_t i = 0; call->candidates[i] != NULL; i++) {
        last = call->candidates[i];
        if (decode_when_holds(&last->when, &call->input))
            return last;
    }
    return last;
}

static struct call_state *begin_call(struct api *api, struct call *call)
{
    if (call->state != NULL)
        return call->state;
    struct call_state *state = arena_alloc(call->arena, sizeof(*state));
    state->call = call;
    state->started_us = clock_monotonic_us();
    call->state = state;
    call->op = choose_operation(call);
    call->credit_cost = -1;
    call->rate = limits_unlimited(call->op->policy, clock_now_us());
    call->error = (struct error){ .code = ERR_NONE };
    state->has_principal = call->op->reach == REACH_PUBLIC || auth_principal_cached(api->auth, &call->credentials, &call->who);
    return state;
}

static bool needs_no_database(const struct call_state *state)
{
    const struct operation *op = state->call->op;
    /* A call without a credential is refused by the checks, without the database. */
    bool principal_is_decided = state->has_principal || state->call->credentials.kind == CREDENTIAL_NONE;
    return principal_is_decided && op->mode == OP_MEMORY && op->reach != REACH_BRAND;
}

bool api_is_immediate(struct api *api, struct call *call)
{
    return needs_no_database(begin_call(api, call));
}

/* ---- The checks ---- */

static bool check_reach(const struct call *call, struct error *err)
{
    const struct operation *op = call->op;
    if (op->reach == REACH_SESSION && !(call->who.kind == CREDENTIAL_SESSION && call->who.administrator))
        return fail(err, ERR_INSUFFICIENT_ROLE, "org_admin", "Only a signed-in organization administrator may do this.");
    if (op->reach == REACH_ORGANIZATION && op->organization_key && auth_member_session(&call->who) != 0)
        return fail(err, ERR_INSUFFICIENT_ROLE, "org_admin",
                    "This call affects the whole organization; only its administrator may make it.");
    if (op->reach == REACH_ORGANIZATION && op->organization_key && call->who.bound_brand_id != 0)
        return fail(err, ERR_ORG_SCOPE_REQUIRED, NULL, "This call needs an organization key; this key is limited to one brand.");
    return true;
}

static bool check_scope(const struct call *call, struct error *err)
{
    const struct operation *op = call->op;
    if (op->scopes == 0 || (call->who.scopes & op->scopes) != 0)
        return true;
    return fail(err, ERR_INSUFFICIENT_PERMISSIONS, op->scope, "This key lacks the scope %s.", op->scope);
}

static bool check_rate(struct api *api, struct call *call, struct error *err)
{
    const struct rate_policy *policy = call->op->policy;
    if (policy == NULL)
        return true;
    /* All calls of a session share one window. */
    if (call->who.kind == CREDENTIAL_SESSION)
        policy = &rate_policies[RATE_SESSIONS];
    if (limits_admit(api->limits, &call->who, policy, clock_now_us(), &call->rate))
        return true;
    err->retry_after_s = call->rate.wait_s;
    return fail(err, ERR_RATE_LIMITED, NULL, "More than %lld calls in %d seconds.", (long long)call->rate.limit, policy->window_s);
}

/* A brand that is still being extracted accepts reads only; its extraction writes to it. */
static bool check_brand_ready(struct api *api, struct call_state *state, const struct work *work, struct error *err)
{
    const struct call *call = state->call;
    enum brand_state brand;
    if (call->op->reach != REACH_BRAND)
        return true;
    if (!auth_brand(api->auth, work, &call->who, &call->credentials, &state->brand_id, &brand, err))
        return false;
    bool only_reads = call->op->mode == OP_READ || call->op->mode == OP_MEMORY;
    if (brand == BRAND_IS_READY || only_reads)
        return true;
    return fail(err, ERR_BRAND_NOT_READY, NULL, "This brand is not ready yet; until it is, only reads are accepted.");
}

/* An operation that is not built checks its arguments first. A call with wrong arguments gets the same error as it will when the
 * operation is built. */
static bool refuse_unbuilt(const struct call *call, const struct work *work, struct error *err)
{
    const struct operation *op = call->op;
    void *args = arena_alloc(work->arena, op->args->size);
    if (dispatch_refused_input(call, err) || !decode_arguments(work->arena, &work->engine->ids, op->args, &call->input, args, err))
        return false;
    return fail(err, ERR_NOT_IMPLEMENTED, NULL, "%s is not implemented in this version.", op->id);
}

bool dispatch_admit(struct api *api, struct call_state *state, const struct work *work, struct error *err)
{
    struct call *call = state->call;
    const struct operation *op = call->op;
    if (op->reach == REACH_PUBLIC || state->admitted)
        return true;
    if (!state->has_principal && !auth_principal(api->auth, work, &call->credentials, &call->who, err))
        return false;
    /* Another thread may still be loading the engine when a call without a connection arrives. */
    if (call->who.kind == CREDENTIAL_LOCAL_OWNER && installation_is_open(api->installation))
        call->who.organization_id = api->engine->default_organization_id;
    if (!check_rate(api, call, err) || !check_reach(call, err))
        return false;
    if (!check_brand_ready(api, state, work, err))
        return false;
    if (!check_scope(call, err))
        return false;
    if (!op->built)
        return refuse_unbuilt(call, work, err);
    state->admitted = true;
    return true;
}

/* ---- Running ---- */

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
    struct db_batch *batch = db_batch_new(ctx->work.conn, ctx->work.arena);
    single->ask(&(struct single_write){ ctx, kept }, 1, batch);
    return db_batch_run(batch, err) && single->reply(ctx, kept, batch, reply, err);
}

bool dispatch_handle(struct api *api, struct call_state *state, struct op_context *ctx, struct error *err)
{
    struct call *call = state->call;
    const struct operation *op = call->op;
    void *args = arena_alloc(ctx->work.arena, op->args->size);
    if (!decode_arguments(ctx->work.arena, &api->engine->ids, op->args, &call->input, args, err))
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
    return ok && dispatch_check_reply(call, err) && dispatch_check_promises(state, ctx->work.conn, err);
}

bool dispatch_refused_input(const struct call *call, struct error *err)
{
    if (!dispatch_check_key(call, err))
        return true;
    if (call->input.refusal.code == ERR_NONE)
        return false;
    *err = call->input.refusal;
    return true;
}

/* Runs an OP_MEMORY or OP_READ call. `conn` is NULL for a call that needs no database. */
static bool run_read(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err)
{
    struct call *call = state->call;
    struct op_context ctx = {
        .work = dispatch_work(api, state, call->arena, conn),
        .op = call->op,
        .call = call,
    };
    if (!dispatch_admit(api, state, &ctx.work, err) || dispatch_refused_input(call, err))
        return false;
    ctx.work.organization_id = call->who.organization_id;
    ctx.work.brand_id = state->brand_id;
    return dispatch_handle(api, state, &ctx, err);
}

/* ---- The end of a call ---- */

static const char *const transport_names[] = {
    [TRANSPORT_STDIO] = "stdio",      [TRANSPORT_MCP_HTTP] = "mcp",      [TRANSPORT_REST] = "rest",
    [TRANSPORT_COMMAND_LINE] = "cli", [TRANSPORT_EMBEDDED] = "embedded",
};

const char *dispatch_transport_name(enum transport transport)
{
    return transport_names[transport];
}

static void log_call(const struct call_state *state, int64_t took_us)
{
    const struct call *call = state->call;
    bool fault = !call->ok && call->error.code != ERR_NOT_IMPLEMENTED && error_info(call->error.code)->http_status >= 500;
    enum log_level level = fault ? LOG_ERROR : LOG_INFO;
    if (!log_is_on(level))
        return;
    struct log_line line;
    log_begin(&line, level, "call");
    json_member_text(&line.json, "requestId", call->request_id);
    json_member_text(&line.json, "operation", call->op->id);
    json_member_text(&line.json, "door", transport_names[call->transport]);
    json_member_int(&line.json, "status", call->ok ? call->reply.status : error_info(call->error.code)->http_status);
    json_member_int(&line.json, "us", took_us);
    json_member_int(&line.json, "roundTrips", (int64_t)state->round_trips);
    json_member_int(&line.json, "keyId", call->who.key_id);
    if (call->who.session_id != 0)
        json_member_int(&line.json, "sessionId", call->who.session_id);
    json_member_int(&line.json, "brandId", state->brand_id);
    if (!call->ok)
        log_error_members(&line, &call->error);
    log_end(&line);
}

static void count_call(struct api *api, const struct call *call, int64_t took_us)
{
    if (call->op->index < 0)
        return;
    struct op_counters *counters = &api->counters[call->op->index];
    atomic_fetch_add_explicit(&counters->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters->total_us, (uint64_t)took_us, memory_order_relaxed);
    if (!call->ok)
        atomic_fetch_add_explicit(&counters->failures, 1, memory_order_relaxed);
}

/* Every SERVICE_UNAVAILABLE error carries a retry hint. */
static void hint_retry(struct error *err)
{
    if (err->code == ERR_SERVICE_UNAVAILABLE && err->retry_after_s == 0)
        err->retry_after_s = 1;
}

void dispatch_finish(struct api *api, struct call_state *state, bool ok, const struct error *err)
{
    struct call *call = state->call;
    pthread_mutex_lock(&api->calls_lock);
    state->phase = CALL_DONE;
    state->conn = NULL;
    pthread_mutex_unlock(&api->calls_lock);

    call->ok = ok;
    if (!ok) {
        if (&call->error != err)
            call->error = *err;
        hint_retry(&call->error);
        call->credit_cost = -1;
    }
    int64_t took_us = clock_monotonic_us() - state->started_us;
    count_call(api, call, took_us);
    log_call(state, took_us);
    call->on_completed(call);
}

void dispatch_answer_stored(struct call *call, int status, const char *body, int64_t credit_cost)
{
    dispatch_begin_reply(call);
    call->reply.status = status;
    buf_add_text(call->reply.body, body);
    call->credit_cost = credit_cost;
}

static void price_reply(struct call *call)
{
    const struct price *price = &call->op->price;
    if (price->kind == PRICE_FIXED || price->kind == PRICE_PER_ITEM)
        call->credit_cost = call->reply.charge_nothing ? 0 : price->credits * call->reply.item_count;
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

/* Reports progress to a caller that waits (reply->goes_on) and parks the call until it is run again. Once the call is parked,
 * another thread may run it. */
static bool park_waiting_call(struct api *api, struct call_state *state)
{
    struct call *call = state->call;
    int64_t until_us = clock_later_us(state->started_us, call->wait_s, US_PER_S);
    if (!call->reply.goes_on || clock_monotonic_us() >= until_us)
        return false;
    if (call->on_progress != NULL)
        call->on_progress(call, call->reply.progress, call->reply.progress_total, call->reply.progress_note);
    parked_calls_add_timed(api->parked, state, until_us);
    return true;
}

static void run_one(struct api *api, struct call_state *state, struct db_conn *conn)
{
    struct error err = { .code = ERR_NONE };
    bool parked = false;
    bool ok = dispatch_start(api, state, conn, &err);
    if (ok && (state->call->op->mode == OP_WRITE || state->call->op->mode == OP_JOB)) {
        ok = dispatch_write(api, state, conn, &parked, &err);
    } else if (ok) {
        ok = run_read(api, state, conn, &err);
        if (ok)
            price_reply(state->call);
        parked = ok && park_waiting_call(api, state);
    }
    if (!parked)
        dispatch_finish(api, state, ok, &err);
}

static bool shares_commit(const struct call_state *state)
{
    return state->call->op->single_write != NULL && !state->runs_alone;
}

void dispatch_run(void *context, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    struct api *api = context;
    if (shares_commit(states[0]))
        dispatch_run_writes(api, conn, states, count);
    else if (count > 1)
        dispatch_run_reads(api, conn, states, count);
    else
        run_one(api, states[0], conn);
}

/* ---- Submitting ---- */

static struct executor *pool_of(struct api *api, const struct operation *op)
{
    if (op->pool == POOL_SLOW)
        return api->slow;
    return op->mode == OP_WRITE || op->mode == OP_JOB ? api->writes : api->reads;
}

void dispatch_queue(struct api *api, struct call_state *state)
{
    const struct operation *op = state->call->op;
    struct error err = { .code = ERR_NONE };
    pthread_mutex_lock(&api->calls_lock);
    state->phase = CALL_QUEUED;
    state->conn = NULL;
    pthread_mutex_unlock(&api->calls_lock);
    /* A call that is queued again was accepted before, so the length of the queue does not limit it. */
    bool accepted = state->runs_alone
                        ? executor_submit_again(pool_of(api, op), state, &err)
                        : executor_submit(pool_of(api, op), state, op->single != NULL || op->single_write != NULL, &err);
    if (!accepted)
        dispatch_finish(api, state, false, &err);
}

void api_submit(struct api *api, struct call *call)
{
    struct call_state *state = begin_call(api, call);
    if (!needs_no_database(state)) {
        dispatch_queue(api, state);
        return;
    }
    struct error err = { .code = ERR_NONE };
    bool ok = run_read(api, state, NULL, &err);
    dispatch_finish(api, state, ok, &err);
}

void api_cancel(struct api *api, struct call *call)
{
    struct call_state *state = call->state;
    if (state == NULL)
        return;
    pthread_mutex_lock(&api->calls_lock);
    state->cancelled = true;
    if (state->phase == CALL_RUNNING && state->conn != NULL)
        db_cancel(state->conn);
    bool parked = state->phase == CALL_PARKED;
    pthread_mutex_unlock(&api->calls_lock);
    if (parked)
        parked_calls_wake(api->parked);
}
