/*
 * Runs one call by itself: a read, a write in its own transaction, or a call
 * that waits for its turn or for a job.
 */
#include "api/dispatch/dispatch.h"

#include "base/clock.h"
#include "base/guard.h"

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

bool dispatch_read(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err)
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

bool dispatch_park_waiting(struct api *api, struct call_state *state)
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
        ok = dispatch_read(api, state, conn, &err);
        if (ok)
            price_reply(state->call);
        parked = ok && dispatch_park_waiting(api, state);
    }
    if (!parked)
        dispatch_finish(api, state, ok, &err);
}
