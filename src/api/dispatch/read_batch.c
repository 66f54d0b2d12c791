/*
 * Read batch (pipelining): several single reads in one pipeline, with one round
 * trip for all their callers. Each caller is answered from the rows of its own
 * statement.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"
#include "base/guard.h"
#include "base/unwind.h"

struct single_run {
    struct api *api;
    struct call_state *state;
    struct db_conn *conn;
    const struct db_batch *batch; /* after it was sent */
    struct op_context ctx;
    void *args;
    void *params;
    size_t index; /* in the batch */
    bool bound;
    struct error error;
};

static bool bind_single(void *context, struct error *err)
{
    struct single_run *run = context;
    struct api *api = run->api;
    struct call_state *state = run->state;
    struct call *call = state->call;
    const struct operation *op = call->op;
    /* The pipeline carries statements of other callers, so this caller's cancellation must not stop it. */
    if (!dispatch_start(api, state, NULL, err))
        return false;
    run->ctx = (struct op_context){ .work = dispatch_work(api, state, call->arena, run->conn), .op = op, .call = call };
    if (!dispatch_admit(api, state, &run->ctx.work, err) || dispatch_refused_input(call, err))
        return false;
    run->ctx.work.organization_id = call->who.organization_id;
    run->ctx.work.brand_id = state->brand_id;
    run->args = arena_alloc(call->arena, op->args->size);
    run->params = arena_alloc(call->arena, op->single->params_size);
    state->round_trips = 1;
    return decode_arguments(call->arena, &api->engine->ids, op->args, &call->input, run->args, err) &&
           op->single->bind(&run->ctx, run->args, run->params, err);
}

static struct db_batch *batch_singles(struct single_run *runs, size_t count, struct db_conn *conn, struct arena *arena)
{
    struct db_batch *batch = db_batch_new(conn, arena);
    for (size_t i = 0; i < count; i++)
        if (runs[i].bound)
            runs[i].index = db_batch_add(batch, runs[i].state->call->op->single->statement, runs[i].params);
    return batch;
}

/* The reads of one pipeline. */
struct read_batch {
    struct single_run *runs;
    size_t count;
    struct db_conn *conn;
    struct arena *arena;
    const struct db_batch *sent; /* NULL: the connection is lost */
    struct error broken;
};

/* One transaction for all reads is the fastest. When one read fails, each gets its own transaction, so that the error reaches
 * only its own caller. */
static void send_singles(void *context)
{
    struct read_batch *reads = context;
    struct error first = { .code = ERR_NONE };
    struct db_batch *together = batch_singles(reads->runs, reads->count, reads->conn, reads->arena);
    reads->sent = together;
    if (db_batch_run(together, &first))
        return;
    struct db_batch *apart = batch_singles(reads->runs, reads->count, reads->conn, reads->arena);
    reads->sent = db_batch_run_each(apart, &reads->broken) ? apart : NULL;
}

static bool reply_single(void *context, struct error *err)
{
    struct single_run *run = context;
    const struct error *failed = db_batch_error(run->batch, run->index);
    if (failed->code != ERR_NONE) {
        *err = *failed;
        return false;
    }
    struct call *call = run->state->call;
    /* The calls of a batch were admitted together. Each answer leaves less room for the next. */
    if (!dispatch_has_room(call, err))
        return false;
    const struct db_rows *rows = db_batch_rows(run->batch, run->index);
    dispatch_begin_reply(call);
    return call->op->single->reply(&run->ctx, run->args, rows->rows, rows->count, &call->reply, err) &&
           dispatch_check_reply(call, err);
}

static void finish_single(struct single_run *run, const struct read_batch *reads)
{
    bool lost = run->bound && reads->sent == NULL;
    run->batch = reads->sent;
    bool ok = run->bound && !lost && guard_run(reply_single, run, DISPATCH_GUARDED, &run->error);
    if (!ok || !dispatch_park_waiting(run->api, run->state))
        dispatch_finish(run->api, run->state, ok, lost ? &reads->broken : &run->error);
}

void dispatch_run_reads(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    ARENA_SCOPE arena = arena_new(0);
    struct single_run *runs = arena_array(arena, count, sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct single_run){ .api = api, .state = states[i], .conn = conn };
        runs[i].bound = guard_run(bind_single, &runs[i], DISPATCH_GUARDED, &runs[i].error);
    }
    struct read_batch reads = { .runs = runs, .count = count, .conn = conn, .arena = arena };
    bool fits = unwind_catch(send_singles, &reads);
    for (size_t i = 0; i < count; i++) {
        /* When all results do not fit into the memory of one batch, each call has its own. */
        if (runs[i].bound && !fits)
            dispatch_run_alone(api, states[i], conn);
        else
            finish_single(&runs[i], &reads);
    }
}
