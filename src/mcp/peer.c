#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "mcp/core.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT_NAME_MAX_POINTS = 64 };

void mcp_peer_init(struct mcp_peer *peer, struct mcp_server *server)
{
    *peer = (struct mcp_peer){ .server = server };
    atomic_init(&peer->log_level, MCP_LOG_INFO);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&peer->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&peer->watch_lock, NULL);
}

void mcp_peer_done(struct mcp_peer *peer)
{
    free(peer->client);
    for (unsigned i = 0; i < peer->watched_count; i++)
        free(peer->watched[i]);
    while (peer->asks != NULL) {
        struct mcp_ask *ask = peer->asks;
        peer->asks = ask->next;
        free(ask);
    }
    pthread_mutex_destroy(&peer->watch_lock);
    pthread_mutex_destroy(&peer->lock);
}

char *mcp_client_name(struct arena *arena, const json_t *info)
{
    const char *name = json_string_value(json_object_get(info, "name"));
    const char *version = json_string_value(json_object_get(info, "version"));
    if (name == NULL)
        return NULL;
    const char *full = version != NULL ? arena_printf(arena, "%.256s/%.256s", name, version) : name;
    return text_visible(arena, full, CLIENT_NAME_MAX_POINTS);
}

bool mcp_peer_initialize(struct mcp_peer *peer, const char *version, const json_t *params)
{
    if (peer->version != NULL)
        return false;
    peer->capabilities = mcp_capabilities_read(json_object_get(params, "capabilities"));
    ARENA_SCOPE arena = arena_new(0);
    const char *client = mcp_client_name(arena, json_object_get(params, "clientInfo"));
    if (client != NULL)
        peer->client = strdup(client);
    peer->version = version;
    return true;
}

/* ---- Running requests ---- */

void mcp_peer_add_request(struct mcp_peer *peer, struct mcp_request *request)
{
    request->next = peer->requests;
    peer->requests = request;
}

void mcp_peer_remove_request(struct mcp_peer *peer, const struct mcp_request *request)
{
    for (struct mcp_request **link = &peer->requests; *link != NULL; link = &(*link)->next) {
        if (*link == request) {
            *link = request->next;
            return;
        }
    }
}

void mcp_peer_cancel(struct mcp_peer *peer, const json_t *id)
{
    struct mcp_request *deliver = NULL;
    pthread_mutex_lock(&peer->lock);
    for (struct mcp_request *request = peer->requests; request != NULL; request = request->next) {
        if (request->id == NULL || !rpc_ids_equal(request->id, id))
            continue;
        request->is_silenced = true;
        if (mcp_stop_guarded(request))
            deliver = request;
        break;
    }
    pthread_mutex_unlock(&peer->lock);
    if (deliver != NULL)
        mcp_deliver(deliver);
}

static struct mcp_request *first_to_stop(const struct mcp_peer *peer, bool only_lasting)
{
    struct mcp_request *request = peer->requests;
    while (request != NULL && (request->stopped || (only_lasting && !mcp_is_lasting(request))))
        request = request->next;
    return request;
}

void mcp_peer_stop(struct mcp_peer *peer, bool only_lasting)
{
    for (;;) {
        pthread_mutex_lock(&peer->lock);
        struct mcp_request *request = first_to_stop(peer, only_lasting);
        bool deliver = request != NULL && mcp_stop_guarded(request);
        pthread_mutex_unlock(&peer->lock);
        if (request == NULL)
            return;
        if (deliver)
            mcp_deliver(request);
    }
}

/* ---- Requests to the client ---- */

