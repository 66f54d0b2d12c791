/*
 * Webhooks: see webhook.h. A 2xx is answered after the commit only, so that a
 * provider repeats what was lost.
 */
#include "http/endpoints/webhook.h"

#include "api/call.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

enum {
    WEBHOOK_MAX_BYTES = 1024 * 1024,
    RETRY_AFTER_BYTES = 24,
};

struct webhook_state {
    struct http_exchange *exchange;
    const struct webhook_kind *kind;
    struct call call;
    bool abandoned; /* under the exchange's lock */
    struct visitor visitor;
    char retry_after[RETRY_AFTER_BYTES];
};

/* ---- Answers ---- */

static void answer_webhook_error(struct webhook_state *state, const struct error *err)
{
    struct http_exchange *exchange = state->exchange;
    int status = error_info(err->code)->http_status;
    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    struct json_writer json;
    if (err->retry_after_s > 0) {
        snprintf(state->retry_after, sizeof(state->retry_after), "%lld", (long long)err->retry_after_s);
        http_exchange_add_header(exchange, "retry-after", state->retry_after);
    }
    if (status == MHD_HTTP_UNAUTHORIZED && state->kind->challenge != NULL)
        http_exchange_add_header(exchange, "www-authenticate", state->kind->challenge);
    json_writer_init(&json, body);
    api_write_error(&json, err);
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_answer(exchange, status != 0 ? status : MHD_HTTP_INTERNAL_SERVER_ERROR, "application/json", body->data,
                         body->size);
}

static void refuse_webhook(struct webhook_state *state, enum error_code code, const char *sentence)
{
    struct error err = { .code = ERR_NONE };
    fail(&err, code, NULL, "%s", sentence);
    err.retry_after_s = code == ERR_RATE_LIMITED || code == ERR_SERVICE_UNAVAILABLE ? 1 : 0;
    http_exchange_log_refusal(state->exchange, error_info(code)->http_status, error_info(code)->name);
    answer_webhook_error(state, &err);
}

static void charge_wrong_proof(struct webhook_state *state)
{
    enum error_code code = state->call.error.code;
    if (code == ERR_NOT_FOUND || code == ERR_AUTHENTICATION_REQUIRED)
        (void)visitor_take(state->exchange, &state->visitor, VISITOR_UNITS_OF_WRONG_LINK);
}

static void answer_webhook(struct webhook_state *state)
{
    struct http_exchange *exchange = state->exchange;
    const struct buf *body = state->call.reply.body;
    if (state->call.ok) {
        http_exchange_add_header(exchange, "cache-control", "no-store");
        http_exchange_answer(exchange, state->call.reply.status, "application/json", body->data, body->size);
        return;
    }
    charge_wrong_proof(state);
    answer_webhook_error(state, &state->call.error);
}

static void on_webhook_completed(struct call *call)
{
    struct webhook_state *state = call->transport_data;
    struct http_exchange *exchange = state->exchange;
    pthread_mutex_lock(&exchange->lock);
    bool abandoned = state->abandoned;
    if (!abandoned)
        answer_webhook(state);
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

/* ---- From the request to the call ---- */

void webhook_begin(struct http_exchange *exchange, const struct webhook_kind *kind)
{
    struct webhook_state *state = arena_alloc(exchange->arena, sizeof(*state));
    state->exchange = exchange;
    state->kind = kind;
    state->visitor = visitor_of(exchange);
    exchange->endpoint_state = state;
    exchange->max_body_bytes = strcmp(exchange->method, "POST") == 0 ? WEBHOOK_MAX_BYTES : 0;
}

void webhook_admit(struct http_exchange *exchange)
{
    struct webhook_state *state = exchange->endpoint_state;
    exchange->drops_body = !visitor_admit(exchange, &state->visitor);
}

/* Checks the request without the database. */
static bool check_webhook_request(struct webhook_state *state)
{
    struct http_exchange *exchange = state->exchange;
    if (strcmp(exchange->method, "POST") != 0) {
        http_exchange_add_header(exchange, "allow", "POST");
        refuse_webhook(state, ERR_METHOD_NOT_ALLOWED, "Webhooks are sent by POST.");
    } else if (!visitor_admit(exchange, &state->visitor)) {
        refuse_webhook(state, ERR_RATE_LIMITED, "There are too many requests of this address.");
    } else if (exchange->body_refusal.code != ERR_NONE) {
        refuse_webhook(state, exchange->body_refusal.code, exchange->body_refusal.message);
    } else if (exchange->headers.contradictory) {
        refuse_webhook(state, ERR_INVALID_REQUEST, "A header contradicts another.");
    } else if (exchange->too_large) {
        refuse_webhook(state, ERR_PAYLOAD_TOO_LARGE, "The body is larger than 1 MiB.");
    } else if (exchange->body.size == 0 || !utf8_is_valid(buf_text(&exchange->body), exchange->body.size)) {
        refuse_webhook(state, ERR_INVALID_REQUEST, "The body must be UTF-8 without NUL characters.");
    } else {
        return true;
    }
    return false;
}

void webhook_set_text(json_t *object, const char *name, const char *text)
{
    if (text != NULL && utf8_is_valid(text, strlen(text)))
        json_object_set_new(object, name, json_string(text));
}

static void fill_webhook_call(struct webhook_state *state, json_t *body)
{
    struct http_exchange *exchange = state->exchange;
    const struct webhook_kind *kind = state->kind;
    json_object_set_new(body, "content", json_stringn(buf_text(&exchange->body), exchange->body.size));
    state->call = (struct call){
        .arena = exchange->arena,
        .transport = TRANSPORT_REST,
        .caller = { .is_remote = true },
        .candidates = kind->candidates,
        .connection = { kind->connection, json_get_text(body, "connection"), kind->threads_max },
        .is_large = exchange->body.size > kind->quick_max_bytes,
        .input = { .flat = true, .body = body },
        .request_id = api_request_id(exchange->arena),
        .on_completed = on_webhook_completed,
        .transport_data = state,
        .credit_cost = -1,
    };
}

void webhook_run(struct http_exchange *exchange)
{
    struct webhook_state *state = exchange->endpoint_state;
    json_t *body = json_in_arena(exchange->arena, json_object());
    if (!check_webhook_request(state))
        return;
    if (!state->kind->read(exchange, body)) {
        refuse_webhook(state, ERR_NOT_FOUND, "There is no such connection.");
        return;
    }
    fill_webhook_call(state, body);
    if (!api_is_immediate(exchange->server->api, &state->call))
        http_exchange_suspend(exchange);
    api_submit(exchange->server->api, &state->call);
}

/* Cancelling holds the lock, so that `on_completed` cannot return meanwhile (as in rest.c). */
void webhook_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct webhook_state *state = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED && reason == GIVE_UP_ABANDON) {
        state->abandoned = true;
        http_exchange_abandon(exchange);
        refuse_webhook(state, ERR_SERVICE_UNAVAILABLE, "The server is stopping.");
    } else if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        http_exchange_cancel(exchange->server->api, &state->call, reason);
    }
    pthread_mutex_unlock(&exchange->lock);
}

/* ---- Paths ---- */

bool webhook_id_is_well_formed(const char *id)
{
    size_t size = strlen(id);
    return size > 0 && size <= ID_MAX_CHARS && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == size;
}

char *webhook_path_rest(const struct http_exchange *exchange, const char *prefix)
{
    size_t skip = strlen(prefix);
    size_t size = exchange->path_size - skip;
    return size <= WEBHOOK_PATH_MAX_BYTES ? arena_dup_bytes(exchange->arena, exchange->target + skip, size) : NULL;
}
