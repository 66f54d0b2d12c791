/*
 * Fixed documents: the OpenAPI description that codegen generated.
 */
#include "api/catalogue.h"
#include "http/server_state.h"

#include <microhttpd.h>
#include <string.h>

static void document_begin(struct http_exchange *exchange)
{
    exchange->max_body_bytes = 0;
}

static void document_run(struct http_exchange *exchange)
{
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    if (!reads) {
        http_exchange_log_refusal(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        http_exchange_add_header(exchange, "allow", "GET, HEAD");
        http_exchange_answer(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, NULL, 0);
        return;
    }
    http_exchange_answer(exchange, MHD_HTTP_OK, "application/json", catalogue_openapi_json, strlen(catalogue_openapi_json));
}

const struct http_endpoint document_endpoint = {
    .begin = document_begin,
    .run = document_run,
};
