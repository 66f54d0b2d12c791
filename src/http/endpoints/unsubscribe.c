/*
 * Unsubscribe links: /u/TOKEN, for everyone who has the message. And the form
 * /u/?brand=ID, on which people ask for such a link by mail.
 *
 * GET and HEAD show a page and change nothing, because mail scanners follow
 * every link. POST of List-Unsubscribe=One-Click unsubscribes. A mailbox
 * provider (RFC 8058 §3.1) or the button of the page sends it. It needs no
 * cookie, does not redirect, and may be repeated. POST of preferences=save stores
 * the subscription groups that the person has chosen. POST of an address to the form
 * gets the same page for every address. All responses are pages; they
 * may not be cached, indexed or framed, and send no referrer.
 */
#include "api/call.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/endpoints/query.h"
#include "http/endpoints/unsubscribe_page.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <microhttpd.h>
#include <string.h>

enum {
    TOKEN_MAX_BYTES = 200,
    FORM_MAX_BYTES = 64 * 1024,
    PAGE_MAX_BYTES = 256 * 1024,
    BRAND_MAX_BYTES = 64,
    EMAIL_MAX_BYTES = 320,
    ANSWER_MAX_BYTES = 256 * 1024,
};

static const char prefix[] = "/u/";

struct unsubscribe_state {
    struct http_exchange *exchange;
    struct call call;
    bool asks;    /* the form for a link */
    bool leaves;  /* POST */
    bool chooses; /* POST of the form with the groups */
    struct name_value_list form;
    bool abandoned; /* under the exchange's lock */
    struct visitor visitor;
};

bool unsubscribe_path(const struct http_exchange *exchange)
{
    size_t size = strlen(prefix);
    return exchange->path_size >= size && memcmp(exchange->target, prefix, size) == 0;
}

/* ---- Answers ---- */

static void answer_view(struct http_exchange *exchange, int status, const struct unsubscribe_view *view)
{
    struct buf *html = buf_in_arena(exchange->arena, PAGE_MAX_BYTES);
    unsubscribe_page_write(html, view);
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_add_header(exchange, "content-security-policy", unsubscribe_policy);
    http_exchange_add_header(exchange, "referrer-policy", "no-referrer");
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_add_header(exchange, "x-robots-tag", "noindex, nofollow");
    if (view->page == UNSUBSCRIBE_LATER)
        http_exchange_add_header(exchange, "retry-after", "60");
    http_exchange_answer(exchange, status, "text/html; charset=utf-8", buf_text(html), html->size);
}

static void answer_page(struct http_exchange *exchange, int status, enum unsubscribe_page page, const char *brand)
{
    answer_view(exchange, status, &(struct unsubscribe_view){ .page = page, .brand = brand });
}

static void refuse_unsubscribe(struct http_exchange *exchange, int status, const char *code, enum unsubscribe_page page)
{
    http_exchange_log_refusal(exchange, status, code);
    answer_page(exchange, status, page, "");
}

static struct unsubscribe_view form_view(const struct unsubscribe_state *state, const json_t *json)
{
    return (struct unsubscribe_view){
        .page = !json_get_bool(json, "available", false) ? UNSUBSCRIBE_UNAVAILABLE
                : state->leaves                          ? UNSUBSCRIBE_REQUESTED
                                                         : UNSUBSCRIBE_REQUEST,
        .brand = json_get_text(json, "brandName"),
    };
}

static struct unsubscribe_view subscription_view(const struct unsubscribe_state *state, const json_t *json)
{
    bool has_left = json_get_bool(json, "unsubscribed", false);
    return (struct unsubscribe_view){
        .page = json_get_bool(json, "test", false) ? UNSUBSCRIBE_TEST
                : state->chooses                   ? UNSUBSCRIBE_SAVED
                : has_left                         ? UNSUBSCRIBE_LEFT
                                                   : UNSUBSCRIBE_ASK,
        .brand = json_get_text(json, "brandName"),
        .groups = json_object_get(json, "groups"),
        .has_left = has_left,
    };
}

static void answer_success(struct unsubscribe_state *state)
{
    struct http_exchange *exchange = state->exchange;
    const json_t *json;
    struct error ignored = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = ANSWER_MAX_BYTES };
    const struct buf *body = state->call.reply.body;
    if (!json_read(exchange->arena, buf_text(body), body->size, bounds, &json, &ignored)) {
        answer_page(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, UNSUBSCRIBE_LATER, "");
        return;
    }
    struct unsubscribe_view view = state->asks ? form_view(state, json) : subscription_view(state, json);
    answer_view(exchange, MHD_HTTP_OK, &view);
}

