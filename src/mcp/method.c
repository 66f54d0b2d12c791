#include "base/text.h"
#include "mcp/core.h"
#include "mcp/headers.h"

#include <string.h>

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"

/* The feature that the server must offer for a method to exist. */
enum needed {
    NEEDS_NOTHING,
    NEEDS_TOOLS,
    NEEDS_RESOURCES,
    NEEDS_PROMPTS,
    NEEDS_WATCHING,
    NEEDS_COMPLETIONS,
    NEEDS_LOGGING,
    NEEDS_CHANGES
};

struct method_row {
    const char *name;
    enum mcp_method method;
    enum needed needed;
    bool legacy;
    bool modern;
    const char *name_member; /* the member of params that the header Mcp-Name repeats */
};

static const struct method_row method_rows[] = {
    { "tools/call", MCP_TOOLS_CALL, NEEDS_TOOLS, true, true, "name" },
    { "tools/list", MCP_TOOLS_LIST, NEEDS_TOOLS, true, true, NULL },
    { "ping", MCP_PING, NEEDS_NOTHING, true, false, NULL },
    { "initialize", MCP_INITIALIZE, NEEDS_NOTHING, true, false, NULL },
    { "server/discover", MCP_DISCOVER, NEEDS_NOTHING, false, true, NULL },
    { "resources/list", MCP_RESOURCES_LIST, NEEDS_RESOURCES, true, true, NULL },
    { "resources/templates/list", MCP_TEMPLATES_LIST, NEEDS_RESOURCES, true, true, NULL },
    { "resources/read", MCP_RESOURCES_READ, NEEDS_RESOURCES, true, true, "uri" },
    { "resources/subscribe", MCP_RESOURCES_SUBSCRIBE, NEEDS_WATCHING, true, false, NULL },
    { "resources/unsubscribe", MCP_RESOURCES_UNSUBSCRIBE, NEEDS_WATCHING, true, false, NULL },
    { "prompts/list", MCP_PROMPTS_LIST, NEEDS_PROMPTS, true, true, NULL },
    { "prompts/get", MCP_PROMPTS_GET, NEEDS_PROMPTS, true, true, "name" },
    { "completion/complete", MCP_COMPLETE, NEEDS_COMPLETIONS, true, true, NULL },
    { "logging/setLevel", MCP_SET_LEVEL, NEEDS_LOGGING, true, false, NULL },
    { "subscriptions/listen", MCP_LISTEN, NEEDS_CHANGES, false, true, NULL },
};

static const struct method_row *find_method(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(method_rows); i++) {
        if (strcmp(method_rows[i].name, name) == 0)
            return &method_rows[i];
    }
    return NULL;
}

static bool is_offered(const struct mcp_provider *provider, enum needed needed)
{
    const struct mcp_features *features = &provider->features;
    switch (needed) {
    case NEEDS_NOTHING:
        return true;
    case NEEDS_TOOLS:
        return provider->list(provider, MCP_LIST_TOOLS, 0) != NULL;
    case NEEDS_RESOURCES:
        return provider->list(provider, MCP_LIST_RESOURCES, 0) != NULL;
    case NEEDS_PROMPTS:
        return provider->list(provider, MCP_LIST_PROMPTS, 0) != NULL;
    case NEEDS_WATCHING:
        return features->resources_subscribe;
    case NEEDS_COMPLETIONS:
        return features->completions;
    case NEEDS_LOGGING:
        return features->logging;
    case NEEDS_CHANGES:
        return features->tools_change || features->prompts_change || features->resources_change || features->resources_subscribe;
    }
    return false;
}

static const json_t *object_member(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    return json_is_object(member) ? member : NULL;
}

enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_headers *headers)
{
    const char *version = headers != NULL ? headers->get(headers->headers, "MCP-Protocol-Version") : NULL;
    if (version != NULL && mcp_version_is_modern(version))
        return MCP_MODERN;
    const json_t *meta = object_member(message->params, "_meta");
    if (json_object_get(meta, META_VERSION) != NULL || json_object_get(meta, META_CAPABILITIES) != NULL)
        return MCP_MODERN;
    if (message->method == NULL)
        return MCP_LEGACY;
    const struct method_row *row = find_method(message->method);
    return row != NULL && !row->legacy ? MCP_MODERN : MCP_LEGACY;
}

