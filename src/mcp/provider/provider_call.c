/*
 * Provider calls: one call of the service for each request of the protocol that
 * needs the engine or only a check of its credential.
 */
#include "mcp/provider/provider_private.h"

bool provider_is_brand_connection(const struct provider_call *call)
{
    return call->call.who.bound_brand_id != 0 || call->request->credentials.brand != NULL;
}

static void on_provider_call_progress(struct call *call, double progress, double total, const char *message)
{
    const struct provider_call *provider_call = call->transport_data;
    mcp_progress(provider_call->request, progress, total, message);
}

static bool is_check(const struct call *call)
{
    return call->candidates == api_connection_check || call->candidates == api_session_check;
}

static void on_provider_call_completed(struct call *call)
{
    struct provider_call *provider_call = call->transport_data;
    if (!call->ok && is_check(call))
        mcp_refuse_error(provider_call->request, &call->error);
    else
        provider_call->answer(provider_call);
}

struct provider_call *provider_call_new(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                        const struct operation *const *candidates, void (*answer)(struct provider_call *call))
{
    struct provider_call *provider_call = arena_alloc(request->arena, sizeof(*provider_call));
    provider_call->catalogue = catalogue;
    provider_call->request = request;
    provider_call->answer = answer;
    provider_call->call = (struct call){
        .arena = request->arena,
        .transport = request->transport,
        .caller = { .is_model = true, .is_remote = request->transport == TRANSPORT_MCP_HTTP },
        .candidates = candidates,
        .input = { .flat = true },
        .credentials = request->credentials,
        .client = request->client,
        .on_completed = on_provider_call_completed,
        .transport_data = provider_call,
        .credit_cost = -1,
    };
    if (candidates != NULL)
        provider_call->call.request_id = api_request_id(request->arena);
    if (json_object_get(request->meta, "progressToken") != NULL)
        provider_call->call.on_progress = on_provider_call_progress;
    request->provider_data = provider_call;
    return provider_call;
}

struct provider_call *provider_check(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                     void (*answer)(struct provider_call *call))
{
    /* The local owner needs no check: the process runs on the owner's own data. Start-up must not open that data. */
    bool known = request->credentials.kind == CREDENTIAL_LOCAL_OWNER;
    const struct operation *const *check = request->method == MCP_INITIALIZE ? api_session_check : api_connection_check;
    return provider_call_new(catalogue, request, known ? NULL : check, answer);
}

static void answer_stored_refusal(struct provider_call *provider_call)
{
    mcp_refuse(provider_call->request, RPC_INVALID_PARAMS, NULL, "%s", (const char *)provider_call->row);
}

void provider_refuse(const struct catalogue_provider *catalogue, struct mcp_request *request, const char *message)
{
    provider_check(catalogue, request, answer_stored_refusal)->row = message;
}
