/*
 * Pools: chooses the executor pool of a call and queues the call there. Reads,
 * writes and slow calls have a pool each, so a slow call never delays a quick
 * one. Parsing a large body is slow, too.
 */
#include "api/dispatch/dispatch.h"

static struct executor *pool_of(struct api *api, const struct call_state *state)
{
    const struct operation *op = state->call->op;
    if (state->must_read)
        return state->call->reads_much ? api->slow : api->reads;
    if (op->pool == POOL_SLOW)
        return api->slow;
    return op->mode == OP_WRITE || op->mode == OP_JOB ? api->writes : api->reads;
}

void dispatch_queue(struct api *api, struct call_state *state)
{
    const struct operation *op = state->call->op;
    bool is_single = !state->must_read && (op->single != NULL || op->single_write != NULL);
    struct error err = { .code = ERR_NONE };
    pthread_mutex_lock(&api->calls_lock);
    state->phase = CALL_QUEUED;
    state->conn = NULL;
    pthread_mutex_unlock(&api->calls_lock);
    /* A call that is queued again was accepted before, so the length of the queue does not limit it. */
    bool accepted = state->runs_alone ? executor_submit_again(pool_of(api, state), state, &err)
                                      : executor_submit(pool_of(api, state), state, is_single, &err);
    if (!accepted)
        dispatch_finish(api, state, false, &err);
}