/* A link of another installation gets the same page as a missing one. */
static void answer_failure(struct unsubscribe_state *state)
{
    bool is_wrong = state->call.error.code == ERR_NOT_FOUND;
    if (state->asks && state->call.error.code == ERR_INVALID_REQUEST) {
        answer_page(state->exchange, MHD_HTTP_BAD_REQUEST, UNSUBSCRIBE_ADDRESS, "");
        return;
    }
    if (is_wrong)
        (void)visitor_take(state->exchange, &state->visitor, VISITOR_UNITS_OF_WRONG_LINK);
    answer_page(state->exchange, is_wrong ? MHD_HTTP_NOT_FOUND : MHD_HTTP_SERVICE_UNAVAILABLE,
                is_wrong ? UNSUBSCRIBE_WRONG : UNSUBSCRIBE_LATER, "");
}

static void on_unsubscribe_completed(struct call *call)
{
    struct unsubscribe_state *state = call->transport_data;
    struct http_exchange *exchange = state->exchange;
    pthread_mutex_lock(&exchange->lock);
    bool abandoned = state->abandoned;
    if (!abandoned && call->ok)
        answer_success(state);
    else if (!abandoned)
        answer_failure(state);
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

/* ---- From the request to the call ---- */

/* True when a form contains List-Unsubscribe=One-Click, urlencoded or as a part of multipart/form-data. */
static bool says_one_click(const struct buf *body)
{
    const char *text = buf_text(body);
    const char *field = memmem(text, body->size, UNSUBSCRIBE_FIELD, strlen(UNSUBSCRIBE_FIELD));
    if (field == NULL)
        return false;
    const char *after_name = field + strlen(UNSUBSCRIBE_FIELD);
    size_t left = body->size - (size_t)(after_name - text);
    if (*after_name != '=' && *after_name != '"')
        return false;
    return memmem(after_name, left, UNSUBSCRIBE_VALUE, strlen(UNSUBSCRIBE_VALUE)) != NULL;
}

static const char *form_value(const struct unsubscribe_state *state, const char *name)
{
    for (size_t i = 0; i < state->form.count; i++)
        if (strcmp(state->form.items[i].name, name) == 0)
            return state->form.items[i].value;
    return NULL;
}

/* The form with the groups begins with its own field, so no body of a mailbox provider is taken for it. */
static bool reads_preferences(struct unsubscribe_state *state)
{
    static const char first[] = PREFERENCES_FIELD "=" PREFERENCES_VALUE;
    const char *text = buf_text(&state->exchange->body);
    struct error ignored = { .code = ERR_NONE };
    size_t size = strlen(first);
    return strncmp(text, first, size) == 0 && (text[size] == '&' || text[size] == '\0') &&
           query_read(state->exchange->arena, text, &state->form, &ignored);
}

static bool reads_address(struct unsubscribe_state *state)
{
    struct error ignored = { .code = ERR_NONE };
    if (!query_read(state->exchange->arena, buf_text(&state->exchange->body), &state->form, &ignored))
        return false;
    const char *email = form_value(state, UNSUBSCRIBE_EMAIL);
    return email != NULL && strlen(email) <= EMAIL_MAX_BYTES;
}

static void unsubscribe_begin(struct http_exchange *exchange)
{
    struct unsubscribe_state *state = arena_alloc(exchange->arena, sizeof(*state));
    state->exchange = exchange;
    state->asks = exchange->path_size == strlen(prefix);
    state->leaves = strcmp(exchange->method, "POST") == 0;
    state->visitor = visitor_of(exchange);
    exchange->endpoint_state = state;
    exchange->max_body_bytes = state->leaves ? FORM_MAX_BYTES : 0;
}

static void unsubscribe_admit(struct http_exchange *exchange)
{
    struct unsubscribe_state *state = exchange->endpoint_state;
    exchange->drops_body = !visitor_admit(exchange, &state->visitor);
}

/* The form for a link: a POST has an address. */
static bool check_form_request(struct unsubscribe_state *state)
{
    struct http_exchange *exchange = state->exchange;
    bool is_unknown = state->leaves && (exchange->too_large || !reads_address(state));
    if (!exchange->headers.contradictory && !is_unknown)
        return true;
    refuse_unsubscribe(exchange, MHD_HTTP_BAD_REQUEST, "INVALID_REQUEST", UNSUBSCRIBE_ADDRESS);
    return false;
}

/* Checks the request without the database. */
static bool check_unsubscribe_request(struct unsubscribe_state *state)
{
    struct http_exchange *exchange = state->exchange;
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    if (!reads && !state->leaves) {
        http_exchange_add_header(exchange, "allow", "GET, HEAD, POST");
        refuse_unsubscribe(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", UNSUBSCRIBE_FORM);
        return false;
    }
    if (!visitor_admit(exchange, &state->visitor)) {
        refuse_unsubscribe(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "RATE_LIMITED", UNSUBSCRIBE_LATER);
        return false;
    }
    if (exchange->body_refusal.code != ERR_NONE) {
        refuse_unsubscribe(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE", UNSUBSCRIBE_LATER);
        return false;
    }
    if (state->asks)
        return check_form_request(state);
    state->chooses = state->leaves && !exchange->too_large && reads_preferences(state);
    bool is_unknown = state->leaves && !state->chooses && (exchange->too_large || !says_one_click(&exchange->body));
    if (exchange->headers.contradictory || is_unknown) {
        refuse_unsubscribe(exchange, MHD_HTTP_BAD_REQUEST, "INVALID_REQUEST", UNSUBSCRIBE_FORM);
        return false;
    }
    return true;
}

/* NULL when it cannot be a token. */
static const char *link_token(const struct http_exchange *exchange)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t size = exchange->path_size - strlen(prefix);
    const char *token = arena_dup_bytes(exchange->arena, exchange->target + strlen(prefix), size);
    return size <= TOKEN_MAX_BYTES && strspn(token, letters) == size ? token : NULL;
}

/* NULL when the query has none. */
static const char *form_brand(const struct http_exchange *exchange)
{
    struct name_value_list pairs;
    struct error ignored = { .code = ERR_NONE };
    if (!query_read(exchange->arena, exchange->query, &pairs, &ignored))
        return NULL;
    for (size_t i = 0; i < pairs.count; i++)
        if (strcmp(pairs.items[i].name, "brand") == 0 && strlen(pairs.items[i].value) <= BRAND_MAX_BYTES)
            return pairs.items[i].value;
    return NULL;
}

static void add_choice(const struct unsubscribe_state *state, json_t *body)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < state->form.count; i++)
        if (text_starts_with(state->form.items[i].name, PREFERENCES_GROUP))
            json_array_append_new(groups, json_string(state->form.items[i].value));
    json_object_set_new(body, "groups", groups);
    json_object_set_new(body, "subscribe", json_boolean(form_value(state, PREFERENCES_SUBSCRIBE) != NULL));
}

