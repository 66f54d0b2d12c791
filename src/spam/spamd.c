/*
 * Client of spamd (SpamAssassin): the SPAMC protocol 1.5. libcurl makes the
 * connection; the request and the answer go over its socket.
 *
 * A request has the length of the message. spamd closes the connection after
 * its answer. REPORT gives the table of rules with their scores, which SYMBOLS
 * does not have. HEADERS gives the version.
 */
#include "spam/filter.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { CONNECT_MS = 5000, POLL_MS = 200, BLOCK_BYTES = 16 * 1024, HEAD_BYTES = 100 };

/* One request and its answer. */
struct spamd_exchange {
    const struct spam_patience *patience;
    CURL *curl;
    int fd;
    struct buf *request;
    size_t sent;
    bool takes_no_more; /* spamd has closed its side: the rest of the request is not sent */
    struct buf *answer;
    bool is_over; /* the answer has ended */
};

/* ---- The connection ---- */

static int on_spamd_progress(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    const struct spam_patience *patience = context;
    (void)to_get;
    (void)got;
    (void)to_send;
    (void)sent;
    return spam_is_stopped(patience) ? 1 : 0;
}

static int64_t left_ms(const struct spam_patience *patience)
{
    return (patience->until_us - clock_monotonic_us()) / US_PER_MS;
}

static void set_spamd_options(struct spamd_exchange *exchange, const char *url)
{
    CURL *curl = exchange->curl;
    int64_t left = left_ms(exchange->patience);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server that does not respond */
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_spamd_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, (void *)(uintptr_t)exchange->patience);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static bool connect_to_spamd(struct spamd_exchange *exchange, const char *url, struct error *err)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    set_spamd_options(exchange, url);
    CURLcode code = curl_easy_perform(exchange->curl);
    if (code == CURLE_OK && curl_easy_getinfo(exchange->curl, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK && fd != CURL_SOCKET_BAD) {
        exchange->fd = fd;
        return true;
    }
    return spam_fail(err, "%s", spam_connection_problem(code));
}

static void close_spamd(CURL **curl)
{
    curl_easy_cleanup(*curl);
}

/* ---- Sending and receiving ---- */

static bool is_transient(int error)
{
    return error == EAGAIN || error == EINTR;
}

