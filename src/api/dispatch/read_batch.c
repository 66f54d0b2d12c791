/*
 * Read batch (pipelining): several single reads in one pipeline, with one round
 * trip for all their callers. Each caller is answered from the rows of its own
 * statement.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"

struct single_run {
    struct call_state *state;
    struct op_context ctx;
    void *args;
    void *params;
    size_t index; /* in the batch */
    bool bound;
    struct error error;
};

static bool bind_single(struct api *api, struct single_run *run, struct db_conn *conn)
{
    struct call_state *state = run->state;
    struct call *call = state->call;
    const struct operation *op = call->op;
    struct error *err = &run->error;
    /* The pipeline carries statements of other callers, so this caller's cancellation must not stop it. */
    if (!dispatch_start(api, state, NULL, err))
        return false;
    run->ctx = (struct op_context){ .work = dispatch_work(api, state, call->arena, conn), .op = op, .call = call };
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

/* One transaction for all reads is the fastest. When one read fails, each gets its own transaction, so that the error reaches
 * only its own caller. */
static const struct db_batch *send_singles(struct single_run *runs, size_t count, struct db_conn *conn, struct arena *arena,
                                           struct error *err)
{
    struct error first = { .code = ERR_NONE };
    struct db_batch *together = batch_singles(runs, count, conn, arena);
    if (db_batch_run(together, &first))
        return together;
    struct db_batch *apart = batch_singles(runs, count, conn, arena);
    return db_batch_run_each(apart, err) ? apart : NULL;
}

static bool reply_single(struct single_run *run, const struct db_batch *batch)
{
    const struct error *failed = db_batch_error(batch, run->index);
    if (failed->code != ERR_NONE) {
        run->error = *failed;
        return false;
    }
    struct call *call = run->state->call;
    const struct db_rows *rows = db_batch_rows(batch, run->index);
    dispatch_begin_reply(call);
    return call->op->single->reply(&run->ctx, run->args, rows->rows, rows->count, &call->reply, &run->error) &&
           dispatch_check_reply(call, &run->error);
}

void dispatch_run_reads(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count)
{
    ARENA_SCOPE arena = arena_new(0);
    struct single_run *runs = arena_array(arena, count, sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        runs[i].state = states[i];
        runs[i].bound = bind_single(api, &runs[i], conn);
    }
    struct error broken = { .code = ERR_NONE };
    const struct db_batch *batch = send_singles(runs, count, conn, arena, &broken);
    for (size_t i = 0; i < count; i++) {
        bool lost = runs[i].bound && batch == NULL;
        bool ok = runs[i].bound && batch != NULL && reply_single(&runs[i], batch);
        dispatch_finish(api, states[i], ok, lost ? &broken : &runs[i].error);
    }
}
