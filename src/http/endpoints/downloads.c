/*
 * Signed links: GET and HEAD of /downloads/TOKEN (the rejected rows of an
 * import) and /previews/TOKEN (the picture of a preview), for everyone with the
 * link. The token names the file and its owner. An invalid token gets the same
 * response as a missing file.
 */
#include "api/call.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <microhttpd.h>
#include <string.h>

enum { TOKEN_MAX_BYTES = 200 };

/* What a link leads to. */
struct download_kind {
    const char *prefix;
    const struct operation *const *candidates;
    const char *member; /* of the answer */
    void (*answer)(struct http_exchange *exchange, const char *text);
};

struct download_state {
    struct http_exchange *exchange;
    const struct download_kind *kind;
    struct call call;
    bool abandoned; /* under the exchange's lock */
};

static void answer_status(struct http_exchange *exchange, int status)
{
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_answer(exchange, status, NULL, NULL, 0);
}

static void refuse_download(struct http_exchange *exchange, int status, const char *code)
{
    http_exchange_log_refusal(exchange, status, code);
    answer_status(exchange, status);
}

/* The browser saves the file and never shows it, whatever its content looks like. */
static void answer_csv(struct http_exchange *exchange, const char *text)
{
    http_exchange_add_header(exchange, "cache-control", "private, no-store");
    http_exchange_add_header(exchange, "content-disposition", "attachment; filename=\"import-errors.csv\"");
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_add_header(exchange, "content-security-policy", "default-src 'none'; sandbox");
    http_exchange_answer(exchange, MHD_HTTP_OK, "text/csv; charset=utf-8", text, strlen(text));
}

static void answer_png(struct http_exchange *exchange, const char *text)
{
    size_t size;
    const unsigned char *png = base64_decode(exchange->arena, text, &size);
    if (png == NULL) {
        answer_status(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }
    http_exchange_add_header(exchange, "cache-control", "private, max-age=3600");
    http_exchange_add_header(exchange, "content-disposition", "inline");
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_add_header(exchange, "content-security-policy", "default-src 'none'; sandbox");
    http_exchange_add_header(exchange, "cross-origin-resource-policy", "cross-origin");
    http_exchange_answer(exchange, MHD_HTTP_OK, "image/png", (const char *)png, size);
}

static const struct download_kind kinds[] = {
    { "/downloads/", api_signed_download, "csv", answer_csv },
    { "/previews/", api_signed_preview, "png", answer_png },
};

/* The kind of a path, or NULL. */
static const struct download_kind *kind_of(const struct http_exchange *exchange)
{
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        size_t size = strlen(kinds[i].prefix);
        if (exchange->path_size > size && memcmp(exchange->target, kinds[i].prefix, size) == 0)
            return &kinds[i];
    }
    return NULL;
}

bool download_path(const struct http_exchange *exchange)
{
    return kind_of(exchange) != NULL;
}

static const char *text_of(struct arena *arena, const struct buf *body, const char *member)
{
    const json_t *json;
    struct error ignored = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = body->size };
    bool is_read = json_read(arena, buf_text(body), body->size, bounds, &json, &ignored);
    return is_read ? json_get_text(json, member) : NULL;
}

static void on_download_completed(struct call *call)
{
    struct download_state *download = call->transport_data;
    struct http_exchange *exchange = download->exchange;
    pthread_mutex_lock(&exchange->lock);
    bool abandoned = download->abandoned;
    if (call->ok && !abandoned)
        http_exchange_hold(exchange, 2 * call->reply.body->capacity); /* and its tree, which is hardly more than the text */
    const char *text = call->ok && !abandoned ? text_of(exchange->arena, call->reply.body, download->kind->member) : NULL;
    if (text != NULL)
        download->kind->answer(exchange, text);
    else if (!abandoned)
        answer_status(exchange, call->ok ? MHD_HTTP_INTERNAL_SERVER_ERROR : error_info(call->error.code)->http_status);
    pthread_mutex_unlock(&exchange->lock);
    if (abandoned)
        http_exchange_unref(exchange);
}

static void download_begin(struct http_exchange *exchange)
{
    struct download_state *download = arena_alloc(exchange->arena, sizeof(*download));
    download->exchange = exchange;
    download->kind = kind_of(exchange);
    exchange->endpoint_state = download;
    exchange->max_body_bytes = 0;
}

/* The caller is unknown, so that its address counts. */
static bool download_has_room(struct call *call, struct error *err)
{
    const struct download_state *download = call->transport_data;
    return http_exchange_has_room(download->exchange, 0, err);
}

static void fill_download_call(struct download_state *download, const char *token)
{
    struct arena *arena = download->exchange->arena;
    json_t *body = json_in_arena(arena, json_object());
    json_object_set_new(body, "token", json_string(token));
    download->call = (struct call){
        .arena = arena,
        .transport = TRANSPORT_REST,
        .caller = { .is_remote = true },
        .candidates = download->kind->candidates,
        .input = { .flat = true, .body = body },
        .request_id = api_request_id(arena),
        .has_room = download_has_room,
        .on_completed = on_download_completed,
        .transport_data = download,
        .credit_cost = -1,
    };
}

static void download_run(struct http_exchange *exchange)
{
    struct download_state *download = exchange->endpoint_state;
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    if (!reads) {
        http_exchange_add_header(exchange, "allow", "GET, HEAD");
        refuse_download(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        return;
    }
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t skipped = strlen(download->kind->prefix);
    size_t size = exchange->path_size - skipped;
    const char *token = arena_dup_bytes(exchange->arena, exchange->target + skipped, size);
    if (size > TOKEN_MAX_BYTES || strspn(token, letters) != size) {
        refuse_download(exchange, MHD_HTTP_NOT_FOUND, "NOT_FOUND");
        return;
    }
    fill_download_call(download, token);
    exchange->answer_share.address = visitor_number(exchange);
    if (!api_is_immediate(exchange->server->api, &download->call))
        http_exchange_suspend(exchange);
    api_submit(exchange->server->api, &download->call);
}

/* Cancelling holds the lock, so that `on_completed` cannot return meanwhile (as in rest.c). */
static void download_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct download_state *download = exchange->endpoint_state;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED && reason == GIVE_UP_ABANDON) {
        download->abandoned = true;
        http_exchange_abandon(exchange);
        answer_status(exchange, MHD_HTTP_SERVICE_UNAVAILABLE);
    } else if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        http_exchange_cancel(exchange->server->api, &download->call, reason);
    }
    pthread_mutex_unlock(&exchange->lock);
}

const struct http_endpoint download_endpoint = {
    .begin = download_begin,
    .run = download_run,
    .give_up = download_give_up,
};
