/*
 * /mcp: the Streamable HTTP transport of the Model Context Protocol. src/mcp
 * handles the messages. This file applies the rules of HTTP: allowed callers
 * (Host, Origin), method and media type, the credential before the message is
 * parsed, and it sends the response or the event stream.
 *
 * A small message of a known caller is handled on the connection's thread.
 * Before any other one, a call looks the caller up (the gate): for a large
 * message once before it is collected and once before it is parsed, on the
 * thread of that call.
 */
#include "api/call.h"
#include "http/credentials.h"
#include "http/guard.h"
#include "http/server_state.h"
#include "mcp/server.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <string.h>

enum { RPC_INVALID_REQUEST = -32600 }; /* JSON-RPC 2.0 §5.1 */

static const char json_media[] = "application/json";
static const char allowed_methods[] = "GET, POST, DELETE, OPTIONS";

enum mcp_step {
    MCP_STEP_IDLE,   /* no gate runs and no message is parsed on another thread */
    MCP_STEP_GATED,  /* the gate runs */
    MCP_STEP_READING /* another thread parses the message and starts its work */
};

struct mcp_state {
    struct http_exchange *exchange;
    struct credentials credentials;
    struct error refusal; /* found before the message was parsed */
    struct call gate;
    /* Under the exchange's lock: */
    enum mcp_step step;
    bool gave_up; /* while the message was read, with this reason */
    enum give_up_reason give_up_reason;
    bool abandoned;
    struct mcp_http_handler *handler; /* until one thread takes it to release it */
};

/* ---- The sink: any thread ---- */

static void add_session(struct http_exchange *exchange, const char *session_id)
{
    if (session_id != NULL)
        http_exchange_add_header(exchange, "mcp-session-id", session_id);
}

/* False when the caller of a GET was not known before its handler looked it up, and has no room for the events of a stream. */
static bool stream_has_room(struct http_exchange *exchange)
{
    const struct mcp_state *state = exchange->endpoint_state;
    struct api *api = exchange->server->api;
    struct principal who = { .organization_id = 0 };
    struct error ignored = { .code = ERR_NONE };
    bool is_new = exchange->answer_share.organization_id == 0 && api != NULL && api_find_caller(api, &state->credentials, &who);
    return !is_new || http_exchange_has_room(exchange, who.organization_id, &ignored);
}