/* spamd may refuse a request before it has read all of it. Its answer is then read, so a closed connection is no error here. */
static void send_more(struct spamd_exchange *exchange)
{
    size_t left = exchange->request->size - exchange->sent;
    ssize_t count = send(exchange->fd, exchange->request->data + exchange->sent, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
        exchange->sent += (size_t)count;
    else if (!is_transient(errno))
        exchange->takes_no_more = true;
}

static bool receive_more(struct spamd_exchange *exchange, struct error *err)
{
    char block[BLOCK_BYTES];
    ssize_t count = recv(exchange->fd, block, sizeof(block), MSG_DONTWAIT);
    if (count < 0 && is_transient(errno))
        return true;
    if (count < 0)
        return spam_fail(err, "the connection broke");
    exchange->is_over = count == 0;
    buf_add(exchange->answer, block, (size_t)count);
    return !exchange->answer->overflowed || spam_fail(err, "its answer is too large");
}

static bool check_patience(const struct spam_patience *patience, struct error *err)
{
    if (spam_is_stopped(patience))
        return spam_fail(err, "the call was stopped");
    return left_ms(patience) > 0 || spam_fail(err, "it took too long");
}

static bool exchange_once(struct spamd_exchange *exchange, struct error *err)
{
    bool has_more = exchange->sent < exchange->request->size && !exchange->takes_no_more;
    struct pollfd wanted = { .fd = exchange->fd, .events = (short)(POLLIN | (has_more ? POLLOUT : 0)) };
    if (!check_patience(exchange->patience, err))
        return false;
    if (poll(&wanted, 1, POLL_MS) <= 0)
        return true;
    if ((wanted.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive_more(exchange, err))
        return false;
    if ((wanted.revents & POLLOUT) != 0 && has_more && !exchange->is_over)
        send_more(exchange);
    return true;
}

static bool run_exchange(struct spamd_exchange *exchange, const char *url, struct error *err)
{
    if (!connect_to_spamd(exchange, url, err))
        return false;
    while (!exchange->is_over)
        if (!exchange_once(exchange, err))
            return false;
    return true;
}

/* ---- Requests ---- */

static struct buf *request_of(struct arena *arena, const char *command, struct bytes message)
{
    struct buf *request = buf_in_arena(arena, message.size + HEAD_BYTES);
    buf_printf(request, "%s SPAMC/1.5\r\n", command);
    if (message.data != NULL)
        buf_printf(request, "Content-length: %zu\r\n", message.size);
    buf_add_text(request, "\r\n");
    if (message.data != NULL)
        buf_add(request, message.data, message.size);
    return request;
}

static bool ask_spamd(const struct spam_filter *filter, struct arena *arena, const struct spam_patience *patience,
                      const char *command, struct bytes message, struct spamd_answer *ret_answer, struct error *err)
{
    CLEANUP(close_spamd) CURL *curl = curl_easy_init();
    if (curl == NULL)
        panic(PANIC_NO_MEMORY);
    struct spamd_exchange exchange = {
        .patience = patience,
        .curl = curl,
        .request = request_of(arena, command, message),
        .answer = buf_in_arena(arena, SPAM_ANSWER_MAX_BYTES),
    };
    if (!run_exchange(&exchange, filter->url, err))
        return false;
    return spamd_answer_read(arena, buf_text(exchange.answer), exchange.answer->size, ret_answer, err);
}

bool spamd_check(const struct spam_filter *filter, struct arena *arena, struct bytes message, struct spam_patience patience,
                 struct spam_verdict *ret_verdict, struct spam_rule *rules, struct error *err)
{
    struct spamd_answer answer;
    if (!ask_spamd(filter, arena, &patience, "REPORT", message, &answer, err))
        return false;
    if (!answer.has_verdict || !answer.has_body)
        return spam_fail(err, "its answer has no score");
    ret_verdict->is_spam = answer.is_spam;
    ret_verdict->score = answer.score;
    ret_verdict->threshold = answer.threshold;
    ret_verdict->names_rules = spamd_report_read(arena, answer.body, rules, &ret_verdict->count);
    return true;
}

bool spamd_ping(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience, struct error *err)
{
    struct spamd_answer answer;
    if (!ask_spamd(filter, arena, &patience, "PING", (struct bytes){ .data = NULL }, &answer, err))
        return false;
    return strstr(answer.first_line, " PONG") != NULL || spam_fail(err, "its answer is not one of spamd");
}

/* ---- The version ---- */

/* A message that is as small as can be. */
static const char probe[] = "From: <a@example.com>\r\nTo: <b@example.com>\r\nSubject: Version\r\n"
                            "Date: Thu, 01 Jan 2026 00:00:00 +0000\r\nMessage-ID: <version@example.com>\r\n\r\nVersion\r\n";

bool spamd_version(const struct spam_filter *filter, struct arena *arena, struct spam_patience patience, const char **ret_version,
                   struct error *err)
{
    static const char header[] = "X-Spam-Checker-Version: SpamAssassin ";
    const struct bytes message = { (const unsigned char *)probe, sizeof(probe) - 1 };
    struct spamd_answer answer;
    *ret_version = NULL;
    if (!ask_spamd(filter, arena, &patience, "HEADERS", message, &answer, err))
        return false;
    const char *at = strcasestr(answer.body, header);
    if (at == NULL)
        return true;
    at += strlen(header);
    *ret_version = spam_text(arena, arena_dup_bytes(arena, at, strcspn(at, " \r\n")), SPAM_NAME_MAX_BYTES / 4);
    return true;
}
