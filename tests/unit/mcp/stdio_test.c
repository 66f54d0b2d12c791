/*
 * stdio transport of the MCP server: lines, protocol eras, batches, and clients that
 * send too much, read too little, or disconnect.
 */
#include "fixtures/mcp_case.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct mcp_server *server;
    struct case_stdio *client;
};

#define INITIALIZE(version)                                                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" version                           \
    "\",\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define CALL(id, name) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define MODERN(method, params)                                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"" method "\",\"params\":{" params                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"

static int set_up_with(void **state, const struct mcp_config *config)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->server = case_server_new(config);
    fixture->client = case_stdio_new(fixture->server);
    *state = fixture;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, NULL);
}

static int set_up_small(void **state)
{
    static const struct mcp_config config = { .message_max_bytes = 100 * 1000 };
    return set_up_with(state, &config);
}

enum { SHORT_DRAIN_MS = 200 };

static int set_up_short_drain(void **state)
{
    static const struct mcp_config config = { .drain_us = SHORT_DRAIN_MS * INT64_C(1000) };
    return set_up_with(state, &config);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    case_stdio_free(fixture->client);
    case_server_free(fixture->server);
    free(fixture);
    return 0;
}

static struct case_stdio *client_of(void **state)
{
    return ((struct fixture *)*state)->client;
}

static const char *ask(struct case_stdio *client, const char *line)
{
    case_stdio_line(client, line);
    const char *answer = case_stdio_next(client);
    return answer != NULL ? answer : "(nothing)";
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static void test_the_handshake_comes_first(void **state)
{
    struct case_stdio *client = client_of(state);
    assert_has(ask(client, CALL("1", "echo")), "\"id\":1,\"error\":{\"code\":-32600");
    assert_string_equal(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"),
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    assert_has(ask(client, INITIALIZE("2025-06-18")), "\"protocolVersion\":\"2025-06-18\"");
    assert_has(ask(client, CALL("3", "echo")), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"text\":\"nothing\"}}");
    assert_has(ask(client, INITIALIZE("2025-06-18")), "-32600");
}

static void test_both_eras_on_one_connection(void **state)
{
    struct case_stdio *client = client_of(state);
    assert_has(ask(client, MODERN("server/discover", "")), "\"supportedVersions\"");
    assert_has(ask(client, MODERN("tools/call", "\"name\":\"echo\",")), "\"resultType\":\"complete\"");
    assert_has(ask(client, MODERN("ping", "")), "-32601");
    assert_has(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}"), "-32602");
    assert_has(ask(client, INITIALIZE("2025-11-25")), "\"protocolVersion\":\"2025-11-25\"");
    assert_has(ask(client, MODERN("tools/list", "")), "\"ttlMs\"");
    assert_has(ask(client, CALL("1", "echo")), "{\"text\":\"nothing\"}");
}

static void test_lines(void **state)
{
    struct case_stdio *client = client_of(state);
    static const char lines[] = "\r\n\n  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}  \r\n"
                                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",";
    case_stdio_send(client, lines, sizeof(lines) - 1);
    assert_has(case_stdio_next(client), "\"id\":1");
    assert_has(case_stdio_next(client), "\"id\":2");
    assert_has(ask(client, "\"id\":3,\"method\":\"ping\"}"), "\"id\":3");
    assert_has(ask(client, "{\"jsonrpc\":"), "-32700");
    assert_has(ask(client, "\xff\xfe"), "-32700");
    assert_has(ask(client, "[]"), "-32600");
    assert_has(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}"), "\"id\":4");
}

static void test_the_end_of_input_ends_the_last_line(void **state)
{
    struct case_stdio *client = client_of(state);
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    case_stdio_send(client, line, sizeof(line) - 1);
    case_stdio_close(client);
    assert_has(case_stdio_next(client), "\"id\":1");
    assert_null(case_stdio_next(client));
}

static void test_a_truncated_line_gets_an_answer(void **state)
{
    struct case_stdio *client = client_of(state);
    case_stdio_send(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"met", 28);
    case_stdio_close(client);
    assert_has(case_stdio_next(client), "-32700");
}

static void test_a_line_that_is_too_long_costs_only_itself(void **state)
{
    struct case_stdio *client = client_of(state);
    static char part[64 * 1024];
    memset(part, 'x', sizeof(part));
    for (int i = 0; i < 16; i++)
        case_stdio_send(client, part, sizeof(part));
    assert_has(ask(client, "x"), "larger than this server accepts");
    assert_has(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), "\"id\":1");
}

static void test_notifications_are_not_answered(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-9\",\"result\":{}}");
    assert_has(ask(client, CALL("1", "echo")), "\"id\":1");
}

static void test_slow_calls_do_not_hold_up_others(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    case_stdio_line(client, CALL("1", "hold"));
    assert_has(ask(client, CALL("2", "echo")), "\"id\":2");
    case_let_go();
    assert_has(case_stdio_next(client), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"let go\"}}");
}

static void test_cancelled_calls_are_not_answered(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    case_stdio_line(client, CALL("1", "hold"));
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    assert_has(ask(client, CALL("2", "echo")), "\"id\":2");
    assert_int_equal(case_cancelled(), 1);
    case_stdio_close(client);
    assert_null(case_stdio_next(client));
}

static void test_questions_and_announcements(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    assert_has(ask(client, CALL("1", "ask")), "\"id\":\"ask-1\",\"method\":\"elicitation/create\"");
    assert_has(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"cancel\"}}"),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"cancel\"}}");
    assert_has(ask(client, CALL("2", "announce")), "notifications/tools/list_changed");
    assert_has(case_stdio_next(client), "\"id\":2");
}

