/*
 * Error page: /docs/errors, to which the member docs of every error leads. It
 * lists the codes of the contract, each with an anchor of its name. It is plain
 * HTML without a script, a style or another resource.
 */
#include "base/error.h"
#include "http/server_state.h"

#include <microhttpd.h>
#include <string.h>

enum { ERROR_PAGE_MAX_BYTES = 256 * 1024 };

static const char page_head[] = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
                                "<meta name=\"viewport\" content=\"width=device-width\"><title>Errors</title></head>\n<body>\n"
                                "<h1>Errors</h1>\n<p>The member <code>code</code> of an error is one of these.</p>\n<dl>\n";
static const char page_end[] = "</dl>\n</body>\n</html>\n";

static void add_html_text(struct buf *page, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            buf_add_text(page, "&lt;");
        else if (*text == '&')
            buf_add_text(page, "&amp;");
        else
            buf_add_char(page, *text);
    }
}

static void add_error_code(struct buf *page, const struct error_info *info)
{
    buf_printf(page, "<dt id=\"%s\"><a href=\"#%s\"><code>%s</code></a></dt>\n<dd><p>", info->name, info->name, info->name);
    if (info->http_status != 0)
        buf_printf(page, "HTTP status %d, ", info->http_status);
    buf_printf(page, "type <code>%s</code>. %s</p>\n<p>", info->type,
               info->retryable ? "The same request may succeed later." : "The same request fails again.");
    add_html_text(page, info->suggestion);
    buf_add_text(page, "</p></dd>\n");
}

static void error_page_begin(struct http_exchange *exchange)
{
    exchange->max_body_bytes = 0;
}

static void error_page_run(struct http_exchange *exchange)
{
    if (strcmp(exchange->method, "GET") != 0 && strcmp(exchange->method, "HEAD") != 0) {
        http_exchange_log_refusal(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
        http_exchange_add_header(exchange, "allow", "GET, HEAD");
        http_exchange_answer(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, NULL, 0);
        return;
    }
    struct buf *page = buf_in_arena(exchange->arena, ERROR_PAGE_MAX_BYTES);
    buf_add_text(page, page_head);
    for (unsigned code = ERR_NONE + 1; code < ERROR_CODE_COUNT; code++)
        add_error_code(page, error_info((enum error_code)code));
    buf_add_text(page, page_end);
    http_exchange_add_header(exchange, "content-security-policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
    http_exchange_add_header(exchange, "x-content-type-options", "nosniff");
    http_exchange_answer(exchange, MHD_HTTP_OK, "text/html; charset=utf-8", buf_text(page), page->size);
}

const struct http_endpoint error_page_endpoint = {
    .begin = error_page_begin,
    .run = error_page_run,
};
