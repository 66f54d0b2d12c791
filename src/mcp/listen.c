/*
 * Listeners for change notifications: the streams of the legacy era (GET,
 * stdio) and the subscriptions of 2026-07-28. A listener is reference-counted,
 * so that an announcement can run without the server's lock. Its own lock is
 * held while it delivers, so nothing is delivered after it was closed.
 */
#include "mcp/core.h"

#include "base/panic.h"

#include <stdlib.h>
#include <string.h>

enum { LISTEN_MAX_URIS = 64, LISTEN_MAX_OF_PEER = 16, NOTICE_MAX_BYTES = 16 * 1024 };

struct mcp_listener {
    struct mcp_server *server;
    pthread_mutex_t lock;
    bool open;
    unsigned references; /* under the server's lock */
    struct mcp_interests interests;
    struct mcp_peer *peer;         /* legacy era: has the watched resources */
    struct arena *arena;           /* for the texts of the subscription */
    const char *subscription_json; /* the id of its request, NULL in the legacy era */
    void (*deliver)(void *data, const char *message, size_t size);
    void *data;
    struct mcp_listener *next;
};

static void listener_release(struct mcp_listener *listener)
{
    pthread_mutex_lock(&listener->server->lock);
    bool last = --listener->references == 0;
    pthread_mutex_unlock(&listener->server->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&listener->lock);
    arena_free(listener->arena);
    free(listener);
}

static const char *const *copy_uris(struct arena *arena, const char *const *uris)
{
    size_t count = 0;
    while (uris != NULL && uris[count] != NULL)
        count++;
    const char **copy = arena_array(arena, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_dup(arena, uris[i]);
    return copy;
}

struct mcp_listener *mcp_listener_open(struct mcp_server *server, const struct mcp_interests *interests, struct mcp_peer *peer,
                                       const json_t *subscription, void (*deliver)(void *data, const char *message, size_t size),
                                       void *data)
{
    struct mcp_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL)
        panic(PANIC_NO_MEMORY);
    struct arena *arena = arena_new(0);
    *listener = (struct mcp_listener){
        .server = server,
        .open = true,
        .references = 1,
        .interests = *interests,
        .peer = peer,
        .arena = arena,
        .deliver = deliver,
        .data = data,
    };
    pthread_mutex_init(&listener->lock, NULL);
    listener->interests.uris = copy_uris(arena, interests->uris);
    if (subscription != NULL) {
        struct buf *id = buf_in_arena(arena, MCP_ANSWER_MAX_BYTES);
        rpc_write_id(id, subscription);
        listener->subscription_json = buf_text(id);
    }
    pthread_mutex_lock(&server->lock);
    listener->next = server->listeners;
    server->listeners = listener;
    pthread_mutex_unlock(&server->lock);
    return listener;
}

void mcp_listener_close(struct mcp_listener *listener)
{
    if (listener == NULL)
        return;
    pthread_mutex_lock(&listener->lock);
    listener->open = false;
    pthread_mutex_unlock(&listener->lock);

    pthread_mutex_lock(&listener->server->lock);
    for (struct mcp_listener **link = &listener->server->listeners; *link != NULL; link = &(*link)->next) {
        if (*link == listener) {
            *link = listener->next;
            break;
        }
    }
    pthread_mutex_unlock(&listener->server->lock);
    listener_release(listener);
}

/* ---- Announcing ---- */

static bool has_uri(const char *const *uris, const char *uri)
{
    for (; *uris != NULL; uris++) {
        if (strcmp(*uris, uri) == 0)
            return true;
    }
    return false;
}

static bool listener_wants(struct mcp_listener *listener, enum mcp_change change, const char *uri)
{
    switch (change) {
    case MCP_CHANGED_TOOLS:
        return listener->interests.tools;
    case MCP_CHANGED_PROMPTS:
        return listener->interests.prompts;
    case MCP_CHANGED_RESOURCES:
        return listener->interests.resources;
    case MCP_CHANGED_RESOURCE:
        if (listener->peer != NULL && listener->subscription_json == NULL)
            return mcp_peer_watches(listener->peer, uri);
        return has_uri(listener->interests.uris, uri);
    }
    return false;
}

static void notify_listener(struct mcp_listener *listener, enum mcp_change change, const char *uri)
{
    static const char *const methods[] = {
        [MCP_CHANGED_TOOLS] = "notifications/tools/list_changed",
        [MCP_CHANGED_PROMPTS] = "notifications/prompts/list_changed",
        [MCP_CHANGED_RESOURCES] = "notifications/resources/list_changed",
        [MCP_CHANGED_RESOURCE] = "notifications/resources/updated",
    };
    BUF_SCOPE out;
    buf_init(&out, NOTICE_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &out);
    json_object_begin(&json);
    json_member_text(&json, "jsonrpc", "2.0");
    json_member_text(&json, "method", methods[change]);
    json_key(&json, "params");
    json_object_begin(&json);
    if (change == MCP_CHANGED_RESOURCE)
        json_member_text(&json, "uri", uri);
    if (listener->subscription_json != NULL) {
        json_key(&json, "_meta");
        json_object_begin(&json);
        json_member_raw(&json, "io.modelcontextprotocol/subscriptionId", listener->subscription_json);
        json_object_end(&json);
    }
    json_object_end(&json);
    json_object_end(&json);
    if (!out.overflowed)
        listener->deliver(listener->data, out.data, out.size);
}

