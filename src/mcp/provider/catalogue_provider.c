#include "mcp/provider/provider_private.h"

#include <stdatomic.h>
#include <string.h>

static void answer_admitted(struct provider_call *provider_call)
{
    bool brand = provider_is_brand_connection(provider_call);
    provider_call->request->organization_id = provider_call->call.who.organization_id;
    mcp_admit(provider_call->request, brand ? VISIBLE_TO_BRAND : VISIBLE_TO_ORGANIZATION);
}

/* ---- The provider ---- */

static bool provider_prepare(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct catalogue_provider *catalogue = (const struct catalogue_provider *)provider;
    switch (request->method) {
    case MCP_TOOLS_CALL:
        provider_tools_call(catalogue, request);
        break;
    case MCP_RESOURCES_READ:
        provider_resources_read(catalogue, request);
        break;
    case MCP_PROMPTS_GET:
        provider_prompts_get(catalogue, request);
        break;
    case MCP_COMPLETE:
        provider_complete(catalogue, request);
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
        provider_check(catalogue, request, answer_admitted);
        break;
    }
    struct provider_call *call = request->provider_data;
    return call->call.candidates == NULL || api_is_immediate(catalogue->api, &call->call);
}

static void provider_start(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct catalogue_provider *catalogue = (const struct catalogue_provider *)provider;
    struct provider_call *call = request->provider_data;
    if (call->call.candidates != NULL)
        api_submit(catalogue->api, &call->call);
    else
        call->answer(call);
}

static void provider_cancel(const struct mcp_provider *provider, struct mcp_request *request)
{
    const struct catalogue_provider *catalogue = (const struct catalogue_provider *)provider;
    struct provider_call *call = request->provider_data;
    if (call->call.candidates == NULL)
        return;
    if (atomic_load(&request->is_given_up))
        api_stop(catalogue->api, &call->call);
    else
        api_cancel(catalogue->api, &call->call);
}

static const char *provider_list(const struct mcp_provider *provider, enum mcp_list list, unsigned visibility)
{
    const struct catalogue_provider *catalogue = (const struct catalogue_provider *)provider;
    return catalogue->lists[list][visibility];
}

bool catalogue_provider_new(struct api *api, const struct catalogue_provider_config *config,
                            struct catalogue_provider **ret_provider, struct error *err)
{
    struct arena *arena = arena_new(0);
    struct catalogue_provider *catalogue = arena_alloc(arena, sizeof(*catalogue));
    *catalogue = (struct catalogue_provider){
        .provider = {
            .name = "posthorn",
            .title = "Posthorn",
            .version = config->version,
            /* Logging is declared for the legacy era, where clients set a level without checking the capability. */
            .features = { .completions = true, .logging = true },
            .visibility_count = VISIBILITY_COUNT,
            .list = provider_list,
            .prepare = provider_prepare,
            .start = provider_start,
            .cancel = provider_cancel,
        },
        .api = api,
        .arena = arena,
        .response_budget_chars = config->response_budget_chars != 0 ? config->response_budget_chars
                                                                    : (size_t)MCP_DEFAULT_RESPONSE_BUDGET_CHARS,
        .picture_budget_chars =
            config->picture_budget_chars != 0 ? config->picture_budget_chars : (size_t)MCP_DEFAULT_PICTURE_BUDGET_CHARS,
    };
    if (!provider_tools_init(catalogue, config, err)) {
        arena_free(arena);
        return false;
    }
    provider_texts_init(catalogue);
    *ret_provider = catalogue;
    return true;
}

void catalogue_provider_free(struct catalogue_provider *catalogue)
{
    if (catalogue != NULL)
        arena_free(catalogue->arena);
}

const struct mcp_provider *catalogue_provider_of(const struct catalogue_provider *catalogue)
{
    return &catalogue->provider;
}
