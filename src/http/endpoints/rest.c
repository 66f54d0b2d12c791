/*
 * REST endpoint: turns a request under /v1 into a call, and its result into the
 * response of the contract, with headers and error envelope.
 */
#include "api/call.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/credentials.h"
#include "http/endpoints/query.h"
#include "http/endpoints/routes.h"
#include "http/guard.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

enum {
    BODY_DEFAULT_MAX_BYTES = 64 * 1024, /* for operations without a body: enough to name an unknown key */
    CLIENT_MAX_POINTS = 100,
    NUMBER_BYTES = 24,
    UNGATED_LIMIT = 100, /* shown when no rate limit applies */
    UNGATED_WINDOW_S = 60,
    BUSY_RETRY_S = 5,
};

struct rest_state {
    struct http_exchange *exchange;
    struct api *api; /* outlives the server, whose end an abandoned call does not wait for */
    struct route_match match;
    struct call call;
    struct call gate;          /* authenticates the caller before a large body is collected */
    bool is_gated;             /* the gate runs; under the exchange's lock */
    struct arena *input_arena; /* the tree of a large body; NULL: it is in the arena of the exchange */
    bool gave_up;              /* under the exchange's lock, as the next two */
    enum give_up_reason give_up_reason;
    bool abandoned;
    char limit[NUMBER_BYTES];
    char remaining[NUMBER_BYTES];
    char reset[NUMBER_BYTES];
    char retry_after[NUMBER_BYTES];
    char credit_cost[NUMBER_BYTES];
};

/* ---- Answers ---- */

static void add_number(struct http_exchange *exchange, const char *name, char text[NUMBER_BYTES], int64_t value)
{
    snprintf(text, NUMBER_BYTES, "%" PRId64, value);
    http_exchange_add_header(exchange, name, text);
}

static void add_rate_headers(struct rest_state *rest)
{
    struct rate_state rate = rest->call.rate;
    if (rate.limit == 0)
        rate = (struct rate_state){ .limit = UNGATED_LIMIT,
                                    .remaining = UNGATED_LIMIT,
                                    .reset_s = clock_now_us() / US_PER_S + UNGATED_WINDOW_S };
    add_number(rest->exchange, "x-ratelimit-limit", rest->limit, rate.limit);
    add_number(rest->exchange, "x-ratelimit-remaining", rest->remaining, rate.remaining);
    add_number(rest->exchange, "x-ratelimit-reset", rest->reset, rate.reset_s);
}

static void answer_rest_error(struct rest_state *rest, const struct error *err)
{
    struct http_exchange *exchange = rest->exchange;
    int status = error_info(err->code)->http_status;
    if (status == 0)
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    if ((status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE) && err->retry_after_s > 0)
        add_number(exchange, "retry-after", rest->retry_after, err->retry_after_s);
    if (status == MHD_HTTP_UNAUTHORIZED)
        http_exchange_add_header(exchange, "www-authenticate", "Bearer");

    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    struct json_writer json;
    json_writer_init(&json, body);
    api_write_error(&json, err);
    http_exchange_answer(exchange, status, "application/json", body->data, body->size);
}

/* Adds the headers of every REST response. Under the lock, so that no other thread answers in between. */
static void add_common_headers(struct rest_state *rest)
{
    http_exchange_add_header(rest->exchange, "x-request-id", rest->call.request_id);
    http_exchange_add_header(rest->exchange, "cache-control", "no-store");
    add_rate_headers(rest);
}

/* Refuses a request before it becomes a call. */
static void refuse_request(struct rest_state *rest, enum error_code code, const char *param, const char *sentence)
{
    struct error err = { .code = ERR_NONE };
    fail(&err, code, param, "%s", sentence);
    http_exchange_log_refusal(rest->exchange, error_info(code)->http_status, error_info(code)->name);
    add_common_headers(rest);
    answer_rest_error(rest, &err);
}

/* The error of a call that this endpoint stopped. */
static void describe_give_up(const struct rest_state *rest, struct error *err)
{
    error_clear(err);
    if (rest->give_up_reason == GIVE_UP_TIMEOUT)
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call took too long and was stopped.");
    else
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The server is stopping.");
    err->retry_after_s = BUSY_RETRY_S;
}

