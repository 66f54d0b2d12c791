/*
 * Reports of mail providers: POST /reports/PROVIDER/CONNECTION (D-119).
 *
 * The provider proves itself by a signature or a password, which the operation
 * checks (engine/provider_reports). A 2xx is answered after the commit only, so
 * that a provider repeats what was lost. Errors have the envelope of /v1; there
 * are no rate headers. Requests that fail their proof cost tokens of the address
 * gate, so that a stranger cannot guess connections or passwords.
 */
#include "api/call.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/address_gate.h"
#include "http/guard.h"
#include "http/server_state.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

enum {
    REPORT_MAX_BYTES = 1024 * 1024,
    NAME_MAX_BYTES = 40,
    UNITS_OF_REQUEST = 1,
    UNITS_OF_WRONG_PROOF = 50, /* a request without proof costs as many tokens as 50 requests */
    RETRY_AFTER_BYTES = 24,
};

static const char prefix[] = "/reports/";

struct reports_state {
    struct http_exchange *exchange;
    struct call call;
    bool abandoned; /* under the exchange's lock */
    bool is_counted;
    struct gate_address client;
    char retry_after[RETRY_AFTER_BYTES];
};

bool reports_path(const struct http_exchange *exchange)
{
    size_t size = strlen(prefix);
    return exchange->path_size > size && memcmp(exchange->target, prefix, size) == 0;
}

/* ---- Answers ---- */

static void answer_reports_error(struct reports_state *state, const struct error *err)
{
    struct http_exchange *exchange = state->exchange;
    int status = error_info(err->code)->http_status;
    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    struct json_writer json;
    if (err->retry_after_s > 0) {
        snprintf(state->retry_after, sizeof(state->retry_after), "%lld", (long long)err->retry_after_s);
        http_exchange_add_header(exchange, "retry-after", state->retry_after);
    }
    if (status == MHD_HTTP_UNAUTHORIZED)
        http_exchange_add_header(exchange, "www-authenticate", "Basic realm=\"reports\"");
    json_writer_init(&json, body);
    api_write_error(&json, err);
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_answer(exchange, status != 0 ? status : MHD_HTTP_INTERNAL_SERVER_ERROR, "application/json", body->data,
                         body->size);
}

static void refuse_report(struct reports_state *state, enum error_code code, const char *sentence)
{
    struct error err = { .code = ERR_NONE };
    fail(&err, code, NULL, "%s", sentence);
    err.retry_after_s = code == ERR_RATE_LIMITED || code == ERR_SERVICE_UNAVAILABLE ? 1 : 0;
    http_exchange_log_refusal(state->exchange, error_info(code)->http_status, error_info(code)->name);
    answer_reports_error(state, &err);
}

static void charge_wrong_proof(struct reports_state *state)
{
    enum error_code code = state->call.error.code;
    if (state->is_counted && (code == ERR_NOT_FOUND || code == ERR_AUTHENTICATION_REQUIRED))
        (void)address_gate_take(state->exchange->server->gate, &state->client, UNITS_OF_WRONG_PROOF, clock_monotonic_us());
}

static void answer_report(struct reports_state *state)
{
    struct http_exchange *exchange = state->exchange;
    const struct buf *body = state->call.reply.body;
    if (state->call.ok) {
        http_exchange_add_header(exchange, "cache-control", "no-store");
        http_exchange_answer(exchange, state->call.reply.status, "application/json", body->data, body->size);
        return;
    }
    charge_wrong_proof(state);
    answer_reports_error(state, &state->call.error);
}

