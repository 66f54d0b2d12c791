/* Clients of spam filters: against scripted servers that lie, stay silent or never end. */
#include "spam/filter.h"

#include "base/clock.h"

#include "fixtures/loopback_server.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { REQUEST_BYTES = 64 * 1024, SHORT_MS = 300, LONG_MS = 60 * 1000, BIG_BYTES = 8 * 1024 * 1024 };

static const char message_text[] = "From: a@example.com\r\nSubject: Hello\r\n\r\nHello\r\n";

/* ---- A server that answers as it is told ---- */

enum manner { MANNER_ANSWER, MANNER_SILENT, MANNER_ENDLESS, MANNER_RESET };

static struct {
    struct loopback_server at;
    enum manner manner;
    bool reads_nothing;     /* it answers before it has read the request */
    const char *answers[2]; /* of the first connection and of the second one */
    atomic_int connections;
    char request[REQUEST_BYTES]; /* of the first connection */
} server;

/* Reads until the message has come, which ends with "Hello" or "Version", or the head of a request without one. */
static void read_request(int fd, char *request)
{
    size_t size = 0;
    while (size < REQUEST_BYTES - 1) {
        ssize_t count = recv(fd, request + size, REQUEST_BYTES - 1 - size, 0);
        if (count <= 0)
            return;
        size += (size_t)count;
        request[size] = '\0';
        bool has_message = strstr(request, "\r\nHello\r\n") != NULL || strstr(request, "\r\nVersion\r\n") != NULL;
        if (has_message || strstr(request, "PING") == request || strstr(request, "GET") == request)
            return;
    }
}

static void stream_for_ever(int fd)
{
    static const char block[4096];
    char line[sizeof(block)];
    memset(line, 'a', sizeof(line));
    while (loopback_say(fd, line, sizeof(line)))
        continue;
}

static bool answer_one(int fd)
{
    static char ignored[REQUEST_BYTES];
    int number = atomic_fetch_add(&server.connections, 1);
    const char *text = server.answers[number < 1 ? number : 1];
    if (!server.reads_nothing)
        read_request(fd, number == 0 ? server.request : ignored);
    if (text != NULL)
        loopback_say_text(fd, text);
    if (server.manner == MANNER_SILENT)
        loopback_wait_until_gone(fd);
    if (server.manner == MANNER_ENDLESS)
        stream_for_ever(fd);
    if (server.manner == MANNER_RESET) {
        struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        return false;
    }
    shutdown(fd, SHUT_WR);
    return !server.reads_nothing;
}

static int start_server(void **state)
{
    (void)state;
    memset(&server, 0, sizeof(server));
    return loopback_server_start(&server.at, answer_one) ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    loopback_server_stop(&server.at);
    return 0;
}

/* ---- Asking ---- */

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct spam_patience patience_of(int64_t wait_ms)
{
    return (struct spam_patience){ .until_us = clock_monotonic_us() + wait_ms * US_PER_MS };
}

struct asked {
    struct arena *arena;
    struct spam_filter *filter;
    struct spam_verdict verdict;
    struct error err;
    bool is_answered;
};

static void done(struct asked *asked)
{
    spam_filter_free(asked->filter);
    arena_free(asked->arena);
}

static struct asked ask_with(const char *form, struct spam_patience patience, struct bytes message)
{
    char named[100];
    struct asked asked = { .arena = arena_new(0), .err = { .code = ERR_NONE } };
    snprintf(named, sizeof(named), "%s%u", form, server.at.port);
    assert_true(spam_filter_new(named, &asked.filter, &asked.err));
    asked.is_answered = spam_check(asked.filter, asked.arena, message, patience, &asked.verdict, &asked.err);
    return asked;
}

static const char spamd_form[] = "spamd:127.0.0.1:";
static const char rspamd_form[] = "rspamd:http://127.0.0.1:";

