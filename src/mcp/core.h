/*
 * The inside of the protocol core: the server, and how a message becomes a
 * request. Included by the files of this room only.
 *
 * Locks, in the order in which they may be held together: the guard of a request
 * (of its peer, or of its exchange), a listener's, the server's; those of an
 * writer's output come last. Guards may be held while a transport's sink takes
 * bytes of a stream, never while it frees what they guard.
 */
#pragma once

#include "mcp/provider.h"
#include "mcp/request.h"
#include "mcp/server.h"

#include <pthread.h>

enum {
    MCP_DEFAULT_RESPONSE_BUDGET_CHARS = 40 * 1000,
    MCP_DEFAULT_MESSAGE_MAX_BYTES = 8 * 1024 * 1024,
    MCP_DEFAULT_SESSION_COUNT = 4096,
    MCP_DEFAULT_SESSION_IDLE_S = 30 * 60,
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

    /* Whole results: the lists by era and visibility, and what discover answers. */
    const char *const *lists[2][MCP_LIST_COUNT];
    const char *discovery;
    const char *meta_json; /* the _meta of every modern result: who answers */

    _Atomic bool stopping;
    _Atomic size_t stream_bytes; /* kept for clients that may come back (stream.c) */
    pthread_mutex_t lock;        /* guards what follows */
    pthread_cond_t idle;
    struct mcp_http_handler *deferred; /* exchanges that may outlive their transport, newest first */
    struct mcp_listener *listeners;
    struct mcp_session_table *sessions;
    struct mcp_state_table *states;
};

/* ---- versions (version.c) ---- */

#define MCP_MODERN_VERSION        "2026-07-28"
#define MCP_LATEST_LEGACY_VERSION "2025-11-25"
#define MCP_BATCH_VERSION         "2025-03-26"

/* The versions as JSON array text, newest first. */
extern const char mcp_versions_json[];

/* The static name of a version of the older era, NULL when it is none. */
const char *mcp_legacy_version(const char *version) NONNULL(1);

/* Whether a header or _meta value means the modern era or something newer than it. */
bool mcp_version_is_modern(const char *version) NONNULL(1) PURE;

/* ---- from message to request (method.c) ---- */

/* What the HTTP door adds to a message; all NULL on stdio. */
struct mcp_headers {
    const char *(*get)(const void *headers, const char *name);
    const void *headers;
};

/* The era that a message and its headers choose. */
enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_headers *headers) NONNULL(1);

/* Checks the request by the rules of its era, and lets the provider prepare it; a refusal is an answer. Afterwards
 * request->deferred says whether mcp_run may return before it is answered; then the transport sets request->guard.
 * `headers` is NULL on stdio. */
void mcp_prepare(struct mcp_request *request, const struct mcp_headers *headers) NONNULL(1);

/* Whether the request stays open once admitted, until either side ends it. */
bool mcp_is_lasting(const struct mcp_request *request) NONNULL(1) PURE;

/* Starts a prepared request, or delivers what was answered already. Frees it sooner or later. */
void mcp_run(struct mcp_request *request) NONNULL(1);

/* The client lost interest: under the request's guard. True: it was answered by that, and mcp_deliver is to be called
 * once the guard is free. */
MUST_CHECK bool mcp_stop_guarded(struct mcp_request *request) NONNULL(1);

/* Hands an answered request to its writer, which frees it. */
void mcp_deliver(struct mcp_request *request) NONNULL(1);

/* A request for `message` in `arena`; everything else is empty. */
struct mcp_request *mcp_request_new(struct mcp_server *server, struct arena *arena, const struct rpc_message *message,
                                    enum mcp_era era) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* What the core does once a caller is admitted (handshake.c). */
void mcp_serve_admitted(struct mcp_request *request, unsigned visibility) NONNULL(1);

void mcp_write_capabilities(struct json_writer *json, const struct mcp_provider *provider) NONNULL(1, 2);
void mcp_write_server_info(struct json_writer *json, const struct mcp_provider *provider) NONNULL(1, 2);

/* Answers with prebuilt result text. */
void mcp_answer_raw(struct mcp_request *request, const char *result_json) NONNULL(1, 2);

/* The value of the result stands in request->out: closes the message. */
void mcp_answer_closed(struct mcp_request *request) NONNULL(1);

/* Answers with nothing (202). */
void mcp_answer_nothing(struct mcp_request *request, int http_status) NONNULL(1);

