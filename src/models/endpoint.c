#include "models/endpoint.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    HEADERS_MAX_BYTES = 32 * 1024,
    POLL_MS = 200,
    CONNECT_MS = 15 * 1000,
    FIRST_BACKOFF_MS = 500,
    REASON_BYTES = 120,
    STATUS_FIRST_FINAL = 200,
};

static const char user_agent[] = "Posthorn/" POSTHORN_VERSION;

/* One attempt. */
struct attempt {
    const struct endpoint_request *request;
    CURL *curl;
    struct buf *body;
    size_t max_bytes;
    size_t header_bytes;
    bool is_too_large;
    long status;
    int64_t retry_after_ms; /* -1: not given */
    char reason[REASON_BYTES];
};

enum outcome { OUTCOME_ANSWER, OUTCOME_TRY_AGAIN, OUTCOME_FAILED };

/* ---- Callbacks of libcurl ---- */

static bool line_begins(const char *line, size_t size, const char *name)
{
    size_t name_size = strlen(name);
    return size > name_size && strncasecmp(line, name, name_size) == 0;
}

/* A value of 0 from a callback aborts the transfer. */
static size_t on_endpoint_header(char *line, size_t one, size_t size, void *context)
{
    static const char coding[] = "content-encoding:";
    struct attempt *attempt = context;
    (void)one;
    attempt->header_bytes += size;
    if (attempt->header_bytes > HEADERS_MAX_BYTES) {
        snprintf(attempt->reason, sizeof(attempt->reason), "the headers of its answer are too large");
        return 0;
    }
    if (line_begins(line, size, coding) && memmem(line, size, "identity", strlen("identity")) == NULL) {
        snprintf(attempt->reason, sizeof(attempt->reason), "its answer is compressed, which the request did not allow");
        return 0;
    }
    return size;
}

static size_t on_endpoint_body(char *bytes, size_t one, size_t size, void *context)
{
    struct attempt *attempt = context;
    (void)one;
    if (attempt->body->size + size > attempt->max_bytes) {
        attempt->is_too_large = true;
        return 0;
    }
    buf_add(attempt->body, bytes, size);
    return size;
}

static int on_endpoint_progress(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    const struct endpoint_request *request = context;
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    return request->should_stop != NULL && request->should_stop(request->context) ? 1 : 0;
}

/* ---- One attempt ---- */

static void set_endpoint_options(struct attempt *attempt, struct curl_slist *headers)
{
    const struct endpoint_request *request = attempt->request;
    CURL *curl = attempt->curl;
    int64_t left_ms = (request->until_us - clock_monotonic_us()) / US_PER_MS;
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, user_agent);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_endpoint_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_endpoint_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_endpoint_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, (void *)(uintptr_t)request);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left_ms > 0 ? left_ms : 1));
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server that does not respond */
}

static bool asks_for_patience(long status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504 || status == 529;
}

static enum outcome outcome_of_status(struct attempt *attempt)
{
    long status = attempt->status;
    snprintf(attempt->reason, sizeof(attempt->reason), "it answered %ld", status);
    if (status >= 300 && status < 400)
        snprintf(attempt->reason, sizeof(attempt->reason), "it answered with a redirect, which is not followed");
    if (status < STATUS_FIRST_FINAL || (status >= 300 && status < 400))
        return OUTCOME_FAILED;
    return asks_for_patience(status) ? OUTCOME_TRY_AGAIN : OUTCOME_ANSWER;
}

static enum outcome set_reason(struct attempt *attempt, enum outcome outcome, const char *reason)
{
    if (attempt->reason[0] == '\0')
        snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    return outcome;
}

static enum outcome outcome_of_code(struct attempt *attempt, CURLcode code)
{
    if (attempt->is_too_large)
        return set_reason(attempt, OUTCOME_FAILED, "its answer is too large");
    switch ((int)code) {
    case CURLE_OK:
        return outcome_of_status(attempt);
    case CURLE_OPERATION_TIMEDOUT:
        return set_reason(attempt, clock_monotonic_us() < attempt->request->until_us ? OUTCOME_TRY_AGAIN : OUTCOME_FAILED,
                          "it took too long");
    case CURLE_ABORTED_BY_CALLBACK:
        return set_reason(attempt, OUTCOME_FAILED, "the call was stopped");
    case CURLE_COULDNT_RESOLVE_HOST:
        return set_reason(attempt, OUTCOME_TRY_AGAIN, "its name cannot be resolved");
    case CURLE_COULDNT_CONNECT:
        return set_reason(attempt, OUTCOME_TRY_AGAIN, "it cannot be reached");
    case CURLE_PEER_FAILED_VERIFICATION:
        return set_reason(attempt, OUTCOME_FAILED, "its certificate cannot be trusted");
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return set_reason(attempt, OUTCOME_TRY_AGAIN, "its answer was cut short");
    default:
        return set_reason(attempt, OUTCOME_FAILED, "it sent no valid response");
    }
}

