/*
 * Client of rspamd: POST /checkv2 with the message as body, and GET /ping. The
 * version is in the header Server.
 */
#include "spam/filter.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_MS = 5000, HEADERS_MAX_BYTES = 32 * 1024, URL_MAX_BYTES = 400, STATUS_OK = 200 };

struct rspamd_exchange {
    struct arena *arena;
    CURL *curl;
    struct spam_patience patience;
    const char *url;
    struct bytes message; /* data NULL: a GET */
    struct buf *answer;
    size_t header_bytes;
    const char *version; /* NULL: not told */
};

/* ---- Callbacks of libcurl; a value of 0 ends the transfer ---- */

static size_t on_rspamd_header(char *line, size_t one, size_t size, void *context)
{
    static const char server[] = "server: rspamd/";
    struct rspamd_exchange *exchange = context;
    (void)one;
    exchange->header_bytes += size;
    if (size > strlen(server) && strncasecmp(line, server, strlen(server)) == 0) {
        const char *version = arena_dup_bytes(exchange->arena, line + strlen(server), size - strlen(server));
        exchange->version = spam_text(exchange->arena, version, SPAM_NAME_MAX_BYTES / 4);
    }
    return exchange->header_bytes <= HEADERS_MAX_BYTES ? size : 0;
}

static size_t on_rspamd_body(char *bytes, size_t one, size_t size, void *context)
{
    struct rspamd_exchange *exchange = context;
    (void)one;
    buf_add(exchange->answer, bytes, size);
    return exchange->answer->overflowed ? 0 : size;
}

static int on_rspamd_progress(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    const struct rspamd_exchange *exchange = context;
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    return spam_is_stopped(&exchange->patience) ? 1 : 0;
}

/* ---- One request ---- */

static void set_rspamd_options(struct rspamd_exchange *exchange, struct curl_slist *headers)
{
    CURL *curl = exchange->curl;
    int64_t left_ms = (exchange->patience.until_us - clock_monotonic_us()) / US_PER_MS;
    curl_easy_setopt(curl, CURLOPT_URL, exchange->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "Posthorn/" POSTHORN_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (exchange->message.data != NULL) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->message.size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, exchange->message.data);
    }
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_rspamd_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_rspamd_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_rspamd_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, exchange);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left_ms > 0 ? left_ms : 1));
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server that does not respond */
}

static void free_rspamd_headers(struct curl_slist **headers)
{
    curl_slist_free_all(*headers);
}

static void close_rspamd(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

static struct curl_slist *with_header(struct curl_slist *headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(headers, line);
    if (longer == NULL)
        panic(PANIC_NO_MEMORY);
    return longer;
}

static bool run_rspamd_exchange(struct rspamd_exchange *exchange, struct error *err)
{
    CLEANUP(close_rspamd) CURL *curl = curl_easy_init();
    CLEANUP(free_rspamd_headers) struct curl_slist *headers = with_header(NULL, "content-type: message/rfc822");
    headers = with_header(headers, "expect:"); /* no round trip before the body */
    if (curl == NULL)
        panic(PANIC_NO_MEMORY);
    exchange->curl = curl;
    exchange->answer = buf_in_arena(exchange->arena, SPAM_ANSWER_MAX_BYTES);
    set_rspamd_options(exchange, headers);
    CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (exchange->answer->overflowed)
        return spam_fail(err, "its answer is too large");
    if (code != CURLE_OK)
        return spam_fail(err, "%s", spam_connection_problem(code));
    return status == STATUS_OK || spam_fail(err, "rspamd answered %ld", status);
}

/* ---- Calls ---- */

bool rspamd_check(const struct spam_filter *filter, struct arena *arena, struct bytes message, struct spam_patience patience,
                  struct spam_verdict *ret_verdict, struct spam_rule *rules, struct error *err)
{
    struct rspamd_exchange exchange = {
        .arena = arena,
        .patience = patience,
        .url = arena_printf(arena, "%s/checkv2", filter->url),
        .message = message,
    };
    if (!run_rspamd_exchange(&exchange, err))
        return false;
    ret_verdict->version = exchange.version;
    return rspamd_answer_read(arena, buf_text(exchange.answer), exchange.answer->size, ret_verdict, rules, err);
}

bool rspamd_ping(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience, const char **ret_version,
                 struct error *err)
{
    struct rspamd_exchange exchange = {
        .arena = arena,
        .patience = patience,
        .url = arena_printf(arena, "%s/ping", filter->url),
    };
    if (!run_rspamd_exchange(&exchange, err))
        return false;
    *ret_version = exchange.version;
    return text_starts_with(buf_text(exchange.answer), "pong") || spam_fail(err, "its answer is not one of rspamd");
}