/* Before the answer is given: the connection's thread may send it at once. */
static void hold_answer(struct rest_state *rest)
{
    const struct call *call = &rest->call;
    http_exchange_hold(rest->exchange, call->kept_bytes + (call->ok ? call->reply.body->capacity : 0));
}

static void on_rest_call_completed(struct call *call)
{
    struct rest_state *rest = call->transport_data;
    struct http_exchange *exchange = rest->exchange;
    arena_free(TAKE_PTR(rest->input_arena)); /* here, because freeing a large tree takes long */
    pthread_mutex_lock(&exchange->lock);
    bool abandoned = rest->abandoned;
    if (!abandoned) {
        add_common_headers(rest);
        if (call->credit_cost >= 0)
            add_number(exchange, "x-credit-cost", rest->credit_cost, call->credit_cost);
        if (!call->ok && rest->gave_up)
            describe_give_up(rest, &call->error);
        hold_answer(rest);
        if (call->ok)
            http_exchange_answer(exchange, call->reply.status, "application/json", call->reply.body->data, call->reply.body->size);
        else
            answer_rest_error(rest, &call->error);
    }
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

/* ---- From the request to the call ---- */

/* The route needs no credential. */
static bool is_public(const struct rest_state *rest)
{
    return rest->match.route->candidates[0]->reach == REACH_PUBLIC;
}

/* CSRF: an old browser sends no header about the page (session_may_write), but the content type shows a form. An empty form is
 * enough for an operation without arguments, so with a cookie the type of an empty body is checked, too. */
static bool could_be_form(const struct rest_state *rest)
{
    return rest->call.credentials.kind == CREDENTIAL_SESSION && strcmp(rest->exchange->method, "POST") == 0;
}

static bool body_is_large(const struct http_exchange *exchange)
{
    return exchange->body.size > HTTP_EXCHANGE_QUICK_BODY_BYTES;
}

/* Parses the body; `who` of the call is known. */
static void parse_body(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    struct call_input *input = &rest->call.input;
    const struct json_bounds bounds = {
        .max_bytes = exchange->max_body_bytes,
        .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES,
        .claim = http_exchange_claim_tree,
        .claim_context = exchange,
    };
    struct arena *arena = rest->call.arena;
    if (body_is_large(exchange))
        arena = rest->input_arena = arena_new(0);
    exchange->body_share.organization_id = rest->call.who.organization_id;
    if (!json_read(arena, exchange->body.data, exchange->body.size, bounds, &input->body, &input->refusal))
        input->body = NULL;
    if (body_is_large(exchange))
        buf_done(&exchange->body);
}

static void read_rest_input(struct call *call)
{
    parse_body(call->transport_data);
}

/* False when there is no body, or it is refused before it is parsed. */
static bool body_must_be_parsed(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    struct error *refusal = &rest->call.input.refusal;
    const char *content_type = exchange->headers.values[HEADER_CONTENT_TYPE];
    if (refusal->code != ERR_NONE)
        return false;
    if (exchange->too_large)
        return fail(refusal, ERR_PAYLOAD_TOO_LARGE, NULL, "The body must have at most %zu bytes.", exchange->max_body_bytes);
    if (exchange->body_refusal.code != ERR_NONE) {
        *refusal = exchange->body_refusal;
        return false;
    }
    if (exchange->body.size == 0 && !could_be_form(rest))
        return false;
    if (content_type != NULL && !content_type_is_json(content_type))
        return fail(refusal, ERR_INVALID_REQUEST, "Content-Type", "The body must be JSON, sent as application/json.");
    return exchange->body.size > 0;
}

/* A small body is parsed here when its caller is known, which is quicker than to pass it to another thread. */
static void take_body(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    struct call *call = &rest->call;
    if (!body_must_be_parsed(rest))
        return;
    call->reads_much = body_is_large(exchange);
    call->is_large = exchange->body.size > HTTP_EXCHANGE_QUICK_CALL_BYTES;
    bool is_known = is_public(rest) || api_find_caller(rest->api, &call->credentials, &call->who);
    if (is_known && !call->reads_much)
        parse_body(rest);
    else
        call->read_input = read_rest_input;
}

static bool rest_has_room(struct call *call, struct error *err)
{
    const struct rest_state *rest = call->transport_data;
    return http_exchange_has_room(rest->exchange, call->who.organization_id, err);
}

static void fill_rest_call(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    struct call *call = &rest->call;
    const char *const *headers = exchange->headers.values;
    call->arena = exchange->arena;
    call->transport = TRANSPORT_REST;
    call->caller.is_remote = true;
    call->candidates = rest->match.route->candidates;
    call->credentials = credentials_read(exchange->arena, &exchange->headers, true);
    call->idempotency_key = strcmp(exchange->method, "POST") == 0 ? headers[HEADER_IDEMPOTENCY_KEY] : NULL;
    if (headers[HEADER_USER_AGENT] != NULL && utf8_is_valid(headers[HEADER_USER_AGENT], strlen(headers[HEADER_USER_AGENT])))
        call->client = text_visible(exchange->arena, headers[HEADER_USER_AGENT], CLIENT_MAX_POINTS);
    call->has_room = rest_has_room;
    call->on_completed = on_rest_call_completed;
    call->transport_data = rest;
    call->credit_cost = -1;
    call->input.path = rest->match.parameters;
    if (!query_read(exchange->arena, exchange->query, &call->input.query, &call->input.refusal))
        call->input.query = (struct name_value_list){ NULL, 0 };
}

/* CSRF check. A page of another origin can make the browser send the session cookie, but it cannot forge the headers about the
 * origin (Origin, RFC 6454 §7; Fetch Metadata, Sec-Fetch-Site). Browsers send them with every write; old ones omit them for
 * forms, which read_body refuses. A request without these headers does not come from such a page. */
static bool session_may_write(const struct http_exchange *exchange, const struct call *call)
{
    if (call->credentials.kind != CREDENTIAL_SESSION)
        return true;
    if (strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0)
        return true;
    const char *origin = exchange->headers.values[HEADER_ORIGIN];
    const struct guard *guard = exchange->server->guard;
    if (origin != NULL)
        return guard_origin_is_own(guard, origin, http_exchange_scheme(exchange), http_exchange_host(exchange)) ||
               guard_origin_is_listed(guard, origin);
    const char *site = exchange->headers.values[HEADER_SEC_FETCH_SITE];
    return site == NULL || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

/* ---- Before the body ---- */

/* True when the first check refuses the call, whatever its body. */
static bool lacks_credential(const struct rest_state *rest)
{
    return !is_public(rest) && !api_credential_is_well_formed(&rest->call.credentials);
}

/* Decides about the body of a caller that the gate has looked up. The checks of the call report the refusal again, at its place in
 * their order; this one is kept for a call that they would let through by now. */
static void on_gate_completed(struct call *gate)
{
    struct rest_state *rest = gate->transport_data;
    struct http_exchange *exchange = rest->exchange;
    struct error *refusal = &rest->call.input.refusal;
    bool wanted = gate->ok;
    if (!wanted)
        *refusal = gate->error;
    else
        wanted = api_has_rate_left(rest->api, &gate->who, rest->call.candidates, refusal);

    pthread_mutex_lock(&exchange->lock);
    rest->is_gated = false;
    bool abandoned = rest->abandoned;
    if (!abandoned) {
        exchange->drops_body = !wanted;
        exchange->body_share.organization_id = gate->who.organization_id;
        if (wanted)
            http_exchange_claim_body(exchange);
        http_exchange_continue(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

/* Looks the caller up while the client's bytes wait in the socket. */
static void start_gate(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    const struct call *call = &rest->call;
    rest->gate = (struct call){
        .arena = call->arena,
        .transport = call->transport,
        .caller = call->caller,
        .candidates = api_connection_check,
        .credentials = call->credentials,
        .request_id = call->request_id,
        .client = call->client,
        .on_completed = on_gate_completed,
        .transport_data = rest,
        .credit_cost = -1,
    };
    if (!api_is_immediate(rest->api, &rest->gate)) {
        rest->is_gated = true;
        http_exchange_suspend(exchange);
    }
    api_submit(rest->api, &rest->gate);
}

static void rest_admit(struct http_exchange *exchange)
{
    struct rest_state *rest = exchange->endpoint_state;
    bool is_small = !http_exchange_is_chunked(exchange) && http_exchange_declared_bytes(exchange) <= HTTP_EXCHANGE_QUICK_BODY_BYTES;
    if (rest->match.route == NULL || rest->call.input.refusal.code != ERR_NONE || lacks_credential(rest) ||
        !session_may_write(exchange, &rest->call))
        exchange->drops_body = true;
    else if (!is_small && !is_public(rest))
        start_gate(rest);
}

/* ---- The endpoint ---- */

static void rest_begin(struct http_exchange *exchange)
{
    struct rest_state *rest = arena_alloc(exchange->arena, sizeof(*rest));
    rest->exchange = exchange;
    rest->api = exchange->server->api;
    rest->call.request_id = api_request_id(exchange->arena);
    exchange->endpoint_state = rest;
    if (exchange->server->routes != NULL)
        rest->match =
            route_match(exchange->server->routes, exchange->arena, exchange->method, exchange->target, exchange->path_size);
    exchange->max_body_bytes = BODY_DEFAULT_MAX_BYTES;
    if (rest->match.route == NULL)
        return;
    for (const struct operation *const *candidate = rest->match.route->candidates; *candidate != NULL; candidate++) {
        if ((*candidate)->max_body_bytes > exchange->max_body_bytes)
            exchange->max_body_bytes = (*candidate)->max_body_bytes;
    }
    fill_rest_call(rest);
}

static void refuse_route(struct rest_state *rest)
{
    struct http_exchange *exchange = rest->exchange;
    if (!rest->match.path_known) {
        refuse_request(rest, ERR_NOT_FOUND, NULL, "There is no such path.");
        return;
    }
    http_exchange_add_header(exchange, "allow", rest->match.allow);
    if (strcmp(exchange->method, "OPTIONS") == 0) {
        add_common_headers(rest);
        http_exchange_answer(exchange, MHD_HTTP_NO_CONTENT, NULL, NULL, 0);
        return;
    }
    refuse_request(rest, ERR_METHOD_NOT_ALLOWED, NULL, "This path does not support this method.");
}

static void rest_run(struct http_exchange *exchange)
{
    struct rest_state *rest = exchange->endpoint_state;
    if (rest->match.route == NULL) {
        refuse_route(rest);
        return;
    }
    if (exchange->headers.contradictory) {
        refuse_request(rest, ERR_INVALID_REQUEST, NULL, "The headers contradict each other.");
        return;
    }
    if (!session_may_write(exchange, &rest->call)) {
        refuse_request(rest, ERR_INSUFFICIENT_PERMISSIONS, "Origin", "A session cookie may write only from a page of this server.");
        return;
    }
    take_body(rest);
    if (is_public(rest))
        exchange->answer_share.address = visitor_number(exchange);
    if (!api_is_immediate(rest->api, &rest->call))
        http_exchange_suspend(exchange);
    api_submit(rest->api, &rest->call);
}

static struct call *running_call(struct rest_state *rest)
{
    return rest->is_gated ? &rest->gate : &rest->call;
}

/* Cancelling holds the lock, so that `on_completed` cannot return meanwhile; it may be called from inside. */
static void rest_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct rest_state *rest = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED && reason == GIVE_UP_ABANDON) {
        struct error err = { .code = ERR_NONE };
        rest->abandoned = true;
        rest->give_up_reason = GIVE_UP_STOPPING;
        exchange->drops_body = true;
        http_exchange_abandon(exchange);
        describe_give_up(rest, &err);
        add_common_headers(rest);
        answer_rest_error(rest, &err);
    } else if (exchange->state == HTTP_EXCHANGE_SUSPENDED && !rest->gave_up) {
        rest->gave_up = !rest->is_gated;
        rest->give_up_reason = reason;
        http_exchange_cancel(rest->api, running_call(rest), reason);
    }
    pthread_mutex_unlock(&exchange->lock);
}

const struct http_endpoint rest_endpoint = {
    .begin = rest_begin,
    .admit = rest_admit,
    .run = rest_run,
    .give_up = rest_give_up,
};
