#include "cli/rest.h"

#include "api/call.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "cli/interrupt.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum {
    ANSWER_MAX_BYTES = 64 * 1024 * 1024,
    CONNECT_TIMEOUT_S = 10,
    CALL_TIMEOUT_S = 330,
    ATTEMPTS = 3,
    PAUSE_MS = 500,
    SOON_S = 1
};

/* ---- The request ---- */

static void add_path(struct buf *target, struct arena *arena, const struct arguments *arguments)
{
    for (const char *at = arguments->op->path; *at != '\0';) {
        size_t plain = strcspn(at, "{");
        buf_add(target, at, plain);
        at += plain;
        if (*at == '\0')
            return;
        size_t size = strcspn(++at, "}");
        buf_add_text(target, percent_encode(arena, json_string_value(json_object_getn(arguments->path, at, size))));
        at += size + 1;
    }
}

static const char *query_value(struct arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (!json_is_array(value))
        return json_compact(arena, value);
    const char *words = "";
    for (size_t i = 0; i < json_array_size(value); i++)
        words = arena_printf(arena, "%s%s%s", words, i > 0 ? "," : "", json_string_value(json_array_get(value, i)));
    return words;
}

static const char *make_target(const struct rest *rest, struct arena *arena, const struct arguments *arguments)
{
    struct buf *target = buf_in_arena(arena, ANSWER_MAX_BYTES);
    size_t size = strlen(rest->url);
    buf_add(target, rest->url, size - (size > 0 && rest->url[size - 1] == '/'));
    add_path(target, arena, arguments);
    char separator = '?';
    const char *name;
    json_t *value;
    json_object_foreach(arguments->query, name, value)
    {
        if (json_is_null(value))
            continue;
        buf_printf(target, "%c%s=%s", separator, name, percent_encode(arena, query_value(arena, value)));
        separator = '&';
    }
    return buf_text(target);
}

static void free_headers(void *headers)
{
    curl_slist_free_all(headers);
}

static struct curl_slist *make_headers(const struct rest *rest, struct arena *arena, const char *idempotency_key)
{
    const char *lines[] = {
        "Content-Type: application/json",
        "Accept: application/json",
        "Expect:",
        rest->key != NULL ? arena_printf(arena, "X-API-Key: %s", rest->key) : NULL,
        rest->brand != NULL ? arena_printf(arena, "X-Brand-Id: %s", rest->brand) : NULL,
        idempotency_key != NULL ? arena_printf(arena, "Idempotency-Key: %s", idempotency_key) : NULL,
    };
    struct curl_slist *headers = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        if (lines[i] != NULL)
            headers = curl_slist_append(headers, lines[i]);
    if (headers != NULL)
        arena_defer(arena, free_headers, headers);
    return headers;
}

/* A line break in a header would begin another one. */
static bool check_headers(const struct rest *rest, struct error *err)
{
    const struct {
        const char *flag;
        const char *value;
    } values[] = { { "--key", rest->key }, { "--brand", rest->brand }, { "--idempotency-key", rest->idempotency_key } };
    for (size_t i = 0; i < ARRAY_COUNT(values); i++)
        if (values[i].value != NULL && strpbrk(values[i].value, "\r\n") != NULL)
            return fail(err, ERR_INVALID_REQUEST, NULL, "%s must be one line.", values[i].flag);
    return true;
}

/* ---- The transfer ---- */

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct buf *answer = context;
    buf_add(answer, bytes, size * count);
    return answer->overflowed ? 0 : size * count;
}

/* REST tells nothing while it works, so only the time that passes is shown. Not 0 ends the transfer. */
static int look_up(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    struct rest *rest = context;
    int64_t passed_s = (clock_monotonic_us() - rest->begun_us) / US_PER_S;
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    if (passed_s >= SOON_S) {
        char note[48];
        snprintf(note, sizeof(note), "Waiting for the server, %lld s", (long long)passed_s);
        progress_draw(&rest->bar, 0, 0, note);
    }
    return interrupt_came() ? 1 : 0;
}

static CURLcode transfer(struct rest *rest, CURL *curl, struct buf *answer, struct rest_answer *ret_answer)
{
    long status = 0;
    curl_off_t retry_after_s = 0;
    buf_clear(answer);
    rest->begun_us = clock_monotonic_us();
    CURLcode code = curl_easy_perform(curl);
    progress_end(&rest->bar);
    rest->bar.is_drawn = false;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    *ret_answer = (struct rest_answer){ .status = (int)status, .retry_after_s = retry_after_s };
    return code;
}

static bool is_lost(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_PARTIAL_FILE;
}

static void close_client(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

static bool ask(struct rest *rest, struct arena *arena, const struct arguments *arguments, struct curl_slist *headers,
                bool may_repeat, struct buf *answer, struct rest_answer *ret_answer, struct error *err)
{
    CLEANUP(close_client) CURL *curl = curl_easy_init();
    if (curl == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The HTTP client cannot start.");
    curl_easy_setopt(curl, CURLOPT_URL, make_target(rest, arena, arguments));
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, arguments->op->method);
    bool may_have_body = strcmp(arguments->op->method, "GET") != 0 && strcmp(arguments->op->method, "DELETE") != 0;
    if (may_have_body)
        curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, arguments->has_body ? json_compact(arena, arguments->body) : "");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, rest);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)CALL_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "posthorn-cli");
    CURLcode code = transfer(rest, curl, answer, ret_answer);
    for (int attempt = 1; attempt < ATTEMPTS && may_repeat && is_lost(code) && !interrupt_came(); attempt++) {
        interrupt_pause_ms(PAUSE_MS);
        code = transfer(rest, curl, answer, ret_answer);
    }
    if (code == CURLE_OK)
        return true;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%.200s does not answer: %s.", rest->url,
                interrupt_came() ? "interrupted" : curl_easy_strerror(code));
}

bool rest_call(struct rest *rest, struct arena *arena, const struct arguments *arguments, struct rest_answer *ret_answer,
               struct error *err)
{
    const struct operation *op = arguments->op;
    bool has_key = op->idempotent_key && strcmp(op->method, "POST") == 0;
    const char *key = has_key && rest->idempotency_key == NULL ? api_request_id(arena) : rest->idempotency_key;
    bool may_repeat = has_key || op->mode == OP_READ || op->mode == OP_MEMORY;
    struct buf *answer = buf_in_arena(arena, ANSWER_MAX_BYTES);
    struct json_bounds bounds = { .max_bytes = ANSWER_MAX_BYTES };
    const json_t *json;
    if (!check_headers(rest, err) ||
        !ask(rest, arena, arguments, make_headers(rest, arena, key), may_repeat, answer, ret_answer, err))
        return false;
    ret_answer->body = buf_text(answer);
    struct error not_json = { .code = ERR_NONE };
    if (json_read(arena, ret_answer->body, answer->size, bounds, &json, &not_json) && json_is_object(json))
        return true;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%.200s does not answer like a Posthorn server (HTTP %d).", rest->url,
                ret_answer->status);
}