static void sink_stream_open(void *transport, const char *session_id)
{
    struct http_exchange *exchange = transport;
    pthread_mutex_lock(&exchange->lock);
    bool open = exchange->state == HTTP_EXCHANGE_READING || exchange->state == HTTP_EXCHANGE_SUSPENDED;
    if (open) {
        bool has_room = stream_has_room(exchange);
        add_session(exchange, arena_dup(exchange->arena, session_id));
        http_exchange_stream(exchange);
        if (!has_room)
            http_exchange_stream_end(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
}

static bool sink_stream_bytes(void *transport, const char *bytes, size_t size)
{
    return http_exchange_stream_add(transport, bytes, size);
}

static void sink_finish(void *transport, const struct mcp_answer *answer)
{
    struct http_exchange *exchange = transport;
    pthread_mutex_lock(&exchange->lock);
    http_exchange_hold(exchange, answer->held_bytes);
    switch (exchange->state) {
    case HTTP_EXCHANGE_READING:
    case HTTP_EXCHANGE_SUSPENDED:
        add_session(exchange, answer->session_id);
        if (answer->retry_after_s > 0)
            http_exchange_add_header(exchange, "retry-after", arena_printf(exchange->arena, "%" PRId64, answer->retry_after_s));
        if (answer->http_status == MHD_HTTP_UNAUTHORIZED)
            http_exchange_add_header(exchange, "www-authenticate", "Bearer");
        if (answer->http_status == MHD_HTTP_METHOD_NOT_ALLOWED)
            http_exchange_add_header(exchange, "allow", allowed_methods);
        http_exchange_answer(exchange, answer->http_status, answer->body != NULL ? json_media : NULL, answer->body,
                             answer->body_size);
        break;
    case HTTP_EXCHANGE_STREAMING:
        http_exchange_stream_end(exchange);
        break;
    case HTTP_EXCHANGE_ANSWERED: /* the endpoint gave up */
        break;
    }
    pthread_mutex_unlock(&exchange->lock);
}

static const struct mcp_sink sink = {
    .stream_open = sink_stream_open,
    .stream_bytes = sink_stream_bytes,
    .finish = sink_finish,
};

/* ---- Requests ---- */

static void answer_rpc_refusal(struct http_exchange *exchange, int status, const char *sentence)
{
    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    mcp_write_refusal(body, RPC_INVALID_REQUEST, sentence);
    http_exchange_answer(exchange, status, json_media, body->data, body->size);
}

static void answer_error(struct http_exchange *exchange, const struct error *err)
{
    int status = error_info(err->code)->http_status;
    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    mcp_write_error(body, err);
    if (status == MHD_HTTP_UNAUTHORIZED)
        http_exchange_add_header(exchange, "www-authenticate", "Bearer");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE && err->retry_after_s > 0)
        http_exchange_add_header(exchange, "retry-after", arena_printf(exchange->arena, "%" PRId64, err->retry_after_s));
    http_exchange_answer(exchange, status, json_media, body->data, body->size);
}

static void refuse_mcp(struct http_exchange *exchange, int status, const char *code, const char *sentence)
{
    http_exchange_log_refusal(exchange, status, code);
    answer_rpc_refusal(exchange, status, sentence);
}

static bool is_allowed(struct http_exchange *exchange)
{
    const struct guard *guard = exchange->server->guard;
    const char *origin = exchange->headers.values[HEADER_ORIGIN];
    if (!guard_host_is_known(guard, http_exchange_host(exchange))) {
        refuse_mcp(exchange, MHD_HTTP_FORBIDDEN, "HOST_NOT_ALLOWED",
                   "The Host header does not name this server; allow it with --allowed-host.");
        return false;
    }
    if (origin != NULL && !guard_origin_is_known(guard, origin)) {
        refuse_mcp(exchange, MHD_HTTP_FORBIDDEN, "ORIGIN_NOT_ALLOWED",
                   "This origin may not call this server; allow it with --allowed-origin.");
        return false;
    }
    return true;
}

static bool read_method(struct http_exchange *exchange, enum mcp_http_method *ret_method)
{
    static const struct {
        const char *name;
        enum mcp_http_method method;
    } methods[] = { { "POST", MCP_HTTP_POST }, { "GET", MCP_HTTP_GET }, { "DELETE", MCP_HTTP_DELETE } };
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        if (strcmp(methods[i].name, exchange->method) == 0) {
            *ret_method = methods[i].method;
            return true;
        }
    }
    http_exchange_add_header(exchange, "allow", allowed_methods);
    if (strcmp(exchange->method, "OPTIONS") == 0)
        http_exchange_answer(exchange, MHD_HTTP_NO_CONTENT, NULL, NULL, 0);
    else
        refuse_mcp(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Use POST, GET or DELETE.");
    return false;
}

static bool body_is_acceptable(struct http_exchange *exchange, enum mcp_http_method method)
{
    const char *content_type = exchange->headers.values[HEADER_CONTENT_TYPE];
    if (exchange->headers.contradictory) {
        refuse_mcp(exchange, MHD_HTTP_BAD_REQUEST, "INVALID_REQUEST", "The headers contradict each other.");
        return false;
    }
    if (exchange->too_large) {
        refuse_mcp(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "PAYLOAD_TOO_LARGE", "The message is larger than this server accepts.");
        return false;
    }
    if (method == MCP_HTTP_POST && (content_type == NULL || !content_type_is_json(content_type))) {
        refuse_mcp(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", "Send the message as application/json.");
        return false;
    }
    return true;
}

static const char *mcp_header_value(const void *headers, const char *name)
{
    const struct http_exchange *exchange = headers;
    size_t size = strlen(name);
    enum header header = header_by_name(name, size);
    if (header != HEADER_UNKNOWN)
        return exchange->headers.values[header];
    return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

/* ---- From the request to the handler ---- */

static bool message_is_large(const struct http_exchange *exchange)
{
    return exchange->body.size > HTTP_EXCHANGE_QUICK_BODY_BYTES;
}

/* The memory of the tree of a message. It is in the arena of the message, which outlives the exchange when the client of a call of
 * the legacy era leaves. */
struct tree_claim {
    struct body_memory *memory; /* a reference */
    struct body_share share;
};

static void release_tree(void *object)
{
    struct tree_claim *claim = object;
    body_memory_release(claim->memory, &claim->share);
    body_memory_unref(claim->memory);
}

static struct tree_claim *tree_claim_new(struct arena *arena, const struct http_exchange *exchange)
{
    struct tree_claim *claim = arena_alloc(arena, sizeof(*claim));
    claim->memory = body_memory_ref(exchange->body_memory);
    claim->share.organization_id = exchange->body_share.organization_id;
    arena_defer(arena, release_tree, claim);
    return claim;
}

static bool claim_tree(void *context, size_t tree_bytes, struct error *err)
{
    struct tree_claim *claim = context;
    return tree_bytes <= HTTP_EXCHANGE_QUICK_TREE_BYTES || body_memory_claim(claim->memory, &claim->share, tree_bytes, err);
}

static struct mcp_http_handler *make_handler(struct http_exchange *exchange, enum mcp_http_method method)
{
    const struct mcp_state *state = exchange->endpoint_state;
    const char *accept = exchange->headers.values[HEADER_ACCEPT];
    struct arena *arena = arena_new(0);
    const struct mcp_http_request request = {
        .method = method,
        .message_arena = arena,
        .body = buf_text(&exchange->body),
        .body_size = exchange->body.size,
        .claim_tree = claim_tree,
        .claim_context = tree_claim_new(arena, exchange),
        .accepts_json = accept_takes(accept, "application", "json"),
        .accepts_event_stream = accept_takes(accept, "text", "event-stream"),
        .credentials = state->credentials,
        .header = mcp_header_value,
        .headers = exchange,
    };
    return mcp_http_handler_new(exchange->server->mcp, &request, &sink, exchange);
}

static void run_handler(struct http_exchange *exchange, enum mcp_http_method method)
{
    struct mcp_state *state = exchange->endpoint_state;
    state->handler = make_handler(exchange, method);
    if (!mcp_http_handler_is_immediate(state->handler))
        http_exchange_suspend(exchange);
    mcp_http_handler_run(state->handler);
}

/* Under the lock. The thread that gets the handler releases it, without the lock. */
static struct mcp_http_handler *take_handler(struct mcp_state *state)
{
    return TAKE_PTR(state->handler);
}

static void release_handler(struct mcp_http_handler *handler)
{
    if (handler != NULL)
        mcp_http_handler_release(handler);
}

/* ---- The gate ---- */

static bool gate_has_room(struct call *gate, struct error *err)
{
    const struct mcp_state *state = gate->transport_data;
    return http_exchange_has_room(state->exchange, gate->who.organization_id, err);
}

static void fill_gate(struct mcp_state *state, void (*on_completed)(struct call *gate))
{
    struct http_exchange *exchange = state->exchange;
    state->gate = (struct call){
        .arena = exchange->arena,
        .transport = TRANSPORT_MCP_HTTP,
        .caller = { .is_remote = true },
        .candidates = api_connection_check,
        .credentials = state->credentials,
        .request_id = api_request_id(exchange->arena),
        .has_room = gate_has_room,
        .on_completed = on_completed,
        .transport_data = state,
        .credit_cost = -1,
    };
}

static void start_gate(struct mcp_state *state)
{
    struct http_exchange *exchange = state->exchange;
    state->step = MCP_STEP_GATED;
    http_exchange_suspend(exchange);
    api_submit(exchange->server->api, &state->gate);
}

/* Under the lock. False when the server has answered and abandoned the gate; then the caller drops the reference. */
static bool leave_gate(struct mcp_state *state, enum mcp_step next)
{
    state->step = next;
    return !state->abandoned;
}

/* The caller of a large message is known, or is not. */
static void on_admission_completed(struct call *gate)
{
    struct mcp_state *state = gate->transport_data;
    struct http_exchange *exchange = state->exchange;
    pthread_mutex_lock(&exchange->lock);
    bool open = leave_gate(state, MCP_STEP_IDLE);
    if (open && gate->ok) {
        exchange->body_share.organization_id = gate->who.organization_id;
        http_exchange_claim_body(exchange);
    } else if (open) {
        state->refusal = gate->error;
        exchange->drops_body = true;
    }
    if (open)
        http_exchange_continue(exchange);
    pthread_mutex_unlock(&exchange->lock);
    if (!open)
        http_exchange_unref(exchange);
}

/* Parses the message and starts its work. The exchange is suspended, so its headers are valid. */
static void read_on_this_thread(struct mcp_state *state)
{
    struct http_exchange *exchange = state->exchange;
    struct mcp_http_handler *handler = make_handler(exchange, MCP_HTTP_POST);
    if (message_is_large(exchange))
        buf_done(&exchange->body);
    pthread_mutex_lock(&exchange->lock);
    state->handler = handler;
    pthread_mutex_unlock(&exchange->lock);
    mcp_http_handler_run(handler);

    pthread_mutex_lock(&exchange->lock);
    state->step = MCP_STEP_IDLE;
    bool gave_up = state->gave_up;
    pthread_mutex_unlock(&exchange->lock);
    if (gave_up)
        http_exchange_give_up(exchange, state->give_up_reason);
}

static void on_caller_found(struct call *gate)
{
    struct mcp_state *state = gate->transport_data;
    struct http_exchange *exchange = state->exchange;
    http_exchange_ref(exchange); /* the answer may be sent before the handler's start returns */
    pthread_mutex_lock(&exchange->lock);
    bool open = leave_gate(state, gate->ok ? MCP_STEP_READING : MCP_STEP_IDLE);
    if (open && !gate->ok)
        answer_error(exchange, &gate->error);
    pthread_mutex_unlock(&exchange->lock);
    if (open && gate->ok) {
        exchange->body_share.organization_id = gate->who.organization_id;
        read_on_this_thread(state);
    }
    if (!open)
        http_exchange_unref(exchange);
    http_exchange_unref(exchange);
}

static void read_nothing(struct call *gate)
{
    (void)gate;
}

/* Looks the caller up on another thread, where the message is then parsed. */
static void start_reading(struct mcp_state *state)
{
    fill_gate(state, on_caller_found);
    /* A call with input to read is not completed on this thread, and a large input is read in the pool of slow calls. */
    state->gate.read_input = read_nothing;
    state->gate.reads_much = message_is_large(state->exchange);
    start_gate(state);
}

static void on_credential_refused(struct call *gate)
{
    struct mcp_state *state = gate->transport_data;
    state->refusal = gate->error;
}

/* The call that refuses a credential of a wrong form completes at once. */
static void refuse_credential(struct mcp_state *state)
{
    fill_gate(state, on_credential_refused);
    api_submit(state->exchange->server->api, &state->gate);
}

/* ---- The endpoint ---- */

static void mcp_begin(struct http_exchange *exchange)
{
    struct mcp_state *state = arena_alloc(exchange->arena, sizeof(*state));
    state->exchange = exchange;
    state->credentials = credentials_read(exchange->arena, &exchange->headers, false);
    exchange->endpoint_state = state;
    exchange->max_body_bytes = mcp_server_message_max_bytes(exchange->server->mcp);
}

/* True when the headers are those of a message that mcp_run will handle. */
static bool is_message(const struct http_exchange *exchange)
{
    const struct guard *guard = exchange->server->guard;
    const char *origin = exchange->headers.values[HEADER_ORIGIN];
    const char *content_type = exchange->headers.values[HEADER_CONTENT_TYPE];
    return strcmp(exchange->method, "POST") == 0 && content_type != NULL && content_type_is_json(content_type) &&
           guard_host_is_known(guard, http_exchange_host(exchange)) && (origin == NULL || guard_origin_is_known(guard, origin));
}

static void mcp_admit(struct http_exchange *exchange)
{
    struct mcp_state *state = exchange->endpoint_state;
    bool needs_key = exchange->server->api != NULL;
    bool is_small = !http_exchange_is_chunked(exchange) && http_exchange_declared_bytes(exchange) <= HTTP_EXCHANGE_QUICK_BODY_BYTES;
    if (!is_message(exchange) || (needs_key && !api_credential_is_well_formed(&state->credentials))) {
        exchange->drops_body = true;
    } else if (needs_key && !is_small) {
        fill_gate(state, on_admission_completed);
        start_gate(state);
    }
}

static void mcp_run(struct http_exchange *exchange)
{
    struct mcp_state *state = exchange->endpoint_state;
    struct api *api = exchange->server->api;
    enum mcp_http_method method;
    if (!is_allowed(exchange) || !read_method(exchange, &method) || !body_is_acceptable(exchange, method))
        return;
    if (state->refusal.code == ERR_NONE)
        state->refusal = exchange->body_refusal;
    if (api != NULL && !api_credential_is_well_formed(&state->credentials))
        refuse_credential(state);
    struct principal who = { .organization_id = 0 };
    bool is_known = api != NULL && !message_is_large(exchange) && api_find_caller(api, &state->credentials, &who);
    if (is_known)
        exchange->body_share.organization_id = who.organization_id;
    if (state->refusal.code == ERR_NONE && is_known && method != MCP_HTTP_DELETE &&
        !http_exchange_has_room(exchange, who.organization_id, &state->refusal))
        http_exchange_log_refusal(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE");
    if (state->refusal.code != ERR_NONE)
        answer_error(exchange, &state->refusal);
    else if (api == NULL || method != MCP_HTTP_POST || is_known)
        run_handler(exchange, method);
    else
        start_reading(state);
}

/* Under the lock: ends the wait for the gate. */
static void give_up_gate(struct mcp_state *state, enum give_up_reason reason)
{
    struct http_exchange *exchange = state->exchange;
    if (reason != GIVE_UP_ABANDON) {
        http_exchange_cancel(exchange->server->api, &state->gate, reason);
    } else if (!state->abandoned) {
        state->abandoned = true;
        exchange->drops_body = true;
        http_exchange_abandon(exchange);
        answer_rpc_refusal(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "The server is stopping.");
    }
}

/* Under the lock: ends the work of the handler. Returns the handler to release, or NULL. */
static struct mcp_http_handler *give_up_work(struct mcp_state *state, enum give_up_reason reason)
{
    struct http_exchange *exchange = state->exchange;
    struct mcp_http_handler *handler = NULL;
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        handler = take_handler(state);
        if (handler != NULL && reason != GIVE_UP_CLIENT_GONE)
            mcp_http_handler_give_up(handler);
        const char *sentence = reason == GIVE_UP_TIMEOUT ? "The call took too long." : "The server is stopping.";
        answer_rpc_refusal(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, sentence);
    } else if (exchange->state == HTTP_EXCHANGE_STREAMING && reason != GIVE_UP_TIMEOUT) {
        handler = take_handler(state);
        http_exchange_stream_end(exchange);
    }
    return handler;
}

static void mcp_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct mcp_state *state = exchange->endpoint_state;
    struct mcp_http_handler *handler = NULL;
    pthread_mutex_lock(&exchange->lock);
    switch (state->step) {
    case MCP_STEP_GATED:
        give_up_gate(state, reason);
        break;
    case MCP_STEP_READING: /* the thread that reads gives up when it is done */
        state->gave_up = true;
        state->give_up_reason = reason;
        break;
    case MCP_STEP_IDLE:
        handler = give_up_work(state, reason);
        break;
    }
    pthread_mutex_unlock(&exchange->lock);
    release_handler(handler);
}

static void mcp_release(struct http_exchange *exchange)
{
    struct mcp_state *state = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    struct mcp_http_handler *handler = take_handler(state);
    pthread_mutex_unlock(&exchange->lock);
    release_handler(handler);
}

const struct http_endpoint mcp_endpoint = {
    .begin = mcp_begin,
    .admit = mcp_admit,
    .run = mcp_run,
    .give_up = mcp_give_up,
    .release = mcp_release,
};