static struct asked ask(const char *form)
{
    return ask_with(form, patience_of(LONG_MS), (struct bytes){ (const unsigned char *)message_text, strlen(message_text) });
}

static void assert_refused(const char *form, struct spam_patience patience, const char *reason)
{
    CLEANUP(done)
    struct asked asked = ask_with(form, patience, (struct bytes){ (const unsigned char *)message_text, strlen(message_text) });
    assert_false(asked.is_answered);
    assert_int_equal(asked.err.code, ERR_SERVICE_UNAVAILABLE);
    if (strstr(asked.err.message, reason) == NULL)
        fail_msg("“%s” instead of “%s”", asked.err.message, reason);
}

/* An answer of spamd to REPORT with a right length. */
static const char *report_of(const char *spam, const char *body)
{
    static char text[8192];
    snprintf(text, sizeof(text), "SPAMD/1.1 0 EX_OK\r\nContent-length: %zu\r\nSpam: %s\r\n\r\n%s", strlen(body), spam, body);
    return text;
}

/* ---- spamd ---- */

/* The answer to HEADERS. */
static const char version_answer[] = "SPAMD/1.1 0 EX_OK\r\nContent-length: 68\r\nSpam: False ; 0 / 5.0\r\n\r\n"
                                     "X-Spam-Checker-Version: SpamAssassin 4.0.1 (date) on vm\r\nFrom: a\r\n\r\n";

static const char report[] = "Spam detection software\n"
                             "---- ---------------------- ---\n"
                             " 9.9 FAKE_RULE              a line of the message\n"
                             "Content preview:  9.9 FAKE_RULE too\n"
                             "\n"
                             " pts rule name              description\n"
                             "---- ---------------------- --------------------------------------------------\n"
                             "-0.0 NO_RECEIVED            Informational: message has no Received headers\n"
                             " 2.7 DEAR_FRIEND            BODY: Dear Friend? That's not very dear!\n"
                             " 1.5 LONG_ONE               The description goes on\n"
                             "                            4.0 on another line\n"
                             "1000 GTUBE                  BODY: Generic Test\n"
                             "\n";

/* The rules come from the table at the end, not from what the message repeats above it. */
static void test_report(void **state)
{
    (void)state;
    server.answers[0] = report_of("True ; 5.6 / 5.0", report);
    server.answers[1] = version_answer;
    CLEANUP(done) struct asked asked = ask(spamd_form);
    assert_true(asked.is_answered);
    assert_true(strstr(server.request, "REPORT SPAMC/1.5\r\nContent-length: 46\r\n\r\nFrom: a@example.com") == server.request);
    assert_true(asked.verdict.is_spam);
    assert_true(fabs(asked.verdict.score - 5.6) < 1e-9);
    assert_true(fabs(asked.verdict.threshold - 5) < 1e-9);
    assert_string_equal(asked.verdict.version, "4.0.1");
    assert_string_equal(spam_filter_name(asked.filter), "SpamAssassin");
    assert_true(asked.verdict.names_rules);
    assert_int_equal(asked.verdict.count, 4);
    assert_string_equal(asked.verdict.rules[0].name, "NO_RECEIVED");
    assert_non_null(asked.verdict.rules[0].left_out);
    assert_string_equal(asked.verdict.rules[1].name, "DEAR_FRIEND");
    assert_null(asked.verdict.rules[1].left_out);
    assert_string_equal(asked.verdict.rules[1].description, "BODY: Dear Friend? That's not very dear!");
    assert_string_equal(asked.verdict.rules[2].description, "The description goes on 4.0 on another line");
    assert_true(fabs(asked.verdict.rules[3].score - 1000) < 1e-9);
}

