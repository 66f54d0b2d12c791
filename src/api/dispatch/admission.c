/*
 * Admission: the checks that every call passes before it runs, in the
 * contract's order: credential, rate limit, reach, brand, scope, whether
 * the operation is built; at last, room for the answer. Handlers check none of
 * this.
 */
#include "api/decode.h"
#include "api/dispatch/dispatch.h"
#include "api/tool_call.h"
#include "base/clock.h"
#include "base/guard.h"
#include "catalogue/policies.h"

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

/* All calls of a session share one window. NULL: the operation has no limit. */
static const struct rate_policy *policy_of(const struct operation *op, const struct principal *who)
{
    return op->policy != NULL && who->kind == CREDENTIAL_SESSION ? &rate_policies[RATE_SESSIONS] : op->policy;
}

static bool refuse_rate(const struct rate_policy *policy, const struct rate_state *rate, struct error *err)
{
    err->retry_after_s = rate->wait_s;
    return fail(err, ERR_RATE_LIMITED, NULL, "More than %lld calls in %d seconds.", (long long)rate->limit, policy->window_s);
}

static bool check_rate(struct api *api, struct call *call, struct error *err)
{
    const struct rate_policy *policy = policy_of(call->op, &call->who);
    return policy == NULL || limits_admit(api->limits, &call->who, policy, clock_now_us(), &call->rate) ||
           refuse_rate(policy, &call->rate, err);
}

bool api_has_rate_left(struct api *api, const struct principal *who, const struct operation *const *candidates, struct error *err)
{
    const struct rate_policy *policy = NULL;
    struct rate_state rate = { .limit = 0 };
    for (; *candidates != NULL; candidates++) {
        policy = policy_of(*candidates, who);
        if (policy == NULL || limits_have_room(api->limits, who, policy, clock_now_us(), &rate))
            return true;
    }
    return policy == NULL || refuse_rate(policy, &rate, err);
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
    if (brand == BRAND_IS_READY || only_reads || call->op->unready)
        return true;
    return fail(err, ERR_BRAND_NOT_READY, NULL, "This brand is not ready yet; until it is, only reads are accepted.");
}

struct unbuilt_call {
    const struct call *call;
    const struct work *work;
};

/* The argument by which a tool has chosen the operation of the call; NULL when it has chosen by none. */
static const char *choosing_argument(const struct call *call)
{
    const struct tool *tool = call->tool != NULL ? tool_find(call->tool) : NULL;
    for (size_t i = 0; tool != NULL && tool->present != NULL && tool->candidates[i] != NULL; i++)
        if (tool->candidates[i] == call->op && tool->present[i][0] != '\0')
            return tool->present[i];
    return NULL;
}

static bool refuse_unbuilt_guarded(void *context, struct error *err)
{
    const struct call *call = ((const struct unbuilt_call *)context)->call;
    const struct work *work = ((const struct unbuilt_call *)context)->work;
    const struct operation *op = call->op;
    void *args = arena_alloc(work->arena, op->args->size);
    if (dispatch_refused_input(call, err) || !decode_arguments(work->arena, &work->engine->ids, op->args, &call->input, args, err))
        return false;
    fail(err, ERR_NOT_IMPLEMENTED, NULL, "%s is not implemented in this version.", op->id);
    const char *argument = choosing_argument(call);
    return argument != NULL && error_suggest(err, "Leave out %s; %s works without it.", argument, call->tool);
}

/* An operation that is not built checks its arguments first. A call with wrong arguments gets the same error as it will when the
 * operation is built. */
static bool refuse_unbuilt(const struct call *call, const struct work *work, struct error *err)
{
    struct unbuilt_call unbuilt = { call, work };
    return guard_run(refuse_unbuilt_guarded, &unbuilt, DISPATCH_GUARDED, err);
}

bool dispatch_has_room(struct call *call, struct error *err)
{
    return call->has_room == NULL || call->has_room(call, err);
}

/* The checks of an operation that is not public. */
static bool admit_caller(struct api *api, struct call_state *state, const struct work *work, struct error *err)
{
    struct call *call = state->call;
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
    return call->op->built || refuse_unbuilt(call, work, err);
}

bool dispatch_admit(struct api *api, struct call_state *state, const struct work *work, struct error *err)
{
    bool is_public = state->call->op->reach == REACH_PUBLIC;
    if (!is_public && !state->admitted && !admit_caller(api, state, work, err))
        return false;
    state->admitted = true;
    return dispatch_has_room(state->call, err); /* also when it was queued again, because others were answered meanwhile */
}
