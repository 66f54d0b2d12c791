/*
 * Dispatch: the way of a call through the service. It finds the operation, runs
 * a call that needs no database at once and queues every other one, and gives
 * each call to the code for its kind: alone, in a shared pipeline of reads, or
 * in a group commit of writes.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"
#include "base/clock.h"
#include "catalogue/policies.h"

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

/* A session takes memory until it has been idle for long, so that its begin has a rate: that of reading what it is told. */
static const struct operation session_check = {
    .id = "session.check",
    .index = -1,
    .summary = "Authenticates the begin of a session",
    .mode = OP_MEMORY,
    .reach = REACH_ORGANIZATION,
    .policy = &rate_policies[RATE_CAPABILITIES_READ],
    .status = 200,
    .built = true,
    .args = &no_arguments,
    .handler = reply_empty_object,
};
const struct operation *const api_session_check[] = { &session_check, NULL };

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
    dispatch_take_body_key(call);
    call->credit_cost = -1;
    call->rate = limits_unlimited(call->op->policy, clock_now_us());
    call->error = (struct error){ .code = ERR_NONE };
    state->has_principal = call->op->reach == REACH_PUBLIC || auth_principal_cached(api->auth, &call->credentials, &call->who);
    state->must_read = call->read_input != NULL;
    return state;
}

/* True when neither the database nor the network is needed. A call without a well-formed credential is refused by the first check.
 */
static bool waits_for_nothing(const struct api *api, const struct call_state *state)
{
    const struct operation *op = state->call->op;
    if (op->reach != REACH_PUBLIC && !auth_is_well_formed(&state->call->credentials))
        return true;
    if (op->reach != REACH_PUBLIC && limits_may_wait(api->limits))
        return false;
    return state->has_principal && !state->must_read && op->mode == OP_MEMORY && op->reach != REACH_BRAND;
}

bool api_credential_is_well_formed(const struct credentials *credentials)
{
    return auth_is_well_formed(credentials);
}

bool api_find_caller(struct api *api, const struct credentials *credentials, struct principal *ret_who)
{
    return auth_principal_cached(api->auth, credentials, ret_who);
}

bool api_has_others(struct api *api, int64_t organization_id)
{
    return activity_has_others(api->activity, organization_id);
}

bool api_is_immediate(struct api *api, struct call *call)
{
    return waits_for_nothing(api, begin_call(api, call));
}

/* ---- Running ---- */

static void submit_begun(struct api *api, struct call_state *state)
{
    if (!waits_for_nothing(api, state)) {
        dispatch_queue(api, state);
        return;
    }
    struct error err = { .code = ERR_NONE };
    bool ok = dispatch_read(api, state, NULL, &err);
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
    dispatch_take_body_key(call);
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

static void cancel_call(struct api *api, struct call *call, bool by_caller)
{
    struct call_state *state = call->state;
    if (state == NULL)
        return;
    pthread_mutex_lock(&api->calls_lock);
    state->cancelled = true;
    state->by_caller = state->by_caller || by_caller;
    if (state->phase == CALL_RUNNING && state->conn != NULL)
        db_cancel(state->conn);
    bool parked = state->phase == CALL_PARKED;
    pthread_mutex_unlock(&api->calls_lock);
    if (parked)
        parked_calls_wake(api->parked);
}

void api_cancel(struct api *api, struct call *call)
{
    cancel_call(api, call, true);
}

void api_stop(struct api *api, struct call *call)
{
    cancel_call(api, call, false);
}