/* A rule has a few lines of description. A report that never ends one costs no more memory than its own size. */
static void test_a_description_without_end(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct spam_rule *rules = arena_array(arena, SPAM_RULES_MAX, sizeof(*rules));
    static char long_report[SPAM_ANSWER_MAX_BYTES / 4];
    static const char head[] = "---- ---- ----\n 1.5 LONG_ONE The description\n";
    size_t count;
    memcpy(long_report, head, sizeof(head) - 1);
    for (size_t i = sizeof(head) - 1; i + 1 < sizeof(long_report); i++)
        long_report[i] = (i - sizeof(head)) % 2 == 1 ? 'a' : '\n';
    size_t before = arena_used_bytes(arena);
    assert_true(spamd_report_read(arena, long_report, rules, &count));
    assert_int_equal(count, 1);
    assert_string_equal(rules[0].description, "The description a a a a a a a a a");
    assert_in_range(arena_used_bytes(arena) - before, 0, 64 * sizeof(long_report));
}

/* A verdict without a table and a filter that hides its version are verdicts all the same. */
static void test_bare_report(void **state)
{
    (void)state;
    server.answers[0] = report_of("False ; -1.5 / 5.0", "A report of the operator's own.\n 3.0 NOT_A_RULE no table\n");
    server.answers[1] = "SPAMD/1.1 0 EX_OK\r\nContent-length: 0\r\n\r\n";
    CLEANUP(done) struct asked asked = ask(spamd_form);
    assert_true(asked.is_answered);
    assert_false(asked.verdict.names_rules);
    assert_int_equal(asked.verdict.count, 0);
    assert_null(asked.verdict.version);
    assert_true(fabs(asked.verdict.score + 1.5) < 1e-9);
}