static void free_headers(struct curl_slist **headers)
{
    curl_slist_free_all(*headers);
}

static void add_header(struct curl_slist **headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer == NULL)
        panic(PANIC_NO_MEMORY);
    *headers = longer;
}

static enum outcome run_attempt(struct attempt *attempt)
{
    CLEANUP(free_headers) struct curl_slist *headers = NULL;
    curl_off_t retry_after_s = 0;
    add_header(&headers, "content-type: application/json");
    add_header(&headers, "accept: application/json");
    add_header(&headers, "expect:"); /* no round trip before the body */
    for (size_t i = 0; attempt->request->headers != NULL && attempt->request->headers[i] != NULL; i++)
        add_header(&headers, attempt->request->headers[i]);
    buf_clear(attempt->body);
    attempt->header_bytes = 0;
    attempt->reason[0] = '\0';
    set_endpoint_options(attempt, headers);
    CURLcode code = curl_easy_perform(attempt->curl);
    curl_easy_getinfo(attempt->curl, CURLINFO_RESPONSE_CODE, &attempt->status);
    curl_easy_getinfo(attempt->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    attempt->retry_after_ms = retry_after_s > 0 ? (int64_t)retry_after_s * 1000 : -1;
    return outcome_of_code(attempt, code);
}

/* ---- Attempts ---- */

static void init_libcurl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool is_stopped(const struct endpoint_request *request)
{
    return request->should_stop != NULL && request->should_stop(request->context);
}

/* Waits before the next attempt; false: the deadline would pass. */
static bool wait_for_attempt(const struct attempt *attempt, int tried)
{
    int64_t wait_ms = attempt->retry_after_ms >= 0 ? attempt->retry_after_ms : (int64_t)FIRST_BACKOFF_MS << (tried - 1);
    int64_t until_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    if (until_us >= attempt->request->until_us)
        return false;
    while (clock_monotonic_us() < until_us && !is_stopped(attempt->request)) {
        int64_t left_ms = (until_us - clock_monotonic_us()) / US_PER_MS + 1;
        struct timespec pause = { .tv_nsec = (long)((left_ms < POLL_MS ? left_ms : POLL_MS) * 1000 * 1000) };
        nanosleep(&pause, NULL);
    }
    return !is_stopped(attempt->request);
}

static void close_client(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

static enum outcome run_attempts(struct attempt *attempt, int *ret_tried)
{
    for (*ret_tried = 1;; ++*ret_tried) {
        enum outcome outcome = run_attempt(attempt);
        if (outcome != OUTCOME_TRY_AGAIN || *ret_tried == ENDPOINT_ATTEMPTS_MAX)
            return outcome;
        if (!wait_for_attempt(attempt, *ret_tried))
            return outcome;
    }
}

static void read_endpoint_body(struct arena *arena, const struct buf *body, struct endpoint_answer *answer)
{
    struct error ignored = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = body->size, .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    const json_t *json = NULL;
    answer->size = body->size;
    if (json_read(arena, buf_text(body), body->size, bounds, &json, &ignored) && json_is_object(json))
        answer->json = json;
}

bool endpoint_post(struct arena *arena, const struct endpoint_request *request, struct endpoint_answer *ret_answer,
                   struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_libcurl);
    size_t max_bytes = request->max_bytes > 0 ? request->max_bytes : ENDPOINT_ANSWER_MAX_BYTES;
    CLEANUP(close_client) CURL *curl = curl_easy_init();
    if (curl == NULL)
        panic(PANIC_NO_MEMORY);
    BUF_SCOPE body;
    buf_init(&body, max_bytes + 1);
    struct attempt attempt = { .request = request, .curl = curl, .body = &body, .max_bytes = max_bytes };
    *ret_answer = (struct endpoint_answer){ .status = 0 };
    enum outcome outcome = run_attempts(&attempt, &ret_answer->attempts);
    if (outcome != OUTCOME_ANSWER)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The server that the operator named gave no answer: %s.", attempt.reason);
    ret_answer->status = (int)attempt.status;
    read_endpoint_body(arena, &body, ret_answer);
    return true;
}
