#include "base/clock.h"
#include "mcp/core.h"
#include "mcp/session.h"

#include <stdlib.h>
#include <string.h>

/* A list as the complete result of its method, in one era. The lists hold no secrets but depend on the credential. */
static char *list_result(struct arena *arena, const struct mcp_server *server, enum mcp_era era, enum mcp_list list,
                         const char *array_json)
{
    static const char *const names[] = { "tools", "resources", "resourceTemplates", "prompts" };
    struct buf *out = buf_in_arena(arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    if (era == MCP_MODERN) {
        json_member_text(&json, "resultType", "complete");
        json_member_raw(&json, "_meta", server->meta_json);
        json_member_int(&json, "ttlMs", MCP_LIST_TTL_MS);
        json_member_text(&json, "cacheScope", "private");
    }
    json_member_raw(&json, names[list], array_json != NULL ? array_json : "[]");
    json_object_end(&json);
    return out->data;
}

static void build_lists(struct mcp_server *server)
{
    const struct mcp_provider *provider = server->provider;
    for (int era = MCP_LEGACY; era <= MCP_MODERN; era++) {
        for (int list = 0; list < MCP_LIST_COUNT; list++) {
            const char **results = arena_array(server->arena, provider->visibility_count, sizeof(*results));
            for (unsigned visibility = 0; visibility < provider->visibility_count; visibility++) {
                const char *array_json = provider->list(provider, (enum mcp_list)list, visibility);
                results[visibility] = list_result(server->arena, server, (enum mcp_era)era, (enum mcp_list)list, array_json);
            }
            server->lists[era][list] = results;
        }
    }
}

static void build_meta(struct mcp_server *server)
{
    struct buf *out = buf_in_arena(server->arena, 16 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_key(&json, "io.modelcontextprotocol/serverInfo");
    mcp_write_server_info(&json, server->provider);
    json_object_end(&json);
    server->meta_json = out->data;
}

static void build_discovery(struct mcp_server *server)
{
    struct buf *out = buf_in_arena(server->arena, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "resultType", "complete");
    json_member_raw(&json, "_meta", server->meta_json);
    json_member_raw(&json, "supportedVersions", mcp_versions_json);
    json_key(&json, "capabilities");
    mcp_write_capabilities(&json, server->provider);
    json_member_text_if(&json, "instructions", server->provider->instructions);
    json_member_int(&json, "ttlMs", MCP_LIST_TTL_MS);
    json_member_text(&json, "cacheScope", "public");
    json_object_end(&json);
    server->discovery = out->data;
}

struct mcp_server *mcp_server_new(const struct mcp_provider *provider, const struct mcp_config *config)
{
    struct arena *arena = arena_new(0);
    struct mcp_server *server = arena_alloc(arena, sizeof(*server));
    *server = (struct mcp_server){ .provider = provider, .config = *config, .arena = arena };
    if (config->message_max_bytes == 0)
        server->config.message_max_bytes = MCP_DEFAULT_MESSAGE_MAX_BYTES;
    if (config->session_max_count == 0)
        server->config.session_max_count = MCP_DEFAULT_SESSION_COUNT;
    if (config->drain_us == 0)
        server->config.drain_us = MCP_DEFAULT_DRAIN_S * US_PER_S;
    if (config->session_idle_us == 0)
        server->config.session_idle_us = MCP_DEFAULT_SESSION_IDLE_S * US_PER_S;

    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->idle, NULL);
    server->sessions = mcp_session_table_new(server->config.session_max_count, server->config.session_idle_us);
    server->states = mcp_state_table_new();
    build_meta(server);
    build_lists(server);
    build_discovery(server);
    return server;
}

void mcp_server_free(struct mcp_server *server)
{
    if (server == NULL)
        return;
    mcp_server_stop(server);
    pthread_mutex_lock(&server->lock);
    while (server->deferred != NULL)
        pthread_cond_wait(&server->idle, &server->lock);
    pthread_mutex_unlock(&server->lock);
    mcp_session_sweep(server, INT64_MAX);
    mcp_session_table_free(server->sessions);
    mcp_state_table_free(server->states);
    pthread_cond_destroy(&server->idle);
    pthread_mutex_destroy(&server->lock);
    arena_free(server->arena);
}

void mcp_server_tick(struct mcp_server *server)
{
    mcp_session_sweep(server, clock_monotonic_us());
    mcp_http_handlers_keep_alive(server);
}

size_t mcp_server_message_max_bytes(const struct mcp_server *server)
{
    return server->config.message_max_bytes;
}

void mcp_write_refusal(struct buf *out, int rpc_code, const char *message)
{
    rpc_error(out, NULL, rpc_code, message, NULL);
}

void mcp_write_error(struct buf *out, const struct error *err)
{
    BUF_SCOPE data;
    buf_init(&data, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, &data);
    api_write_error_for(&json, err, error_info(err->code)->plain_suggestion);
    rpc_error(out, NULL, RPC_SERVER_ERROR, err->message, buf_text(&data));
}
