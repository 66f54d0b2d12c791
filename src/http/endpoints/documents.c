/*
 * Fixed documents: the OpenAPI description that codegen made.
 */
#include "api/catalogue.h"
#include "http/server_state.h"

#include <microhttpd.h>
#include <string.h>

static void document_begin(struct exchange *exchange)
{
    exchange->max_body_bytes = 0;
}

static void document_run(struct exchange *exchange)
{
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    if (!reads) {
        exchange_log_refusal(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        exchange_add_header(exchange, "allow", "GET, HEAD");
        exchange_answer(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, NULL, 0);
        return;
    }
    exchange_answer(exchange, MHD_HTTP_OK, "application/json", catalogue_openapi_json, strlen(catalogue_openapi_json));
}

const struct http_door document_door = {
    .begin = document_begin,
    .run = document_run,
};