/* The level of a name of logging/setLevel; false when it is none. */
MUST_CHECK bool mcp_log_level_read(const char *name, enum mcp_log_level *ret_level) NONNULL(1, 2);

/* Client info of `initialize` or modern `_meta` as name/version, bounded and visible; NULL when absent. */
char *mcp_client_name(struct arena *arena, const json_t *info) NONNULL(1);

/* ---- peers (peer.c): what lasts longer than a request ---- */

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
    json_t *capabilities;
    char *client;
    _Atomic int log_level; /* enum mcp_log_level */
    struct mcp_request *requests;
    struct mcp_ask *asks;
    unsigned ask_count;
    int64_t last_ask_id;
    pthread_mutex_t watch_lock; /* guards what follows; a leaf */
    char *watched[MCP_PEER_MAX_WATCHED];
    unsigned watched_count;
};

void mcp_peer_init(struct mcp_peer *peer, struct mcp_server *server) NONNULL(1, 2);
void mcp_peer_done(struct mcp_peer *peer) NONNULL(1);

/* Remembers what initialize settled. False when it was settled before. */
MUST_CHECK bool mcp_peer_settle(struct mcp_peer *peer, const char *version, const json_t *params) NONNULL(1, 2);

/* The requests under way, under the peer's lock. */
void mcp_peer_list(struct mcp_peer *peer, struct mcp_request *request) NONNULL(1, 2);
void mcp_peer_unlist(struct mcp_peer *peer, const struct mcp_request *request) NONNULL(1, 2);

/* The client's notifications/cancelled. Unknown ids are nothing to worry about. */
void mcp_peer_cancel(struct mcp_peer *peer, const json_t *id) NONNULL(1);

/* Stops what is under way, as at the end of a connection, or only what lasts as long as it; answers are still given. */
void mcp_peer_stop(struct mcp_peer *peer, bool only_lasting) NONNULL(1);

/* Puts a question on the list; false when there are too many. Gives its id. */
MUST_CHECK bool mcp_peer_ask(struct mcp_peer *peer, struct mcp_request *request, mcp_on_reply *on_reply, int64_t *ret_id)
    NONNULL(1, 2, 3, 4);

/* Takes a request's question off the list; NULL when it has none (any more). */
mcp_on_reply *mcp_peer_take_ask(struct mcp_peer *peer, struct mcp_request *request) NONNULL(1, 2);

/* The client's answer to what was asked. */
void mcp_peer_reply(struct mcp_peer *peer, const struct rpc_message *message) NONNULL(1, 2);

/* Gives up on questions whose deadline has passed; all of them when now_us is INT64_MAX. */
void mcp_peer_expire_asks(struct mcp_peer *peer, int64_t now_us) NONNULL(1);

bool mcp_peer_watch(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);
void mcp_peer_unwatch(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);
bool mcp_peer_watches(struct mcp_peer *peer, const char *uri) NONNULL(1, 2);

/* ---- listeners (listen.c) ---- */

struct mcp_wants {
    bool tools;
    bool prompts;
    bool resources;
    const char *const *uris; /* NULL-ended */
};

/* Whoever is told of changes. `deliver` sends one message; it may be called on any thread until the listener is closed. */
struct mcp_listener;
struct mcp_listener *mcp_listener_open(struct mcp_server *server, const struct mcp_wants *wants, struct mcp_peer *peer,
                                       const json_t *subscription, void (*deliver)(void *data, const char *message, size_t size),
                                       void *data) NONNULL(1, 2, 5) RETURNS_NONNULL;
void mcp_listener_close(struct mcp_listener *listener);

/* subscriptions/listen: acknowledges and stays open until its connection ends. */
void mcp_listen(struct mcp_request *request) NONNULL(1);

/* Ends a subscription or a GET stream from our side. */
void mcp_listen_end(struct mcp_request *request) NONNULL(1);

/* Tells the clients of open streams, and what is between, that the connection lives. */
void mcp_http_handlers_keep_alive(struct mcp_server *server) NONNULL(1);

/* The GET of the endpoint, on behalf of handshake.c (exchange.c). */
void mcp_stream_serve(struct mcp_request *request) NONNULL(1);

/* ---- state (state.c) ---- */

struct mcp_state_table *mcp_state_table_new(void) RETURNS_NONNULL;
void mcp_state_table_free(struct mcp_state_table *states);
