#include "cli/http.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { CONNECT_TIMEOUT_S = 10, CALL_TIMEOUT_S = 330, ATTEMPTS = 3, PAUSE_MS = 500, PROGRESS_DELAY_S = 1 };

/* A running transfer. */
struct transfer {
    struct progress_bar bar;
    int64_t begun_us;
    bool was_sent;
};

const char *http_url(struct arena *arena, const char *server, const char *path)
{
    size_t size = strlen(server);
    while (size > 0 && server[size - 1] == '/')
        size--;
    return arena_printf(arena, "%.*s%s", (int)size, server, path);
}

static void free_headers(void *headers)
{
    curl_slist_free_all(headers);
}

/* A line break would start another header, so it is refused. */
static bool make_headers(struct arena *arena, const struct http_request *request, struct curl_slist **ret_headers,
                         struct error *err)
{
    struct curl_slist *headers = NULL;
    for (size_t i = 0; i < HTTP_HEADERS_MAX; i++) {
        const char *line = request->headers[i];
        if (line != NULL && strpbrk(line, "\r\n") != NULL) {
            curl_slist_free_all(headers);
            return fail(err, ERR_INVALID_REQUEST, NULL, "%.*s must be one line.", (int)strcspn(line, ":"), line);
        }
        if (line != NULL)
            headers = curl_slist_append(headers, line);
    }
    if (headers != NULL)
        arena_defer(arena, free_headers, headers);
    *ret_headers = headers;
    return true;
}

static size_t on_body_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct buf *answer = context;
    buf_add(answer, bytes, size * count);
    return answer->overflowed ? 0 : size * count;
}

/* The server reports no progress, so only the elapsed time is shown. A result other than 0 aborts the transfer. */
static int on_transfer_progress(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    struct transfer *transfer = context;
    int64_t passed_s = (clock_monotonic_us() - transfer->begun_us) / US_PER_S;
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    if (passed_s >= PROGRESS_DELAY_S) {
        char note[48];
        snprintf(note, sizeof(note), "Waiting for the server, %lld s", (long long)passed_s);
        progress_draw(&transfer->bar, 0, 0, note);
    }
    return interrupt_received() ? 1 : 0;
}

static CURLcode perform_transfer(struct transfer *transfer, CURL *curl, struct http_answer *answer)
{
    long status = 0;
    long sent_bytes = 0;
    curl_off_t retry_after_s = 0;
    buf_clear(answer->body);
    transfer->begun_us = clock_monotonic_us();
    transfer->bar = progress_begin();
    CURLcode code = curl_easy_perform(curl);
    progress_end(&transfer->bar);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent_bytes);
    transfer->was_sent = transfer->was_sent || sent_bytes > 0;
    answer->status = (int)status;
    answer->retry_after_s = retry_after_s;
    return code;
}

static bool is_connection_lost(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_PARTIAL_FILE;
}

static void close_client(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

bool http_send(struct arena *arena, const struct http_request *request, struct http_answer *ret_answer, struct error *err)
{
    CLEANUP(close_client) CURL *curl = curl_easy_init();
    struct curl_slist *headers;
    struct transfer transfer = { .was_sent = false };
    if (curl == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The HTTP client cannot start.");
    if (!make_headers(arena, request, &headers, err))
        return false;
    *ret_answer = (struct http_answer){ .body = buf_in_arena(arena, HTTP_ANSWER_MAX_BYTES) };
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    if (request->body != NULL)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret_answer->body);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_transfer_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)CALL_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "posthorn-cli");
    CURLcode code = perform_transfer(&transfer, curl, ret_answer);
    for (int attempt = 1; attempt < ATTEMPTS && request->may_repeat && is_connection_lost(code) && !interrupt_received();
         attempt++) {
        interrupt_pause_ms(PAUSE_MS);
        code = perform_transfer(&transfer, curl, ret_answer);
    }
    if (code == CURLE_OK)
        return true;
    if (ret_answer->body->overflowed)
        return fail(err, ERR_RESPONSE_TOO_LARGE, NULL, "%.200s answered with more than %d MiB; request less.", request->server,
                    HTTP_ANSWER_MAX_BYTES >> 20);
    return fail(err, ERR_SERVICE_UNAVAILABLE, "url", "%.200s does not answer: %s.%s", request->server,
                interrupt_received() ? "interrupted" : curl_easy_strerror(code),
                transfer.was_sent && request->doubt != NULL ? request->doubt : "");
}
