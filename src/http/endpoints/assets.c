/*
 * Hosted images: GET and HEAD of /assets/NAME, public, without a key, a brand
 * or the database. A name identifies its bytes, so a response may be cached for
 * ever; mail providers' image proxies do so.
 *
 * The owner of the server maps a name to a file (`open_asset`) and accepts only
 * names of its own form. This endpoint never turns a path into a file name.
 */
#include "http/server_state.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 100, ETAG_BYTES = NAME_MAX_BYTES + 3 };

static const char prefix[] = "/assets/";

bool asset_path(const struct http_exchange *exchange)
{
    size_t size = strlen(prefix);
    return exchange->path_size > size && memcmp(exchange->target, prefix, size) == 0;
}

static void asset_begin(struct http_exchange *exchange)
{
    exchange->max_body_bytes = 0;
}

static void refuse_asset(struct http_exchange *exchange, int status, const char *code)
{
    http_exchange_log_refusal(exchange, status, code);
    http_exchange_add_header(exchange, "cache-control", "no-store");
    http_exchange_answer(exchange, status, NULL, NULL, 0);
}

/* True when If-None-Match (RFC 9110 §13.1.2) contains the etag. */
static bool client_has(const struct http_exchange *exchange, const char *etag)
{
    const char *known = exchange->headers.values[HEADER_IF_NONE_MATCH];
    return known != NULL && (strcmp(known, "*") == 0 || strstr(known, etag) != NULL);
}

/* These headers make browsers use the declared type, show the file on its own and run nothing in it. */
static void add_asset_headers(struct http_exchange *exchange, const char *etag)
{
    http_exchange_add_header(exchange, "cache-control", "public, max-age=31536000, immutable");
    http_exchange_add_header(exchange, "etag", etag);
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_add_header(exchange, "content-security-policy", "default-src 'none'; sandbox");
    http_exchange_add_header(exchange, "content-disposition", "inline");
    http_exchange_add_header(exchange, "cross-origin-resource-policy", "cross-origin");
}

static void asset_run(struct http_exchange *exchange)
{
    const struct http_server *server = exchange->server;
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    if (!reads) {
        http_exchange_add_header(exchange, "allow", "GET, HEAD");
        refuse_asset(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        return;
    }
    size_t size = exchange->path_size - strlen(prefix);
    const char *name = size <= NAME_MAX_BYTES ? arena_dup_bytes(exchange->arena, exchange->target + strlen(prefix), size) : "";
    struct http_asset asset;
    if (!server->open_asset(server->assets_context, name, &asset)) {
        refuse_asset(exchange, MHD_HTTP_NOT_FOUND, "NOT_FOUND");
        return;
    }
    const char *etag = arena_printf(exchange->arena, "\"%s\"", name);
    add_asset_headers(exchange, etag);
    if (client_has(exchange, etag)) {
        close(asset.fd);
        http_exchange_answer(exchange, MHD_HTTP_NOT_MODIFIED, NULL, NULL, 0);
        return;
    }
    http_exchange_answer_file(exchange, asset.content_type, asset.fd, asset.bytes);
}

const struct http_endpoint asset_endpoint = {
    .begin = asset_begin,
    .run = asset_run,
};
