/*
 * Dispatch: the way of a call through the service. It finds the operation, runs
 * a call that needs no database at once and queues every other one, and gives
 * each call to the code for its kind: alone, in a shared pipeline of reads, or
 * in a group commit of writes.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"
#include "base/clock.h"
#include "base/guard.h"

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
    state->must_read = call->read_input != NULL;
    return state;
}

/* A call without a well-formed credential is refused by the first check. */
static bool needs_no_database(const struct call_state *state)
{
    const struct operation *op = state->call->op;
    bool is_refused = op->reach != REACH_PUBLIC && !auth_is_well_formed(&state->call->credentials);
    return is_refused || (state->has_principal && !state->must_read && op->mode == OP_MEMORY && op->reach != REACH_BRAND);
}

bool api_credential_is_well_formed(const struct credentials *credentials)
{
    return auth_is_well_formed(credentials);
}

bool api_find_caller(struct api *api, const struct credentials *credentials, struct principal *ret_who)
{
    return auth_principal_cached(api->auth, credentials, ret_who);
}

bool api_is_immediate(struct api *api, struct call *call)
{
    return needs_no_database(begin_call(api, call));
}

/* ---- Running ---- */

struct read_run {
    struct api *api;
    struct call_state *state;
    struct db_conn *conn;
};

static bool run_read_guarded(void *context, struct error *err)
{
    const struct read_run *run = context;
    struct api *api = run->api;
    struct call_state *state = run->state;
    struct db_conn *conn = run->conn;
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

/* Runs an OP_MEMORY or OP_READ call. `conn` is NULL for a call that needs no database. */
static bool run_read(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err)
{
    struct read_run run = { api, state, conn };
    return guard_run(run_read_guarded, &run, DISPATCH_GUARDED, err);
}

static void price_reply(struct call *call)
{
    const struct price *price = &call->op->price;
    if (price->kind == PRICE_FIXED || price->kind == PRICE_PER_ITEM)
        call->credit_cost = call->reply.charge_nothing ? 0 : price->credits * call->reply.item_count;
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

/* A call may take long. When its organization was not known in the queue, it could pass the bound of threads for one. */
static bool must_be_queued_again(const struct call_state *state)
{
    const struct operation *op = state->call->op;
    bool is_quick = op->mode == OP_MEMORY || (op->pool != POOL_SLOW && (op->single != NULL || op->single_write != NULL));
    return !dispatch_knows_caller(state) && !is_quick;
}

/* Looks up the organization of a call, and queues the call in the turns of the organization. */
static bool queue_under_organization(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err)
{
    struct work admission = dispatch_work(api, state, state->call->arena, conn);
    if (!dispatch_admit(api, state, &admission, err))
        return false;
    state->runs_alone = true; /* it was accepted by the queue before */
    dispatch_queue(api, state);
    return true;
}

void dispatch_run_alone(struct api *api, struct call_state *state, struct db_conn *conn)
{
    struct error err = { .code = ERR_NONE };
    bool parked = false;
    bool ok = dispatch_start(api, state, conn, &err);
    if (ok && must_be_queued_again(state)) {
        ok = parked = queue_under_organization(api, state, conn, &err);
    } else if (ok && (state->call->op->mode == OP_WRITE || state->call->op->mode == OP_JOB)) {
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

static void submit_begun(struct api *api, struct call_state *state)
{
    if (!needs_no_database(state)) {
        dispatch_queue(api, state);
        return;
    }
    struct error err = { .code = ERR_NONE };
    bool ok = run_read(api, state, NULL, &err);
    dispatch_finish(api, state, ok, &err);
}

/* Reads the input of an authenticated caller. The operation is final only then. */
static void read_and_submit(struct api *api, struct call_state *state, struct db_conn *conn)
{
    struct call *call = state->call;
    struct error err = { .code = ERR_NONE };
    struct work work = dispatch_work(api, state, call->arena, conn);
    bool ok = dispatch_start(api, state, conn, &err) &&
              (state->has_principal || auth_principal(api->auth, &work, &call->credentials, &call->who, &err));
    if (!ok) {
        dispatch_finish(api, state, false, &err);
        return;
    }
    state->has_principal = true;
    call->read_input(call);
    state->must_read = false;
    call->op = choose_operation(call);
    call->rate = limits_unlimited(call->op->policy, clock_now_us());
    submit_begun(api, state);
}

static bool shares_commit(const struct call_state *state)
{
    return state->call->op->single_write != NULL && !state->runs_alone;
}

void dispatch_run(void *context, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    struct api *api = context;
    if (states[0]->must_read)
        read_and_submit(api, states[0], conn);
    else if (shares_commit(states[0]))
        dispatch_run_writes(api, conn, states, count);
    else if (count > 1)
        dispatch_run_reads(api, conn, states, count);
    else
        dispatch_run_alone(api, states[0], conn);
}

/* ---- Submitting ---- */

void api_submit(struct api *api, struct call *call)
{
    submit_begun(api, begin_call(api, call));
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
