/*
 * Tracked links, /c/TOKEN, and the picture that reports opens, /o/TOKEN, for
 * everyone who has the message.
 *
 * GET and HEAD of a link answer 302 to the address that its design has. A token
 * that this installation did not make gets a page with 404, and never a redirect.
 * No response may be cached or indexed, sets a cookie, or sends a referrer.
 */
#include "api/tracking/hit_recorder.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <microhttpd.h>
#include <string.h>

enum { TOKEN_MAX_BYTES = 2000 };

static const char link_prefix[] = "/c/";
static const char open_prefix[] = "/o/";
enum { PREFIX_BYTES = sizeof(link_prefix) - 1 };

/* A transparent GIF of one pixel. */
static const char picture[] =
    "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\x00\x00\x00\x00\x2c\x00\x00"
    "\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";
enum { PICTURE_BYTES = sizeof(picture) - 1 };
_Static_assert(PICTURE_BYTES == 43, "the smallest transparent GIF");

#define PAGE(title, text)                                                                                                          \
    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"       \
    "<title>" title "</title></head><body><h1>" title "</h1><p>" text "</p></body></html>"

struct tracking_state {
    struct http_exchange *exchange;
    struct hit_request request;
    struct visitor visitor;
};

static bool path_begins(const struct http_exchange *exchange, const char *prefix)
{
    return exchange->path_size > PREFIX_BYTES && memcmp(exchange->target, prefix, PREFIX_BYTES) == 0;
}

bool tracking_path(const struct http_exchange *exchange)
{
    return path_begins(exchange, link_prefix) || path_begins(exchange, open_prefix);
}

/* ---- Answers ---- */

static void add_headers(struct http_exchange *exchange)
{
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_add_header(exchange, "referrer-policy", "no-referrer");
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_add_header(exchange, "x-robots-tag", "noindex, nofollow");
}

static void answer_page(struct http_exchange *exchange, int status, const char *page)
{
    add_headers(exchange);
    http_exchange_add_header(exchange, "content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    http_exchange_answer(exchange, status, "text/html; charset=utf-8", page, strlen(page));
}

static void answer_later(struct http_exchange *exchange, int status)
{
    http_exchange_add_header(exchange, "retry-after", "5");
    answer_page(exchange, status, PAGE("Please try again", "This link cannot be followed now. Please try again in a moment."));
}

static void answer_not_found(struct http_exchange *exchange)
{
    answer_page(exchange, MHD_HTTP_NOT_FOUND,
                PAGE("Link not found",
                     "This link is incomplete, or it is not a link of this server. Please open it from the message again."));
}

static void answer_hit(struct tracking_state *state)
{
    struct http_exchange *exchange = state->exchange;
    switch (state->request.answer) {
    case HIT_REDIRECT:
        add_headers(exchange);
        http_exchange_add_header(exchange, "location", state->request.target);
        http_exchange_answer(exchange, MHD_HTTP_FOUND, NULL, "", 0);
        return;
    case HIT_PICTURE:
        add_headers(exchange);
        http_exchange_answer(exchange, MHD_HTTP_OK, "image/gif", picture, PICTURE_BYTES);
        return;
    case HIT_NOT_FOUND:
        (void)visitor_take(exchange, &state->visitor, VISITOR_UNITS_OF_WRONG_LINK);
        answer_not_found(exchange);
        return;
    case HIT_LATER:
        answer_later(exchange, MHD_HTTP_SERVICE_UNAVAILABLE);
        return;
    }
}

static void on_answer(struct hit_request *request)
{
    struct tracking_state *state = request->context;
    struct http_exchange *exchange = state->exchange;
    pthread_mutex_lock(&exchange->lock);
    answer_hit(state);
    pthread_mutex_unlock(&exchange->lock);
    http_exchange_unref(exchange);
}

/* ---- From the request to the hit ---- */

static void tracking_begin(struct http_exchange *exchange)
{
    struct tracking_state *state = arena_alloc(exchange->arena, sizeof(*state));
    state->exchange = exchange;
    exchange->endpoint_state = state;
    exchange->max_body_bytes = 0;
}

static bool check_tracking_request(struct tracking_state *state)
{
    struct http_exchange *exchange = state->exchange;
    if (strcmp(exchange->method, "GET") != 0 && strcmp(exchange->method, "HEAD") != 0) {
        http_exchange_log_refusal(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        http_exchange_add_header(exchange, "allow", "GET, HEAD");
        answer_page(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, PAGE("Not allowed", "This is a link to follow."));
        return false;
    }
    if (!visitor_take(exchange, &state->visitor, VISITOR_UNITS_OF_REQUEST)) {
        http_exchange_log_refusal(exchange, MHD_HTTP_TOO_MANY_REQUESTS, "RATE_LIMITED");
        answer_later(exchange, MHD_HTTP_TOO_MANY_REQUESTS);
        return false;
    }
    if (exchange->headers.contradictory) {
        http_exchange_log_refusal(exchange, MHD_HTTP_BAD_REQUEST, "INVALID_REQUEST");
        answer_page(exchange, MHD_HTTP_BAD_REQUEST, PAGE("Not understood", "The request could not be understood."));
        return false;
    }
    return true;
}

static void fill_hit_request(struct tracking_state *state)
{
    struct http_exchange *exchange = state->exchange;
    size_t size = exchange->path_size - PREFIX_BYTES;
    state->request = (struct hit_request){
        .arena = exchange->arena,
        .token = arena_dup_bytes(exchange->arena, exchange->target + PREFIX_BYTES, size < TOKEN_MAX_BYTES ? size : 0),
        .is_open = path_begins(exchange, open_prefix),
        .is_head = strcmp(exchange->method, "HEAD") == 0,
        .host = http_exchange_host(exchange),
        .agent = exchange->headers.values[HEADER_USER_AGENT],
        .address = visitor_address(exchange),
        .on_answer = on_answer,
        .context = state,
    };
}

static void tracking_run(struct http_exchange *exchange)
{
    struct tracking_state *state = exchange->endpoint_state;
    state->visitor = visitor_of(exchange);
    if (!check_tracking_request(state))
        return;
    fill_hit_request(state);
    if (hit_recorder_take(exchange->server->hits, &state->request)) {
        if (state->request.answer == HIT_NOT_FOUND)
            http_exchange_log_refusal(exchange, MHD_HTTP_NOT_FOUND, "NOT_FOUND");
        answer_hit(state);
        return;
    }
    http_exchange_ref(exchange); /* until the answer */
    http_exchange_suspend(exchange);
    hit_recorder_follow(exchange->server->hits, &state->request);
}

/* The recorder answers soon, so nothing is given up. */
const struct http_endpoint tracking_endpoint = {
    .begin = tracking_begin,
    .run = tracking_run,
};