bool mcp_peer_ask(struct mcp_peer *peer, struct mcp_request *request, mcp_on_reply *on_reply, int64_t *ret_id)
{
    struct mcp_ask *ask = calloc(1, sizeof(*ask));
    if (ask == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_lock(&peer->lock);
    bool has_space = peer->ask_count < MCP_PEER_MAX_ASKS && request->ask == NULL && !request->stopped;
    if (has_space) {
        *ask = (struct mcp_ask){
            .id = ++peer->last_ask_id,
            .deadline_us = clock_monotonic_us() + MCP_ASK_TIMEOUT_S * US_PER_S,
            .request = request,
            .on_reply = on_reply,
            .next = peer->asks,
        };
        request->ask = ask;
        peer->asks = ask;
        peer->ask_count++;
        *ret_id = ask->id;
    }
    pthread_mutex_unlock(&peer->lock);
    if (!has_space)
        free(ask);
    return has_space;
}

/* Under the peer's lock. */
static mcp_on_reply *take_ask(struct mcp_peer *peer, struct mcp_ask *wanted)
{
    struct mcp_ask **link = &peer->asks;
    while (*link != NULL && *link != wanted)
        link = &(*link)->next;
    if (*link == NULL)
        return NULL;
    *link = wanted->next;
    peer->ask_count--;
    wanted->request->ask = NULL;
    mcp_on_reply *on_reply = wanted->on_reply;
    free(wanted);
    return on_reply;
}

mcp_on_reply *mcp_peer_take_ask(struct mcp_peer *peer, struct mcp_request *request)
{
    pthread_mutex_lock(&peer->lock);
    mcp_on_reply *on_reply = request->ask != NULL ? take_ask(peer, request->ask) : NULL;
    pthread_mutex_unlock(&peer->lock);
    return on_reply;
}

void mcp_peer_reply(struct mcp_peer *peer, const struct rpc_message *message)
{
    const char *id = json_string_value(message->id);
    int64_t number = 0;
    if (id == NULL || !text_starts_with(id, "ask-") || !int64_parse(id + strlen("ask-"), &number))
        return;
    mcp_on_reply *on_reply = NULL;
    struct mcp_request *request = NULL;
    pthread_mutex_lock(&peer->lock);
    for (struct mcp_ask *ask = peer->asks; ask != NULL; ask = ask->next) {
        if (ask->id == number) {
            request = ask->request;
            on_reply = take_ask(peer, ask);
            break;
        }
    }
    pthread_mutex_unlock(&peer->lock);
    if (on_reply != NULL)
        on_reply(request, message->result);
}

void mcp_peer_expire_asks(struct mcp_peer *peer, int64_t now_us)
{
    for (;;) {
        mcp_on_reply *on_reply = NULL;
        struct mcp_request *request = NULL;
        pthread_mutex_lock(&peer->lock);
        for (struct mcp_ask *ask = peer->asks; ask != NULL; ask = ask->next) {
            if (ask->deadline_us <= now_us) {
                request = ask->request;
                on_reply = take_ask(peer, ask);
                break;
            }
        }
        pthread_mutex_unlock(&peer->lock);
        if (on_reply == NULL)
            return;
        on_reply(request, NULL);
    }
}

/* ---- Watched resources ---- */

static int watched_index(const struct mcp_peer *peer, const char *uri)
{
    for (unsigned i = 0; i < peer->watched_count; i++) {
        if (strcmp(peer->watched[i], uri) == 0)
            return (int)i;
    }
    return -1;
}

bool mcp_peer_watch(struct mcp_peer *peer, const char *uri)
{
    pthread_mutex_lock(&peer->watch_lock);
    bool known = watched_index(peer, uri) >= 0;
    bool has_space = peer->watched_count < MCP_PEER_MAX_WATCHED;
    if (!known && has_space) {
        peer->watched[peer->watched_count] = strdup(uri);
        if (peer->watched[peer->watched_count++] == NULL)
            panic(PANIC_NO_MEMORY);
    }
    pthread_mutex_unlock(&peer->watch_lock);
    return known || has_space;
}

void mcp_peer_unwatch(struct mcp_peer *peer, const char *uri)
{
    pthread_mutex_lock(&peer->watch_lock);
    int index = watched_index(peer, uri);
    if (index >= 0) {
        free(peer->watched[index]);
        peer->watched[index] = peer->watched[--peer->watched_count];
    }
    pthread_mutex_unlock(&peer->watch_lock);
}

bool mcp_peer_watches(struct mcp_peer *peer, const char *uri)
{
    pthread_mutex_lock(&peer->watch_lock);
    bool watches = watched_index(peer, uri) >= 0;
    pthread_mutex_unlock(&peer->watch_lock);
    return watches;
}
