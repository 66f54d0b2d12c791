/*
 * Pools: chooses the executor pool of a call and queues the call there. Reads,
 * writes and slow calls have a pool each, so a slow call never delays a quick
 * one. Parsing a large body is slow, and a very large one is slow to store, too.
 */
#include "api/dispatch/dispatch.h"

#include "api/decode.h"

static bool is_slow(const struct call *call)
{
    const char *const *argument = call->op->slow_with;
    if (call->op->pool == POOL_SLOW)
        return true;
    while (argument != NULL && *argument != NULL && !decode_is_given(&call->input, *argument))
        argument++;
    return argument != NULL && *argument != NULL;
}

static struct executor *pool_of(struct api *api, const struct call_state *state)
{
    const struct operation *op = state->call->op;
    if (state->call->is_large)
        return api->slow;
    if (state->must_read)
        return state->call->reads_much ? api->slow : api->reads;
    if (is_slow(state->call))
        return api->slow;
    return op->mode == OP_WRITE || op->mode == OP_JOB ? api->writes : api->reads;
}

/* ---- Turns ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* A public call belongs to no organization. The calls of one operation take turns together, so that they delay no other operation,
 * and the brands within it, where a token names them. Those of a connection take turns apart from them. An address can name any id,
 * but a made-up one decodes to a number far above those in use: it gets no turns of its own. */
static struct turn public_turn(const struct api *api, const struct call *call)
{
    static const int64_t numbers_in_use = INT64_C(1) << 40;
    const struct call_connection *connection = &call->connection;
    int64_t id = 0;
    if (connection->id != NULL && installation_is_open(api->installation))
        id = id_decode(&api->engine->ids, connection->kind, connection->id);
    if (id <= 0 || id >= numbers_in_use)
        return (struct turn){ .organization_id = TURN_PUBLIC - call->op->index, .brand = (uint64_t)call->turn_brand_id };
    return (struct turn){
        .organization_id = -(numbers_in_use * (int64_t)connection->kind + id),
        .threads_max = connection->threads_max,
        .waiting_max = CONNECTION_WAITING_MAX,
    };
}

/* Before admission the brand is the caller's text: a caller that varies it gains turns in its own organization only. Calls with
 * unknown credentials take turns by credential. */
static struct turn turn_of(const struct api *api, const struct call_state *state)
{
    const struct call *call = state->call;
    struct turn turn = { .organization_id = call->who.organization_id, .brand = (uint64_t)state->brand_id };
    if (call->op->single_write != NULL && call->op->single_write->locks_common_rows)
        return (struct turn){ .organization_id = TURN_ONE_BATCH, .brand = (uint64_t)call->op->index };
    if (call->op->reach == REACH_PUBLIC)
        return public_turn(api, call);
    if (!dispatch_knows_caller(state))
        return (struct turn){ .brand = hash_of(call->credentials.secret) };
    if (call->who.kind == CREDENTIAL_LOCAL_OWNER && installation_is_open(api->installation))
        turn.organization_id = api->engine->default_organization_id;
    if (turn.brand == 0)
        turn.brand = call->who.bound_brand_id != 0 ? (uint64_t)call->who.bound_brand_id : hash_of(call->credentials.brand);
    return turn;
}

bool dispatch_knows_caller(const struct call_state *state)
{
    return state->has_principal || state->admitted;
}

/* ---- Queueing ---- */

void dispatch_queue(struct api *api, struct call_state *state)
{
    const struct operation *op = state->call->op;
    bool is_single = !state->must_read && (op->single != NULL || op->single_write != NULL);
    struct error err = { .code = ERR_NONE };
    pthread_mutex_lock(&api->calls_lock);
    state->phase = CALL_QUEUED;
    state->turn = turn_of(api, state);
    state->conn = NULL;
    pthread_mutex_unlock(&api->calls_lock);
    /* A call that is queued again was accepted before, so the length of the queue does not limit it. */
    bool accepted = state->runs_alone ? executor_submit_again(pool_of(api, state), state, &err)
                                      : executor_submit(pool_of(api, state), state, is_single, &err);
    if (!accepted)
        dispatch_finish(api, state, false, &err);
}