static const struct operation *const *candidates(const struct unsubscribe_state *state)
{
    if (state->asks)
        return state->leaves ? api_link_request : api_link_form;
    if (state->chooses)
        return api_preferences;
    return state->leaves ? api_unsubscribe : api_subscription;
}

/* The arguments of the call: of a link, or of the form. NULL when token or brand cannot be one. */
static json_t *arguments(const struct unsubscribe_state *state)
{
    struct http_exchange *exchange = state->exchange;
    json_t *body = json_in_arena(exchange->arena, json_object());
    if (!state->asks) {
        const char *token = link_token(exchange);
        if (token == NULL)
            return NULL;
        json_object_set_new(body, "token", json_string(token));
        if (state->chooses)
            add_choice(state, body);
        return body;
    }
    const char *brand = form_brand(exchange);
    if (brand == NULL)
        return NULL;
    json_object_set_new(body, "brand", json_string(brand));
    if (state->leaves)
        json_object_set_new(body, UNSUBSCRIBE_EMAIL, json_string(form_value(state, UNSUBSCRIBE_EMAIL)));
    return body;
}

static void fill_unsubscribe_call(struct unsubscribe_state *state, json_t *body)
{
    struct arena *arena = state->exchange->arena;
    state->call = (struct call){
        .arena = arena,
        .transport = TRANSPORT_REST,
        .caller = { .is_remote = true },
        .candidates = candidates(state),
        .input = { .flat = true, .body = body },
        .request_id = api_request_id(arena),
        .on_completed = on_unsubscribe_completed,
        .transport_data = state,
        .credit_cost = -1,
    };
}

static void unsubscribe_run(struct http_exchange *exchange)
{
    struct unsubscribe_state *state = exchange->endpoint_state;
    if (!check_unsubscribe_request(state))
        return;
    json_t *body = arguments(state);
    if (body == NULL) {
        refuse_unsubscribe(exchange, MHD_HTTP_NOT_FOUND, "NOT_FOUND", UNSUBSCRIBE_WRONG);
        return;
    }
    fill_unsubscribe_call(state, body);
    if (!api_is_immediate(exchange->server->api, &state->call))
        http_exchange_suspend(exchange);
    api_submit(exchange->server->api, &state->call);
}

/* Cancelling holds the lock, so that `on_completed` cannot return meanwhile (as in rest.c). */
static void unsubscribe_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct unsubscribe_state *state = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED && reason == GIVE_UP_ABANDON) {
        state->abandoned = true;
        http_exchange_abandon(exchange);
        answer_page(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, UNSUBSCRIBE_LATER, "");
    } else if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        http_exchange_cancel(exchange->server->api, &state->call, reason);
    }
    pthread_mutex_unlock(&exchange->lock);
}

const struct http_endpoint unsubscribe_endpoint = {
    .begin = unsubscribe_begin,
    .admit = unsubscribe_admit,
    .run = unsubscribe_run,
    .give_up = unsubscribe_give_up,
};