static void test_spamd_that_lies(void **state)
{
    static const struct {
        const char *answer;
        const char *reason;
    } lies[] = {
        { "", "closed the connection without an answer" },
        { "HTTP/1.1 200 OK\r\n\r\n", "not one of spamd" },
        { "SPAMD/1.1\r\n\r\n", "not one of spamd" },
        { "SPAMD/1.1 x EX_OK\r\n\r\n", "not one of spamd" },
        { "SPAMD/1.0 76 Bad header line: (Content-Length mismatch)\r\n", "spamd answered “76 Bad header line" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; 1 / 5\r\n", "cut short" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 5\r\nSpam: True ; 1 / 5\r\n\r\nabcd", "cut short" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 3\r\nSpam: True ; 1 / 5\r\n\r\nabcd", "longer than it says" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: -1\r\nSpam: True ; 1 / 5\r\n\r\nabcd", "length in its answer cannot be read" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 99999999999999999999\r\n\r\nabcd", "length in its answer cannot be read" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nContent-length: 4\r\n\r\nabcd", "length in its answer cannot be read" },
        { "SPAMD/1.1 0 EX_OK\r\n", "has no score" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\n\r\nabcd", "has no score" },
        { "SPAMD/1.1 0 EX_OK\r\nSpam: True ; 1 / 5\r\n\r\nabcd", "has no score" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; nan / 5\r\n\r\nabcd", "score in its answer cannot be read" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; 1e300 / 5\r\n\r\nabcd", "score in its answer cannot be read" },
        { "SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; 1\r\n\r\nabcd", "score in its answer cannot be read" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(lies); i++) {
        server.connections = 0;
        server.answers[0] = lies[i].answer;
        assert_refused(spamd_form, patience_of(LONG_MS), lies[i].reason);
    }
    (void)state;
}

/* spamd may refuse a message before it has read all of it. Its reason is told. */
static void test_refusal_before_the_end(void **state)
{
    (void)state;
    char *big = malloc(BIG_BYTES);
    assert_non_null(big);
    memset(big, 'a', BIG_BYTES);
    server.reads_nothing = true;
    server.answers[0] = "SPAMD/1.0 74 Message too large\r\n";
    CLEANUP(done)
    struct asked asked = ask_with(spamd_form, patience_of(LONG_MS), (struct bytes){ (unsigned char *)big, BIG_BYTES });
    assert_false(asked.is_answered);
    assert_true(strstr(asked.err.message, "Message too large") != NULL || strstr(asked.err.message, "connection broke") != NULL);
    free(big);
}

/* ---- rspamd ---- */

static const char *json_of(const char *json)
{
    static char text[8192];
    snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nServer: rspamd/3.4\r\nContent-Length: %zu\r\n\r\n%s", strlen(json), json);
    return text;
}

static void test_rspamd(void **state)
{
    (void)state;
    server.answers[0] = json_of("{\"is_skipped\":false,\"score\":7.5,\"required_score\":15.0,\"action\":\"add header\","
                                "\"thresholds\":{\"reject\":15.0,\"add header\":6.0,\"greylist\":4.0},\"symbols\":{"
                                "\"R_PARTS_DIFFER\":{\"name\":\"R_PARTS_DIFFER\",\"score\":1.5,\"description\":\"Parts differ\"},"
                                "\"RCVD_COUNT_ZERO\":{\"score\":0.0},\"<b>\":{\"score\":9}}}");
    CLEANUP(done) struct asked asked = ask(rspamd_form);
    assert_true(asked.is_answered);
    assert_true(strstr(server.request, "POST /checkv2 HTTP/1.1\r\n") == server.request);
    assert_non_null(strstr(server.request, "\r\n\r\nFrom: a@example.com\r\n"));
    assert_true(asked.verdict.is_spam);
    assert_true(fabs(asked.verdict.threshold - 6) < 1e-9);
    assert_string_equal(asked.verdict.version, "3.4");
    assert_string_equal(spam_filter_name(asked.filter), "rspamd");
    assert_int_equal(asked.verdict.count, 2);
    assert_string_equal(asked.verdict.rules[0].description, "Parts differ");
    assert_null(asked.verdict.rules[0].left_out);
    assert_non_null(asked.verdict.rules[1].left_out);
}

static void test_rspamd_that_lies(void **state)
{
    static const struct {
        const char *answer;
        const char *reason;
    } lies[] = {
        { "", "cut short" },
        { "SPAMD/1.1 0 EX_OK\r\n\r\n", "not valid" },
        { "HTTP/1.1 500 Internal\r\nContent-Length: 0\r\n\r\n", "rspamd answered 500" },
        { "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "rspamd answered 302" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"score\":1}", "cut short" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "not a JSON object" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "has no score" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{\"score\":1e300,\"required_score\":1.0}", "has no score" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 51\r\n\r\n{\"score\":1,\"required_score\":15.0,\"is_skipped\":true}",
          "skip the message" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(lies); i++) {
        server.connections = 0;
        server.answers[0] = lies[i].answer;
        assert_refused(rspamd_form, patience_of(LONG_MS), lies[i].reason);
    }
    (void)state;
}

/* ---- Both ---- */

static const char *const forms[] = { spamd_form, rspamd_form };

static void test_silence_ends_at_the_deadline(void **state)
{
    (void)state;
    server.manner = MANNER_SILENT;
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
        assert_refused(forms[i], patience_of(SHORT_MS), "it took too long");
}

static void test_cancelled(void **state)
{
    (void)state;
    server.manner = MANNER_SILENT;
    struct spam_patience patience = patience_of(LONG_MS);
    patience.should_stop = always;
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
        assert_refused(forms[i], patience, "the call was stopped");
}

static void test_endless_answers(void **state)
{
    (void)state;
    server.manner = MANNER_ENDLESS;
    server.answers[0] = server.answers[1] = "SPAMD/1.1 0 EX_OK\r\n";
    assert_refused(spamd_form, patience_of(LONG_MS), "its answer is too large");
    server.answers[0] = server.answers[1] = "HTTP/1.1 200 OK\r\n\r\n";
    assert_refused(rspamd_form, patience_of(LONG_MS), "its answer is too large");
}

static void test_reset(void **state)
{
    (void)state;
    server.manner = MANNER_RESET;
    server.answers[0] = server.answers[1] = NULL;
    assert_refused(spamd_form, patience_of(LONG_MS), "gave no answer");
    assert_refused(rspamd_form, patience_of(LONG_MS), "cut short");
}

static void test_gone(void **state)
{
    (void)state;
    server.at.port = 1;
    assert_refused(spamd_form, patience_of(LONG_MS), "cannot be reached");
    assert_refused(rspamd_form, patience_of(LONG_MS), "cannot be reached");
}

static void assert_ping(const char *form, const char *first, const char *second, const char *version)
{
    ARENA_SCOPE arena = arena_new(0);
    char named[100];
    struct spam_filter *filter;
    struct error err = { .code = ERR_NONE };
    const char *told = NULL;
    server.connections = 0;
    server.answers[0] = first;
    server.answers[1] = second;
    snprintf(named, sizeof(named), "%s%u", form, server.at.port);
    assert_true(spam_filter_new(named, &filter, &err));
    bool is_answered = spam_ping(filter, arena, patience_of(LONG_MS), &told, &err);
    assert_int_equal(is_answered, version != NULL);
    if (version != NULL)
        assert_string_equal(told, version);
    spam_filter_free(filter);
}

static void test_ping(void **state)
{
    (void)state;
    assert_ping(spamd_form, "SPAMD/1.5 0 PONG\r\n", version_answer, "4.0.1");
    assert_ping(spamd_form, "SPAMD/1.5 0 EX_OK\r\n\r\n", NULL, NULL);
    assert_ping(rspamd_form, "HTTP/1.1 200 OK\r\nServer: rspamd/3.4\r\nContent-Length: 6\r\n\r\npong\r\n", NULL, "3.4");
    assert_ping(rspamd_form, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n", NULL, NULL);
}

/* ---- The option ---- */

static void test_named(void **state)
{
    static const char *const good[] = { "spamd:localhost:783", "spamd:127.0.0.1:783", "spamd:[::1]:783",
                                        "rspamd:http://localhost:11333", "rspamd:https://spam.example.com/" };
    static const char *const bad[] = { "",
                                       "spamd",
                                       "spamd:localhost",
                                       "spamd:",
                                       "spamd::783",
                                       "spamd:localhost:0x",
                                       "spamd:localhost:99999",
                                       "spamd:localhost:783/",
                                       "spamd:a b:783",
                                       "spamd:u:p@localhost:783",
                                       "http://localhost:11333",
                                       "rspamd:localhost:11333",
                                       "rspamd:ftp://localhost",
                                       "rspamd:http://u:p@localhost",
                                       "rspamd:http://localhost/checkv2",
                                       "rspamd:http://localhost?a=b" };
    struct error err = { .code = ERR_NONE };
    struct spam_filter *filter;
    (void)state;
    assert_true(spam_filter_new(NULL, &filter, &err));
    assert_null(filter);
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        if (!spam_filter_new(good[i], &filter, &err))
            fail_msg("%s was refused", good[i]);
        assert_string_equal(spam_filter_address(filter), good[i]);
        spam_filter_free(filter);
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        error_clear(&err);
        if (spam_filter_new(bad[i], &filter, &err))
            fail_msg("%s was taken", bad[i]);
        assert_string_equal(err.param, "--spam");
    }
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, start_server, stop_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_report),
        cmocka_unit_test(test_a_description_without_end),
        WITH_SERVER(test_bare_report),
        WITH_SERVER(test_spamd_that_lies),
        WITH_SERVER(test_refusal_before_the_end),
        WITH_SERVER(test_rspamd),
        WITH_SERVER(test_rspamd_that_lies),
        WITH_SERVER(test_silence_ends_at_the_deadline),
        WITH_SERVER(test_cancelled),
        WITH_SERVER(test_endless_answers),
        WITH_SERVER(test_reset),
        WITH_SERVER(test_gone),
        WITH_SERVER(test_ping),
        cmocka_unit_test(test_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
