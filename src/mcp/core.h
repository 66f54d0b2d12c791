/*
 * MCP core, private to src/mcp: the server, and how a message becomes a
 * request.
 *
 * Lock order, first lock first: the guard of a request (of its peer or its HTTP
 * handler), a listener's lock, the server's lock, the lock of a writer's
 * output. A guard may be held while a sink takes bytes of a stream, but not
 * while the sink's owner frees what the guard protects.
 */
#pragma once

#include "mcp/provider.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/stream_memory.h"

#include <pthread.h>

enum {
    MCP_DEFAULT_RESPONSE_BUDGET_CHARS = 40 * 1000,
    MCP_DEFAULT_PICTURE_BUDGET_CHARS = 40 * 1000,
    MCP_DEFAULT_MESSAGE_MAX_BYTES = 8 * 1024 * 1024,
    MCP_DEFAULT_SESSION_COUNT = 4096,
    MCP_DEFAULT_SESSION_IDLE_S = 30 * 60,
    MCP_DEFAULT_DRAIN_S = 5, /* clients send SIGTERM about 2 s after they close the input */
    MCP_ASK_TIMEOUT_S = 10 * 60,
    MCP_BATCH_MAX_MESSAGES = 64,
    MCP_LIST_TTL_MS = 5 * 60 * 1000,
    MCP_ANSWER_MAX_BYTES = 64 * 1024 * 1024,
};

struct mcp_session_table;
struct mcp_state_table;

struct mcp_server {
    const struct mcp_provider *provider;
    struct mcp_config config;
    struct arena *arena;

    /* Complete results: the lists by era and visibility, and the result of server/discover. */
    const char *const *lists[2][MCP_LIST_COUNT];
    const char *discovery;
    const char *meta_json; /* the _meta of every modern result: the server info */

    _Atomic bool stopping;
    struct stream_memory stream_memory;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t idle;
    struct mcp_http_handler *deferred; /* handlers that may outlive their transport, newest first */
    struct mcp_listener *listeners;
    struct mcp_session_table *sessions;
    struct mcp_state_table *states;
};

/* ---- versions and eras (version.c): legacy is 2024-11-05 … 2025-11-25, modern is 2026-07-28 ---- */

#define MCP_MODERN_VERSION        "2026-07-28"
#define MCP_LATEST_LEGACY_VERSION "2025-11-25"
#define MCP_BATCH_VERSION         "2025-03-26"

/* The versions as JSON array text, newest first. */
extern const char mcp_versions_json[];

/* The static name of a legacy version; NULL when it is not one. */
const char *mcp_legacy_version(const char *version) NONNULL(1);

/* True when a header or _meta value names the modern era or a later version. */
bool mcp_version_is_modern(const char *version) NONNULL(1) PURE;

/* ---- from message to request (method.c) ---- */

/* The HTTP headers of a message; all NULL on stdio. */
struct mcp_headers {
    const char *(*get)(const void *headers, const char *name);
    const void *headers;
};

/* The era chosen by a message and its headers. */
enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_headers *headers) NONNULL(1);

/* Checks the request by the rules of its era, and lets the provider prepare it. A refusal is an answer. Afterwards
 * request->deferred is true when mcp_run may return before the answer; then the transport sets request->guard. `headers` is NULL
 * on stdio. */
void mcp_prepare(struct mcp_request *request, const struct mcp_headers *headers) NONNULL(1);

/* True when the request stays open once admitted, until either side ends it. */
bool mcp_is_lasting(const struct mcp_request *request) NONNULL(1) PURE;

/* Starts a prepared request, or delivers an existing answer. The request is freed once it is answered. */
void mcp_run(struct mcp_request *request) NONNULL(1);

/* Stops a request that the client cancelled or abandoned; under the request's guard. True: this answered the request, and the
 * caller must call mcp_deliver after it has released the guard. */
MUST_CHECK bool mcp_stop_guarded(struct mcp_request *request) NONNULL(1);

/* Passes an answered request to its writer, which frees it. */
void mcp_deliver(struct mcp_request *request) NONNULL(1);

/* Creates a request for `message` in `arena`; every other member is empty. */
struct mcp_request *mcp_request_new(struct mcp_server *server, struct arena *arena, const struct rpc_message *message,
                                    enum mcp_era era) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Answers the methods of the core once a caller is admitted (handshake.c). */
void mcp_serve_admitted(struct mcp_request *request, unsigned visibility) NONNULL(1);

void mcp_write_capabilities(struct json_writer *json, const struct mcp_provider *provider) NONNULL(1, 2);
void mcp_write_server_info(struct json_writer *json, const struct mcp_provider *provider) NONNULL(1, 2);

/* Answers with a prebuilt result text. */
void mcp_answer_raw(struct mcp_request *request, const char *result_json) NONNULL(1, 2);

/* Ends the answer. request->out holds the message up to the value of the result. */
void mcp_answer_closed(struct mcp_request *request) NONNULL(1);

/* Answers without a body (202). */
void mcp_answer_nothing(struct mcp_request *request, int http_status) NONNULL(1);

/* Reads a level name of logging/setLevel; false when it is unknown. */
MUST_CHECK bool mcp_log_level_read(const char *name, enum mcp_log_level *ret_level) NONNULL(1, 2);