static void test_a_subscription_lasts_until_it_is_cancelled(void **state)
{
    struct case_stdio *client = client_of(state);
    assert_has(ask(client, MODERN("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")), "acknowledged");
    assert_has(ask(client, MODERN("tools/call", "\"name\":\"announce\",")), "\"io.modelcontextprotocol/subscriptionId\":\"m\"");
    assert_has(case_stdio_next(client), "announced");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"m\"}}");
    assert_has(ask(client, MODERN("tools/call", "\"name\":\"announce\",")), "announced");
}

static void test_subscriptions_of_a_connection_are_bounded(void **state)
{
    struct case_stdio *client = client_of(state);
    for (int i = 0; i < 16; i++)
        assert_has(ask(client, MODERN("subscriptions/listen", "\"notifications\":{},")), "acknowledged");
    assert_has(ask(client, MODERN("subscriptions/listen", "\"notifications\":{},")), "-32602");
    assert_has(ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), "\"id\":1");
}

static void test_batches(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-03-26"));
    const char *answer = ask(client, "[" CALL("1", "later") "," CALL("2", "echo") ",{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]");
    assert_int_equal(answer[0], '[');
    assert_has(answer, "\"id\":1,");
    assert_has(answer, "\"id\":2,");
    case_stdio_line(client, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]");
    assert_has(ask(client, CALL("3", "echo")), "\"id\":3");
}

static void test_no_batches_in_other_versions(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    assert_has(ask(client, "[" CALL("1", "echo") "]"), "-32600");
}

static void test_what_runs_may_finish_after_the_end_of_input(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    case_stdio_line(client, CALL("1", "progress"));
    case_stdio_line(client, CALL("2", "later"));
    case_stdio_close(client);
    int answers = 0;
    while (case_stdio_next(client) != NULL)
        answers++;
    assert_int_equal(answers, 2);
}

static void test_what_does_not_finish_is_cancelled_after_the_drain(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    case_stdio_line(client, CALL("1", "hold"));
    case_stdio_line(client, CALL("2", "ask"));
    case_stdio_line(client, MODERN("subscriptions/listen", "\"notifications\":{},"));
    assert_has(case_stdio_next(client), "ask-1");
    assert_has(case_stdio_next(client), "acknowledged");
    assert_true(case_stdio_close(client) >= SHORT_DRAIN_MS);
    assert_int_equal(case_cancelled(), 1);
}

enum { FLOOD_CALLS = 100 * 1000, FLOOD_FIRST_ID = 1000 * 1000 };

static _Atomic int flooded;

static void *flood(void *data)
{
    for (int i = 0; i < FLOOD_CALLS; i++) {
        char line[128];
        snprintf(line, sizeof(line), CALL("%d", "echo"), FLOOD_FIRST_ID + i);
        case_stdio_line(data, line);
        flooded = i + 1;
    }
    return NULL;
}

/* A client that writes and writes and reads nothing: the server must stop reading rather than grow. */
static void test_a_client_that_does_not_read_is_not_listened_to(void **state)
{
    struct case_stdio *client = client_of(state);
    ask(client, INITIALIZE("2025-11-25"));
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, flood, client), 0);
    int before = -1;
    while (before != flooded) {
        before = flooded;
        usleep(200 * 1000);
    }
    /* A megabyte of answers, and what the pipes hold. */
    assert_true(before < FLOOD_CALLS / 2);
    for (int i = 0; i < FLOOD_CALLS; i++) {
        char id[32];
        snprintf(id, sizeof(id), "\"id\":%d", FLOOD_FIRST_ID + i);
        const char *line = case_stdio_next(client);
        assert_non_null(line);
        assert_has(line, id);
    }
    pthread_join(writer, NULL);
}

static void test_a_client_that_vanishes(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture->client, INITIALIZE("2025-11-25"));
    for (int i = 0; i < 2000; i++)
        case_stdio_line(fixture->client, CALL("1", "echo"));
    /* Never reads again; the pipe is full and its end of input comes. A server that waited for a reader would not end. */
    case_stdio_close(fixture->client);
}

#define WITH(test)             cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_SHORT_DRAIN(test) cmocka_unit_test_setup_teardown(test, set_up_short_drain, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_the_handshake_comes_first),
        WITH(test_both_eras_on_one_connection),
        WITH(test_lines),
        WITH(test_the_end_of_input_ends_the_last_line),
        WITH(test_a_truncated_line_gets_an_answer),
        cmocka_unit_test_setup_teardown(test_a_line_that_is_too_long_costs_only_itself, set_up_small, tear_down),
        WITH(test_notifications_are_not_answered),
        WITH(test_slow_calls_do_not_hold_up_others),
        WITH(test_cancelled_calls_are_not_answered),
        WITH(test_questions_and_announcements),
        WITH(test_a_subscription_lasts_until_it_is_cancelled),
        WITH(test_subscriptions_of_a_connection_are_bounded),
        WITH(test_batches),
        WITH(test_no_batches_in_other_versions),
        WITH(test_what_runs_may_finish_after_the_end_of_input),
        WITH_SHORT_DRAIN(test_what_does_not_finish_is_cancelled_after_the_drain),
        WITH(test_a_client_that_does_not_read_is_not_listened_to),
        WITH_SHORT_DRAIN(test_a_client_that_vanishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
