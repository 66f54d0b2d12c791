#include "mcp/provider/provider_private.h"

#include <string.h>

bool product_is_brand_connection(const struct product_call *call)
{
    return call->call.who.bound_brand_id != 0 || call->request->credentials.brand != NULL;
}

/* ---- Calls ---- */

static void call_progress(struct call *call, double progress, double total, const char *message)
{
    const struct product_call *product_call = call->door_data;
    mcp_progress(product_call->request, progress, total, message);
}

static void call_done(struct call *call)
{
    struct product_call *product_call = call->door_data;
    if (!call->ok && call->candidates == api_connection_check)
        mcp_refuse_error(product_call->request, &call->error);
    else
        product_call->answer(product_call);
}

struct product_call *product_call_new(const struct mcp_product *product, struct mcp_request *request,
                                      const struct operation *const *candidates, void (*answer)(struct product_call *call))
{
    struct product_call *product_call = arena_alloc(request->arena, sizeof(*product_call));
    product_call->product = product;
    product_call->request = request;
    product_call->answer = answer;
    product_call->call = (struct call){
        .arena = request->arena,
        .door = request->door,
        .caller = { .is_model = true, .is_remote = request->door == DOOR_MCP_HTTP },
        .candidates = candidates,
        .input = { .flat = true },
        .credentials = request->credentials,
        .client = request->client,
        .done = call_done,
        .door_data = product_call,
        .credit_cost = -1,
    };
    if (candidates != NULL)
        product_call->call.request_id = api_request_id(request->arena);
    if (json_object_get(request->meta, "progressToken") != NULL)
        product_call->call.progress = call_progress;
    request->provider_data = product_call;
    return product_call;
}

struct product_call *product_check(const struct mcp_product *product, struct mcp_request *request,
                                   void (*answer)(struct product_call *call))
{
    /* The local owner needs no check: the process runs on the owner's own data, and start-up must not touch it. */
    bool known = request->credentials.kind == CREDENTIAL_LOCAL_OWNER;
    return product_call_new(product, request, known ? NULL : api_connection_check, answer);
}

static void answer_refusal(struct product_call *product_call)
{
    mcp_refuse(product_call->request, RPC_INVALID_PARAMS, NULL, "%s", (const char *)product_call->row);
}

void product_refuse(const struct mcp_product *product, struct mcp_request *request, const char *message)
{
    product_check(product, request, answer_refusal)->row = message;
}

static void answer_admitted(struct product_call *product_call)
{
    bool brand = product_is_brand_connection(product_call);
    mcp_admit(product_call->request, brand ? VISIBLE_TO_BRAND : VISIBLE_TO_ORGANIZATION);
}

/* ---- The provider ---- */

static bool product_prepare(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct mcp_product *product = (const struct mcp_product *)provider;
    switch (request->method) {
    case MCP_TOOLS_CALL:
        product_tools_call(product, request);
        break;
    case MCP_RESOURCES_READ:
        product_resources_read(product, request);
        break;
    case MCP_PROMPTS_GET:
        product_prompts_get(product, request);
        break;
    case MCP_COMPLETE:
        product_complete(product, request);
        break;
    case MCP_TOOLS_LIST:
    case MCP_RESOURCES_LIST:
    case MCP_TEMPLATES_LIST:
    case MCP_RESOURCES_SUBSCRIBE:
    case MCP_RESOURCES_UNSUBSCRIBE:
    case MCP_PROMPTS_LIST:
    case MCP_DISCOVER:
    case MCP_INITIALIZE:
    case MCP_PING:
    case MCP_SET_LEVEL:
    case MCP_LISTEN:
    case MCP_NOTIFICATION:
    case MCP_REPLY:
    case MCP_STREAM:
    case MCP_SESSION_DELETE:
        product_check(product, request, answer_admitted);
        break;
    }
    struct product_call *call = request->provider_data;
    return call->call.candidates == NULL || api_is_immediate(product->api, &call->call);
}

static void product_start(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct mcp_product *product = (const struct mcp_product *)provider;
    struct product_call *call = request->provider_data;
    if (call->call.candidates != NULL)
        api_submit(product->api, &call->call);
    else
        call->answer(call);
}

static void product_cancel(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct mcp_product *product = (const struct mcp_product *)provider;
    struct product_call *call = request->provider_data;
    if (call->call.candidates != NULL)
        api_cancel(product->api, &call->call);
}

static const char *product_list(const struct mcp_provider *provider, enum mcp_list list, unsigned visibility)
{
    const struct mcp_product *product = (const struct mcp_product *)provider;
    return product->lists[list][visibility];
}

bool mcp_product_new(struct api *api, const struct mcp_product_config *config, struct mcp_product **ret_product,
                     struct error *err)
{
    struct arena *arena = arena_new(0);
    struct mcp_product *product = arena_alloc(arena, sizeof(*product));
    *product = (struct mcp_product){
        .provider = {
            .name = "posthorn",
            .title = "Posthorn",
            .version = config->version,
            /* Logging is declared for the older era, where clients ask for a level before they ask whether they may. */
            .features = { .completions = true, .logging = true },
            .visibility_count = VISIBILITY_COUNT,
            .list = product_list,
            .prepare = product_prepare,
            .start = product_start,
            .cancel = product_cancel,
        },
        .api = api,
        .arena = arena,
        .response_budget_chars = config->response_budget_chars != 0 ? config->response_budget_chars
                                                                    : (size_t)MCP_DEFAULT_RESPONSE_BUDGET_CHARS,
    };
    if (!product_tools_init(product, config, err)) {
        arena_free(arena);
        return false;
    }
    product_texts_init(product);
    *ret_product = product;
    return true;
}

void mcp_product_free(struct mcp_product *product)
{
    if (product != NULL)
        arena_free(product->arena);
}

const struct mcp_provider *mcp_product_provider(const struct mcp_product *product)
{
    return &product->provider;
}