/* The capabilities of `initialize` or of modern `_meta`; none when NULL. */
struct mcp_client_capabilities mcp_capabilities_read(const json_t *capabilities);

/* Client info of `initialize` or modern `_meta` as name/version, bounded and visible; NULL when absent. */
char *mcp_client_name(struct arena *arena, const json_t *info) NONNULL(1);

/* ---- peers (peer.c): the state of a connection or session ---- */

enum { MCP_PEER_MAX_WATCHED = 64, MCP_PEER_MAX_ASKS = 16 };

struct mcp_ask {
    int64_t id;
    int64_t deadline_us; /* monotonic */
    struct mcp_request *request;
    mcp_on_reply *on_reply;
    struct mcp_ask *next;
};

struct mcp_peer {
    struct mcp_server *server;
    pthread_mutex_t lock; /* recursive: stopping a request may answer it at once */
    const char *version;  /* NULL until initialize */
    struct mcp_client_capabilities capabilities;
    char *client;
    _Atomic int log_level; /* enum mcp_log_level */
    struct mcp_request *requests;
    struct mcp_ask *asks;
    unsigned ask_count;
    int64_t last_ask_id;
    pthread_mutex_t watch_lock; /* guards the members below; a leaf lock */
    char *watched[MCP_PEER_MAX_WATCHED];
    unsigned watched_count;
};

void mcp_peer_init(struct mcp_peer *peer, struct mcp_server *server) NONNULL(1, 2);
void mcp_peer_done(struct mcp_peer *peer) NONNULL(1);

/* Stores the result of initialize. False when the peer is already initialized. */
MUST_CHECK bool mcp_peer_initialize(struct mcp_peer *peer, const char *version, const json_t *params) NONNULL(1, 2);

/* Adds a request to the running requests of the peer, or removes it. The caller holds the peer's lock. */
void mcp_peer_add_request(struct mcp_peer *peer, struct mcp_request *request) NONNULL(1, 2);
void mcp_peer_remove_request(struct mcp_peer *peer, const struct mcp_request *request) NONNULL(1, 2);

/* Handles notifications/cancelled. Unknown ids are ignored. */
void mcp_peer_cancel(struct mcp_peer *peer, const json_t *id) NONNULL(1);

/* Stops all running requests, as at the end of a connection, or only the lasting ones. A stopped request is still answered. */
void mcp_peer_stop(struct mcp_peer *peer, bool only_lasting) NONNULL(1);

/* Records an ask: a request that the server sends to the client while it executes `request`. `ret_id` is its id. False when the
 * peer has MCP_PEER_MAX_ASKS, or `request` has an ask already or was stopped. */
MUST_CHECK bool mcp_peer_ask(struct mcp_peer *peer, struct mcp_request *request, mcp_on_reply *on_reply, int64_t *ret_id)
    NONNULL(1, 2, 3, 4);

/* Removes the ask of a request, and returns its callback; NULL when it has none. */
mcp_on_reply *mcp_peer_take_ask(struct mcp_peer *peer, struct mcp_request *request) NONNULL(1, 2);

/* Handles the client's answer: removes the ask and calls its callback. Answers to no ask are ignored. */
void mcp_peer_reply(struct mcp_peer *peer, const struct rpc_message *message) NONNULL(1, 2);

/* Ends asks whose deadline has passed, with a NULL result; all of them when now_us is INT64_MAX. */
void mcp_peer_expire_asks(struct mcp_peer *peer, int64_t now_us) NONNULL(1);

/* The resources that the client of a legacy connection watches (resources/subscribe). mcp_peer_watch is false when it watches
 * MCP_PEER_MAX_WATCHED others. */
bool mcp_peer_watch(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);
void mcp_peer_unwatch(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);
bool mcp_peer_watches(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);

/* ---- listeners (listen.c) ---- */

struct mcp_interests {
    bool tools;
    bool prompts;
    bool resources;
    const char *const *uris; /* NULL-terminated */
};

/* A listener gets notifications of changes. `deliver` sends one message; any thread may call it until the listener is closed. */
struct mcp_listener;
struct mcp_listener *mcp_listener_open(struct mcp_server *server, const struct mcp_interests *interests, struct mcp_peer *peer,
                                       const json_t *subscription, void (*deliver)(void *data, const char *message, size_t size),
                                       void *data) NONNULL(1, 2, 5) RETURNS_NONNULL;
void mcp_listener_close(struct mcp_listener *listener);

/* Serves subscriptions/listen: acknowledges the request, which stays open until its connection ends. */
void mcp_listen(struct mcp_request *request) NONNULL(1);

/* Ends a subscription or a GET stream from the server's side. */
void mcp_listen_end(struct mcp_request *request) NONNULL(1);

/* Sends a comment through every open stream, so that clients and proxies keep the connection. */
void mcp_http_handlers_keep_alive(struct mcp_server *server) NONNULL(1);

/* Serves GET of the endpoint (http_handler.c). */
void mcp_stream_serve(struct mcp_request *request) NONNULL(1);

/* ---- state (state.c) ---- */

struct mcp_state_table *mcp_state_table_new(void) RETURNS_NONNULL;
void mcp_state_table_free(struct mcp_state_table *states);