void mcp_announce(struct mcp_server *server, enum mcp_change change, const char *uri)
{
    pthread_mutex_lock(&server->lock);
    size_t count = 0;
    for (struct mcp_listener *listener = server->listeners; listener != NULL; listener = listener->next)
        count++;
    struct mcp_listener **listeners = calloc(count + 1, sizeof(*listeners));
    if (listeners == NULL)
        panic(PANIC_NO_MEMORY);
    count = 0;
    for (struct mcp_listener *listener = server->listeners; listener != NULL; listener = listener->next) {
        listener->references++;
        listeners[count++] = listener;
    }
    pthread_mutex_unlock(&server->lock);

    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&listeners[i]->lock);
        if (listeners[i]->open && listener_wants(listeners[i], change, uri))
            notify_listener(listeners[i], change, uri);
        pthread_mutex_unlock(&listeners[i]->lock);
        listener_release(listeners[i]);
    }
    free(listeners);
}

/* ---- subscriptions/listen ---- */

static void deliver_to_request(void *data, const char *message, size_t size)
{
    struct mcp_request *request = data;
    request->writer->send(request, message, size);
}

static const char **wanted_uris(struct mcp_request *request, const json_t *list)
{
    const struct mcp_provider *provider = request->server->provider;
    const char **uris = arena_array(request->arena, LISTEN_MAX_URIS + 1, sizeof(*uris));
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list) && count < LISTEN_MAX_URIS; i++) {
        const char *uri = json_string_value(json_array_get(list, i));
        if (uri != NULL && provider->features.resources_subscribe && provider->is_resource(provider, uri))
            uris[count++] = uri;
    }
    return uris;
}

static void acknowledge(struct mcp_request *request, const struct mcp_interests *interests)
{
    struct buf *out = buf_in_arena(request->arena, NOTICE_MAX_BYTES * 8);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "jsonrpc", "2.0");
    json_member_text(&json, "method", "notifications/subscriptions/acknowledged");
    json_key(&json, "params");
    json_object_begin(&json);
    json_key(&json, "notifications");
    json_object_begin(&json);
    if (interests->tools)
        json_member_bool(&json, "toolsListChanged", true);
    if (interests->prompts)
        json_member_bool(&json, "promptsListChanged", true);
    if (interests->resources)
        json_member_bool(&json, "resourcesListChanged", true);
    if (interests->uris[0] != NULL) {
        json_key(&json, "resourceSubscriptions");
        json_array_begin(&json);
        for (const char *const *uri = interests->uris; *uri != NULL; uri++)
            json_text(&json, *uri);
        json_array_end(&json);
    }
    json_object_end(&json);
    json_key(&json, "_meta");
    json_object_begin(&json);
    json_key(&json, "io.modelcontextprotocol/subscriptionId");
    json.after_key = false;
    rpc_write_id(out, request->id);
    json_object_end(&json);
    json_object_end(&json);
    json_object_end(&json);
    request->writer->send(request, buf_text(out), out->size);
}

/* Over HTTP each subscription has a connection of its own, and connections are bounded. */
static bool has_too_many(const struct mcp_request *request)
{
    unsigned count = 0;
    const struct mcp_request *other = request->peer != NULL ? request->peer->requests : NULL;
    for (; other != NULL; other = other->next)
        count += other->listener != NULL;
    return count >= LISTEN_MAX_OF_PEER;
}

void mcp_listen(struct mcp_request *request)
{
    const struct mcp_features *features = &request->server->provider->features;
    const json_t *asked = json_object_get(request->params, "notifications");
    if (!json_is_object(asked)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "params.notifications must be an object.");
        return;
    }
    if (has_too_many(request)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "At most %d subscriptions can be open at a time.", LISTEN_MAX_OF_PEER);
        return;
    }
    struct mcp_interests interests = {
        .tools = features->tools_change && json_is_true(json_object_get(asked, "toolsListChanged")),
        .prompts = features->prompts_change && json_is_true(json_object_get(asked, "promptsListChanged")),
        .resources = features->resources_change && json_is_true(json_object_get(asked, "resourcesListChanged")),
        .uris = wanted_uris(request, json_object_get(asked, "resourceSubscriptions")),
    };
    acknowledge(request, &interests);
    request->listener = mcp_listener_open(request->server, &interests, NULL, request->id, deliver_to_request, request);
}

void mcp_listen_end(struct mcp_request *request)
{
    mcp_listener_close(request->listener);
    request->listener = NULL;
    if (request->method != MCP_LISTEN) {
        mcp_answer_nothing(request, 200);
        return;
    }
    rpc_result_open(&request->out, request->id);
    buf_add_text(&request->out, "{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
    rpc_write_id(&request->out, request->id);
    buf_add_text(&request->out, "}}");
    mcp_answer_closed(request);
}
