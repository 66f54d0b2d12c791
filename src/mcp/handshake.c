/*
 * MCP handshake and lists: the methods that the core answers itself once the
 * provider has admitted the caller.
 */
#include "mcp/core.h"
#include "mcp/session.h"

#include <stdatomic.h>
#include <string.h>

static void write_feature(struct json_writer *json, const char *name, bool changes)
{
    json_key(json, name);
    json_object_begin(json);
    if (changes)
        json_member_bool(json, "listChanged", true);
    json_object_end(json);
}

void mcp_write_capabilities(struct json_writer *json, const struct mcp_provider *provider)
{
    const struct mcp_features *features = &provider->features;
    json_object_begin(json);
    if (provider->list(provider, MCP_LIST_TOOLS, 0) != NULL)
        write_feature(json, "tools", features->tools_change);
    if (provider->list(provider, MCP_LIST_PROMPTS, 0) != NULL)
        write_feature(json, "prompts", features->prompts_change);
    if (provider->list(provider, MCP_LIST_RESOURCES, 0) != NULL) {
        json_key(json, "resources");
        json_object_begin(json);
        if (features->resources_subscribe)
            json_member_bool(json, "subscribe", true);
        if (features->resources_change)
            json_member_bool(json, "listChanged", true);
        json_object_end(json);
    }
    if (features->completions)
        write_feature(json, "completions", false);
    if (features->logging)
        write_feature(json, "logging", false);
    json_object_end(json);
}

void mcp_write_server_info(struct json_writer *json, const struct mcp_provider *provider)
{
    json_object_begin(json);
    json_member_text(json, "name", provider->name);
    json_member_text_if(json, "title", provider->title);
    json_member_text(json, "version", provider->version);
    json_object_end(json);
}

static void initialize(struct mcp_request *request)
{
    const struct mcp_provider *provider = request->server->provider;
    const char *asked = json_string_value(json_object_get(request->params, "protocolVersion"));
    if (asked == NULL) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "params.protocolVersion must be a string.");
        return;
    }
    /* An unknown version gets the newest one, as a success: the client decides. */
    const char *version = mcp_legacy_version(asked);
    if (version == NULL)
        version = MCP_LATEST_LEGACY_VERSION;
    if (request->peer == NULL) {
        struct mcp_session *session = mcp_session_begin(request->server, &request->credentials, request->organization_id);
        request->session_id = arena_dup(request->arena, session->id);
        request->peer = &session->peer;
    }
    if (!mcp_peer_initialize(request->peer, version, request->params)) {
        mcp_refuse(request, RPC_INVALID_REQUEST, NULL, "This connection is initialized already.");
        return;
    }
    struct json_writer json;
    mcp_result_begin(request, &json);
    json_member_text(&json, "protocolVersion", version);
    json_key(&json, "capabilities");
    mcp_write_capabilities(&json, provider);
    json_key(&json, "serverInfo");
    mcp_write_server_info(&json, provider);
    json_member_text_if(&json, "instructions", provider->instructions);
    mcp_result_end(request, &json);
}

static void set_level(struct mcp_request *request)
{
    const char *name = json_string_value(json_object_get(request->params, "level"));
    enum mcp_log_level level = MCP_LOG_OFF;
    if (name == NULL || !mcp_log_level_read(name, &level)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL,
                   "params.level must be debug, info, notice, warning, error, critical, alert or emergency.");
        return;
    }
    atomic_store(&request->peer->log_level, (int)level);
    mcp_answer_raw(request, "{}");
}

static void change_subscription(struct mcp_request *request)
{
    const struct mcp_provider *provider = request->server->provider;
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    if (uri == NULL || !provider->is_resource(provider, uri)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "params.uri must be the URI of a resource.");
        return;
    }
    if (request->method == MCP_RESOURCES_UNSUBSCRIBE) {
        mcp_peer_unwatch(request->peer, uri);
    } else if (!mcp_peer_watch(request->peer, uri)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "At most %d resources can be watched.", MCP_PEER_MAX_WATCHED);
        return;
    }
    mcp_answer_raw(request, "{}");
}

/* notifications/initialized needs no action. Unknown notifications are ignored, as JSON-RPC 2.0 §4.1 requires. */
static void handle_notification(struct mcp_request *request)
{
    if (request->peer != NULL && strcmp(request->message.method, "notifications/cancelled") == 0) {
        const json_t *id = json_object_get(request->params, "requestId");
        if (json_is_string(id) || json_is_integer(id))
            mcp_peer_cancel(request->peer, id);
    }
    mcp_answer_nothing(request, 202);
}

static void answer_list(struct mcp_request *request, enum mcp_list list, unsigned visibility)
{
    /* Each list is one page, so every cursor is invalid. */
    if (json_object_get(request->params, "cursor") != NULL) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "params.cursor is not valid: the list has only one page.");
        return;
    }
    mcp_answer_raw(request, request->server->lists[request->era][list][visibility]);
}

void mcp_serve_admitted(struct mcp_request *request, unsigned visibility)
{
    switch (request->method) {
    case MCP_INITIALIZE:
        initialize(request);
        return;
    case MCP_DISCOVER:
        mcp_answer_raw(request, request->server->discovery);
        return;
    case MCP_PING:
        mcp_answer_raw(request, "{}");
        return;
    case MCP_TOOLS_LIST:
        answer_list(request, MCP_LIST_TOOLS, visibility);
        return;
    case MCP_RESOURCES_LIST:
        answer_list(request, MCP_LIST_RESOURCES, visibility);
        return;
    case MCP_TEMPLATES_LIST:
        answer_list(request, MCP_LIST_TEMPLATES, visibility);
        return;
    case MCP_PROMPTS_LIST:
        answer_list(request, MCP_LIST_PROMPTS, visibility);
        return;
    case MCP_SET_LEVEL:
        set_level(request);
        return;
    case MCP_RESOURCES_SUBSCRIBE:
    case MCP_RESOURCES_UNSUBSCRIBE:
        change_subscription(request);
        return;
    case MCP_LISTEN:
        mcp_listen(request);
        return;
    case MCP_NOTIFICATION:
        handle_notification(request);
        return;
    case MCP_REPLY:
        if (request->peer != NULL)
            mcp_peer_reply(request->peer, &request->message);
        mcp_answer_nothing(request, 202);
        return;
    case MCP_STREAM:
        mcp_stream_serve(request);
        return;
    case MCP_SESSION_DELETE:
        mcp_session_end((struct mcp_session *)request->peer);
        mcp_answer_nothing(request, 200);
        return;
    case MCP_TOOLS_CALL:
    case MCP_RESOURCES_READ:
    case MCP_PROMPTS_GET:
    case MCP_COMPLETE:
        break;
    }
    mcp_refuse(request, RPC_INTERNAL_ERROR, NULL, "The provider did not answer this method.");
}