struct mcp_request *mcp_request_new(struct mcp_server *server, struct arena *arena, const struct rpc_message *message,
                                    enum mcp_era era)
{
    struct mcp_request *request = arena_alloc(arena, sizeof(*request));
    *request = (struct mcp_request){
        .arena = arena,
        .server = server,
        .era = era,
        .message = *message,
        .id = message->id,
        .params = message->params,
        .meta = object_member(message->params, "_meta"),
        .http_status = 200,
        .last_progress = -1,
    };
    buf_init(&request->out, MCP_ANSWER_MAX_BYTES);
    if (message->kind == RPC_NOTIFICATION)
        request->method = MCP_NOTIFICATION;
    else if (message->kind == RPC_RESPONSE)
        request->method = MCP_REPLY;
    return request;
}

/* The checks of 2026-07-28, in the order that gives each fault its own error. */
static bool check_modern(struct mcp_request *request, const struct method_row *row, const struct mcp_headers *headers)
{
    const char *version = json_string_value(json_object_get(request->meta, META_VERSION));
    const json_t *capabilities = object_member(request->meta, META_CAPABILITIES);
    if (version == NULL || capabilities == NULL) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "params._meta must have %s and %s.", META_VERSION, META_CAPABILITIES);
        request->http_status = 400;
        return false;
    }
    if (headers != NULL) {
        const char *header = headers->get(headers->headers, "MCP-Protocol-Version");
        const char *fault = "Header MCP-Protocol-Version is missing or differs from the body.";
        bool match = header != NULL && strcmp(header, version) == 0 &&
                     mcp_headers_match(request, headers, row != NULL ? row->name_member : NULL, &fault);
        if (!match) {
            mcp_refuse(request, RPC_HEADER_MISMATCH, NULL, "%s", fault);
            return false;
        }
    }
    if (strcmp(version, MCP_MODERN_VERSION) != 0) {
        struct buf *data = buf_in_arena(request->arena, 4096);
        buf_printf(data, "{\"supported\":%s,\"requested\":", mcp_versions_json);
        const char *requested = text_visible(request->arena, version, 64);
        json_quote(data, requested, strlen(requested));
        buf_add_char(data, '}');
        mcp_refuse(request, RPC_VERSION_UNSUPPORTED, buf_text(data), "This protocol version is not supported.");
        return false;
    }
    request->client_capabilities = mcp_capabilities_read(capabilities);
    request->client = mcp_client_name(request->arena, json_object_get(request->meta, META_CLIENT));
    return true;
}

/* The legacy era needs a session first; only a ping is allowed at any time. */
static bool check_legacy(struct mcp_request *request)
{
    struct mcp_peer *peer = request->peer;
    if (peer != NULL && peer->version != NULL) {
        request->client_capabilities = peer->capabilities;
        request->client = peer->client;
        return true;
    }
    if (request->method == MCP_INITIALIZE || request->method == MCP_PING || request->method == MCP_NOTIFICATION)
        return true;
    mcp_refuse(request, RPC_INVALID_REQUEST, NULL,
               "Send initialize first, or the _meta members that " MCP_MODERN_VERSION " requires with each request.");
    return false;
}

/* Returns true when the provider must prepare the request. */
static bool check_method(struct mcp_request *request, const struct mcp_headers *headers)
{
    const char *name = request->message.method;
    const struct method_row *row = find_method(name);
    if (row != NULL)
        request->method = row->method;
    if (request->era == MCP_MODERN ? !check_modern(request, row, headers) : !check_legacy(request))
        return false;
    bool exists = row != NULL && (request->era == MCP_MODERN ? row->modern : row->legacy) &&
                  is_offered(request->server->provider, row->needed);
    if (exists)
        return true;
    mcp_refuse(request, RPC_METHOD_NOT_FOUND, NULL, "There is no method %.64s.", name);
    if (request->era == MCP_MODERN)
        request->http_status = 404;
    return false;
}

bool mcp_is_lasting(const struct mcp_request *request)
{
    return request->method == MCP_LISTEN || request->method == MCP_STREAM;
}

void mcp_prepare(struct mcp_request *request, const struct mcp_headers *headers)
{
    const struct mcp_provider *provider = request->server->provider;
    bool is_call = request->message.kind == RPC_REQUEST && request->message.method != NULL;
    if (is_call && !check_method(request, headers))
        return;
    bool immediate = provider->prepare(provider, request);
    request->deferred = !request->answered && (!immediate || mcp_is_lasting(request));
}