static void on_report_completed(struct call *call)
{
    struct reports_state *state = call->transport_data;
    struct http_exchange *exchange = state->exchange;
    pthread_mutex_lock(&exchange->lock);
    bool abandoned = state->abandoned;
    if (!abandoned)
        answer_report(state);
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

/* ---- From the request to the call ---- */

static void reports_begin(struct http_exchange *exchange)
{
    struct reports_state *state = arena_alloc(exchange->arena, sizeof(*state));
    state->exchange = exchange;
    exchange->endpoint_state = state;
    exchange->max_body_bytes = strcmp(exchange->method, "POST") == 0 ? REPORT_MAX_BYTES : 0;
}

static bool is_within_rate(struct reports_state *state)
{
    const struct http_exchange *exchange = state->exchange;
    const struct http_server *server = exchange->server;
    const struct sockaddr *peer = http_exchange_peer(exchange);
    state->is_counted = guard_peer_is_trusted(server->guard, peer)
                            ? gate_address_of_forwarded(exchange->headers.values[HEADER_X_FORWARDED_FOR], &state->client)
                            : gate_address_of_peer(peer, &state->client);
    return !state->is_counted || address_gate_take(server->gate, &state->client, UNITS_OF_REQUEST, clock_monotonic_us());
}

/* Checks the request without the database. */
static bool check_report_request(struct reports_state *state)
{
    struct http_exchange *exchange = state->exchange;
    if (strcmp(exchange->method, "POST") != 0) {
        http_exchange_add_header(exchange, "allow", "POST");
        refuse_report(state, ERR_METHOD_NOT_ALLOWED, "Reports are sent by POST.");
    } else if (!is_within_rate(state)) {
        refuse_report(state, ERR_RATE_LIMITED, "There are too many requests of this address.");
    } else if (exchange->body_refusal.code != ERR_NONE) {
        refuse_report(state, exchange->body_refusal.code, exchange->body_refusal.message);
    } else if (exchange->headers.contradictory) {
        refuse_report(state, ERR_INVALID_REQUEST, "A header contradicts another.");
    } else if (exchange->too_large) {
        refuse_report(state, ERR_PAYLOAD_TOO_LARGE, "The body is larger than 1 MiB.");
    } else if (exchange->body.size == 0 || !utf8_is_valid(buf_text(&exchange->body), exchange->body.size)) {
        refuse_report(state, ERR_INVALID_REQUEST, "The body must be UTF-8 without NUL characters.");
    } else {
        return true;
    }
    return false;
}

static void set_text(json_t *body, const char *name, const char *text)
{
    if (text != NULL && utf8_is_valid(text, strlen(text)))
        json_object_set_new(body, name, json_string(text));
}

/* The path has exactly two parts after the prefix; any other is an unknown connection. */
static bool read_path(const struct http_exchange *exchange, const char **ret_provider, const char **ret_connection)
{
    static const char *const providers[] = { "ses", "sendgrid", "postmark" };
    size_t size = exchange->path_size - strlen(prefix);
    char *provider = arena_dup_bytes(exchange->arena, exchange->target + strlen(prefix), size);
    char *slash = strchr(provider, '/');
    if (size > NAME_MAX_BYTES || slash == NULL)
        return false;
    *slash = '\0';
    *ret_provider = provider;
    *ret_connection = slash + 1;
    bool known = false;
    for (size_t i = 0; i < ARRAY_COUNT(providers); i++)
        known |= strcmp(provider, providers[i]) == 0;
    size_t id_size = strlen(*ret_connection);
    return known && id_size > 0 && strspn(*ret_connection, "abcdefghijklmnopqrstuvwxyz0123456789_") == id_size;
}

static void fill_report_call(struct reports_state *state, const char *provider, const char *connection)
{
    const struct http_exchange *exchange = state->exchange;
    const char *const *headers = exchange->headers.values;
    struct arena *arena = exchange->arena;
    json_t *body = json_in_arena(arena, json_object());
    set_text(body, "provider", provider);
    set_text(body, "connection", connection);
    json_object_set_new(body, "content", json_stringn(buf_text(&exchange->body), exchange->body.size));
    set_text(body, "signature", headers[HEADER_X_TWILIO_SIGNATURE]);
    set_text(body, "timestamp", headers[HEADER_X_TWILIO_TIMESTAMP]);
    set_text(body, "authorization", headers[HEADER_AUTHORIZATION]);
    state->call = (struct call){
        .arena = arena,
        .transport = TRANSPORT_REST,
        .caller = { .is_remote = true },
        .candidates = api_reports,
        .input = { .flat = true, .body = body },
        .request_id = api_request_id(arena),
        .on_completed = on_report_completed,
        .transport_data = state,
        .credit_cost = -1,
    };
}

static void reports_run(struct http_exchange *exchange)
{
    struct reports_state *state = exchange->endpoint_state;
    const char *provider;
    const char *connection;
    if (!check_report_request(state))
        return;
    if (!read_path(exchange, &provider, &connection)) {
        refuse_report(state, ERR_NOT_FOUND, "There is no such connection.");
        return;
    }
    fill_report_call(state, provider, connection);
    if (!api_is_immediate(exchange->server->api, &state->call))
        http_exchange_suspend(exchange);
    api_submit(exchange->server->api, &state->call);
}

/* Cancelling holds the lock, so that `on_completed` cannot return meanwhile (as in rest.c). */
static void reports_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct reports_state *state = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED && reason == GIVE_UP_ABANDON) {
        state->abandoned = true;
        http_exchange_ref(exchange); /* until the call completes */
        refuse_report(state, ERR_SERVICE_UNAVAILABLE, "The server is stopping.");
    } else if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        http_exchange_cancel(exchange->server->api, &state->call, reason);
    }
    pthread_mutex_unlock(&exchange->lock);
}

const struct http_endpoint reports_endpoint = {
    .begin = reports_begin,
    .run = reports_run,
    .give_up = reports_give_up,
};
