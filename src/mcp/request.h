/*
 * MCP request: the parsed request, and the functions that answer it. The core
 * fills it, and the provider answers it exactly once. Before that, the provider
 * may report progress, log, or ask the client something.
 *
 * A request and all it points to lives in its arena until it is answered. The
 * answering function may free it, so nothing of it is used afterwards. One
 * thread at a time works on a request; this need not be the thread that started
 * it.
 */
#pragma once

#include "api/call.h"
#include "mcp/rpc.h"

#include <pthread.h>

struct mcp_server;
struct mcp_request;

enum mcp_era { MCP_LEGACY, MCP_MODERN };

enum mcp_method {
    MCP_TOOLS_CALL,
    MCP_TOOLS_LIST,
    MCP_RESOURCES_LIST,
    MCP_TEMPLATES_LIST,
    MCP_RESOURCES_READ,
    MCP_RESOURCES_SUBSCRIBE,
    MCP_RESOURCES_UNSUBSCRIBE,
    MCP_PROMPTS_LIST,
    MCP_PROMPTS_GET,
    MCP_COMPLETE,
    MCP_DISCOVER,
    MCP_INITIALIZE,
    MCP_PING,
    MCP_SET_LEVEL,
    MCP_LISTEN,
    MCP_NOTIFICATION,   /* any notification; answered by an empty 202 */
    MCP_REPLY,          /* the client's answer to a request of the server */
    MCP_STREAM,         /* GET of the endpoint */
    MCP_SESSION_DELETE, /* DELETE of the endpoint */
};

/* RFC 5424 severities, as logging/setLevel names them. */
enum mcp_log_level {
    MCP_LOG_DEBUG,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
    MCP_LOG_OFF,
};

/* Sends the answer of a request to its client. Implemented by each transport. */
struct mcp_response_writer {
    /* Sends a message that belongs to this request and precedes its answer. */
    void (*send)(struct mcp_request *request, const char *message, size_t size);

    /* The answer is in request->out (empty: none is due). Frees the request, now or later. */
    void (*complete)(struct mcp_request *request);

    /* Closes the connection before the answer; the client reconnects to get it. NULL: impossible. */
    void (*hang_up)(struct mcp_request *request, int retry_ms);
};

/* Called once with the client's answer, on any thread. `result` is NULL when the client refused, disconnected or did not answer. */
typedef void mcp_on_reply(struct mcp_request *request, const json_t *result);

/* The capabilities of a client that a provider asks for. */
struct mcp_client_capabilities {
    bool elicitation;
    bool elicitation_form; /* it shows forms: elicitation lists no modes, or this one */
    bool roots;
    bool sampling;
};

struct mcp_request {
    /* For the provider to read. */
    struct arena *arena;
    struct mcp_server *server;
    enum mcp_method method;
    enum mcp_era era;
    enum transport transport;
    const json_t *id;     /* NULL for notifications and bodiless HTTP requests */
    const json_t *params; /* an object, or NULL */
    const json_t *meta;   /* params._meta when it is an object */
    struct mcp_client_capabilities client_capabilities;
    const char *client; /* name/version that the client reports, or NULL */
    struct credentials credentials;
    int64_t organization_id; /* of the caller, set by the provider before mcp_admit; 0: none */
    size_t message_bytes;    /* of the message of this request; 0: part of a batch */

    void *provider_data; /* for the provider to use */

    /* The core's own. */
    struct rpc_message message;
    struct mcp_peer *peer; /* session or stdio connection; NULL without either */
    const struct mcp_response_writer *writer;
    void *writer_data;
    struct buf out;
    int http_status;
    const char *session_id; /* sent to the client */
    int64_t retry_after_s;
    bool deferred; /* answered later, possibly by another thread; guarded by `guard` from mcp_run on */
    bool running;
    bool held; /* the thread that starts or stops the request delivers its answer */
    bool answered;
    bool admitted;            /* the provider has passed the request back to the core */
    bool stopped;             /* the client has cancelled or abandoned it */
    _Atomic bool is_given_up; /* the server has, because it took too long or the server stops */
    bool is_silenced;         /* the client must not get an answer */
    bool takes_answer_only;   /* the client accepts no messages before the answer */
    pthread_mutex_t *guard;   /* recursive; the lock of its peer or HTTP handler */
    struct mcp_request *next; /* in the peer's list while deferred */
    struct mcp_ask *ask;
    struct mcp_listener *listener; /* MCP_LISTEN, MCP_STREAM: while it is open */
    double last_progress;
};

/* ---- Answering: exactly one of these, once ---- */

/* A result. The caller writes the members between begin and end; these functions write the protocol's own members. */
void mcp_result_begin(struct mcp_request *request, struct json_writer *json) NONNULL(1, 2);
void mcp_result_end(struct mcp_request *request, struct json_writer *json) NONNULL(1, 2);

/* Like begin, for a result that asks the client for more (2026-07-28, resultType input_required). */
void mcp_input_required_begin(struct mcp_request *request, struct json_writer *json) NONNULL(1, 2);

/* The time the client may cache the result (2026-07-28); no effect in the legacy era. Call it right after begin. */
void mcp_result_cacheable(const struct mcp_request *request, struct json_writer *json, int64_t ttl_ms) NONNULL(1, 2);

/* A protocol error with HTTP status 200 (or 400, 404 … by the code). A name may be cut anywhere; the message stays valid UTF-8. */
void mcp_refuse(struct mcp_request *request, int code, const char *data_json, const char *format, ...) NONNULL(1, 4)
    PRINTF_LIKE(4, 5);

/* An error of the engine as a protocol error; 401, 429 and 503 become the HTTP status too. */
void mcp_refuse_error(struct mcp_request *request, const struct error *err) NONNULL(1, 2);

/* Refuses because the client did not declare a capability (-32021). `capability` is its name, such as "sampling". */
void mcp_refuse_capability(struct mcp_request *request, const char *capability) NONNULL(1, 2);

/* Admits the caller. The core then answers its own methods (tools/list …); `visibility` selects the lists. */
void mcp_admit(struct mcp_request *request, unsigned visibility) NONNULL(1);

/* ---- While working ---- */

/* Sends progress. Dropped without a progress token, or when `progress` does not increase. `total` 0: unknown; `message` may be
 * NULL. */
void mcp_progress(struct mcp_request *request, double progress, double total, const char *message) NONNULL(1);

/* Sends a log message. Dropped unless the client asked for this level. `data_json` is any JSON value. */
void mcp_log(struct mcp_request *request, enum mcp_log_level level, const char *data_json) NONNULL(1, 3);

/* True when the client declared `capability`: elicitation, roots or sampling. */
bool mcp_client_can(const struct mcp_request *request, const char *capability) NONNULL(1, 2);

/* Sends a request to the client (legacy era only). One at a time. False when that is not possible. */
MUST_CHECK bool mcp_ask(struct mcp_request *request, const char *method, const char *params_json, mcp_on_reply *on_reply)
    NONNULL(1, 2, 3, 4);

/* Continues a request after the client's answer: calls `start`, under the rules of start of struct mcp_provider. False, without a
 * call, when the client has cancelled the request meanwhile. */
MUST_CHECK bool mcp_restart(struct mcp_request *request, void (*start)(struct mcp_request *request)) NONNULL(1, 2);

/* Closes the connection before the answer; a client of 2025-11-25 reconnects after `retry_ms`. */
void mcp_hang_up(struct mcp_request *request, int retry_ms) NONNULL(1);
