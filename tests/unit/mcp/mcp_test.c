/*
 * MCP protocol core, message by message: both protocol eras, their handshakes and
 * refusals, sessions, batches, and sealed state.
 */
#include "fixtures/mcp_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("%s in %s", part, text);
}

static int set_up(void **state)
{
    *state = case_server_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    case_server_free(*state);
    return 0;
}

/* ---- The older era ---- */

static void test_initialize_answers_with_a_version_it_speaks(void **state)
{
    static const char *const asked[][2] = {
        { "2025-11-25", "2025-11-25" }, { "2025-06-18", "2025-06-18" }, { "2025-03-26", "2025-03-26" },
        { "2024-11-05", "2024-11-05" }, { "2031-01-01", "2025-11-25" }, { "1", "2025-11-25" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(asked); i++) {
        char body[256];
        int status = 0;
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\"}}",
                 asked[i][0]);
        const char *answer = case_post(*state, NULL, body, &status);
        char expected[64];
        snprintf(expected, sizeof(expected), "\"protocolVersion\":\"%s\"", asked[i][1]);
        assert_int_equal(status, 200);
        assert_has(answer, "\"id\":0,");
        assert_has(answer, expected);
        assert_has(answer, "\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true},\"logging\":{}}");
        assert_has(answer, "\"serverInfo\":{\"name\":\"case\",\"version\":\"1.0\"}");
        assert_has(answer, "\"instructions\":\"Only for tests.\"");
        assert_lacks(answer, "resultType");
    }
}

static void test_initialize_without_a_version_is_refused(void **state)
{
    const char *answer = case_post(*state, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", NULL);
    assert_has(answer, "-32602");
    assert_has(answer, "protocolVersion");
}

static void test_ids_come_back_as_they_were(void **state)
{
    static const char *const ids[] = { "0", "-7", "9007199254740993", "\"\"", "\"a\\\"b\\\\\"", "\"\xc3\xa9\"" };
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        char body[128];
        char expected[128];
        snprintf(body, sizeof(body), "{\"id\":%s,\"method\":\"ping\",\"jsonrpc\":\"2.0\"}", ids[i]);
        snprintf(expected, sizeof(expected), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", ids[i]);
        assert_string_equal(case_post(*state, session, body, NULL), expected);
    }
}

static void test_what_is_no_message_is_refused(void **state)
{
    static const char *const messages[] = {
        "{}",
        "7",
        "\"text\"",
        "null",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":7}",
    };
    for (size_t i = 0; i < ARRAY_COUNT(messages); i++) {
        int status = 0;
        const char *answer = case_post(*state, NULL, messages[i], &status);
        assert_int_equal(status, 400);
        assert_has(answer, "\"code\":-32600");
        assert_lacks(answer, "\"id\":null");
    }
    assert_has(case_post(*state, NULL, messages[4], NULL), "\"id\":1");
}

static void test_what_cannot_be_read_is_a_parse_error(void **state)
{
    char deep[400] = { 0 };
    memset(deep, '[', 200);
    memset(deep + 200, ']', 199);
    const struct {
        const char *text;
        size_t size;
    } bodies[] = {
        { "{", 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", 0 },
        { "{\"a\":\"b\0c\"}", 10 },
        { "{\"a\":1,\"a\":2}", 0 },
        { "{\"id\":99999999999999999999}", 0 },
        { "{} {}", 0 },
        { deep, 0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++) {
        struct case_request request = { .body = bodies[i].text, .body_size = bodies[i].size };
        struct case_reply *reply = case_begin(*state, &request);
        assert_int_equal(case_status(reply), 400);
        assert_has(case_body(reply), "\"code\":-32700");
        assert_lacks(case_body(reply), "\"id\"");
        case_end(reply);
    }
}

static void test_a_message_that_is_too_large_is_refused(void **state)
{
    (void)state;
    struct mcp_config config = { .message_max_bytes = 1000 };
    struct mcp_server *server = case_server_new(&config);
    char body[1200];
    memset(body, ' ', sizeof(body));
    memcpy(body, "{}", 2);
    struct case_request request = { .body = body, .body_size = sizeof(body) };
    struct case_reply *reply = case_begin(server, &request);
    assert_int_equal(case_status(reply), 413);
    case_end(reply);
    case_server_free(server);
}

static void test_unknown_methods(void **state)
{
    int status = 0;
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", &status), "-32601");
    assert_int_equal(status, 200);
    /* Not offered by this provider. */
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", &status), "-32601");
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\"}", &status), "-32601");
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}", &status),
               "-32602");
}

static void test_lists_are_one_page(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    const char *list = case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}", NULL);
    assert_string_equal(list, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":"
                              "\"object\"}}]}}");
    assert_string_equal(list, case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", NULL));
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", NULL),
               "-32602");
    assert_has(case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/templates/list\"}", NULL),
               "\"resourceTemplates\":[]");
}

static void test_levels_are_checked(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    static const char good[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}";
    static const char bad[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}";
    assert_string_equal(case_post(*state, session, good, NULL), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    assert_has(case_post(*state, session, bad, NULL), "-32602");
}

/* ---- Sessions ---- */

static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

static void test_sessions_are_asked_for(void **state)
{
    int status = 0;
    const char *session = case_initialize(*state, "2025-06-18", "{}");
    assert_int_equal(strlen(session), 32);
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &status);
    assert_int_equal(status, 202);
    case_post(*state, session, ping, &status);
    assert_int_equal(status, 200);
    assert_has(case_post(*state, NULL, ping, &status), "Mcp-Session-Id");
    assert_int_equal(status, 400);
    assert_has(case_post(*state, "0123456789abcdef0123456789abcdef", ping, &status), "\"id\":1");
    assert_int_equal(status, 404);
    case_post(*state, "", ping, &status);
    assert_int_equal(status, 404);
}

static void test_a_session_belongs_to_its_credential(void **state)
{
    struct case_request request = {
        .body = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}",
        .secret = "key one",
    };
    struct case_reply *first = case_begin(*state, &request);
    assert_int_equal(case_status(first), 200);
    struct case_request again = { .body = ping, .headers = { { "mcp-session-id", case_session(first) } }, .secret = "key one" };
    struct case_reply *same = case_begin(*state, &again);
    assert_int_equal(case_status(same), 200);
    case_end(same);
    again.secret = "key two";
    struct case_reply *other = case_begin(*state, &again);
    assert_int_equal(case_status(other), 404);
    case_end(other);
    case_end(first);
}

static void test_delete_ends_a_session(void **state)
{
    int status = 0;
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_request request = { .method = MCP_HTTP_DELETE, .headers = { { "Mcp-Session-Id", session } } };
    struct case_reply *reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 200);
    case_end(reply);
    case_post(*state, session, ping, &status);
    assert_int_equal(status, 404);
    reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 404);
    case_end(reply);
}

static void test_idle_sessions_end(void **state)
{
    (void)state;
    struct mcp_config config = { .session_idle_us = 1 };
    struct mcp_server *server = case_server_new(&config);
    int status = 0;
    const char *session = case_initialize(server, "2025-11-25", "{}");
    case_post(server, session, ping, &status);
    assert_int_equal(status, 200);
    usleep(2000);
    mcp_server_tick(server);
    case_post(server, session, ping, &status);
    assert_int_equal(status, 404);
    case_server_free(server);
}

static void test_the_idlest_session_yields(void **state)
{
    (void)state;
    struct mcp_config config = { .session_max_count = 2 };
    struct mcp_server *server = case_server_new(&config);
    int status = 0;
    const char *first = case_initialize(server, "2025-11-25", "{}");
    const char *second = case_initialize(server, "2025-11-25", "{}");
    case_post(server, first, ping, &status);
    const char *third = case_initialize(server, "2025-11-25", "{}");
    case_post(server, second, ping, &status);
    assert_int_equal(status, 404);
    case_post(server, first, ping, &status);
    assert_int_equal(status, 200);
    case_post(server, third, ping, &status);
    assert_int_equal(status, 200);
    case_server_free(server);
}

static void test_an_unknown_version_header_is_refused(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_request request = { .body = ping, .headers = { { "Mcp-Session-Id", session }, { "MCP-Protocol-Version", "1999-01-01" } } };
    struct case_reply *reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 400);
    case_end(reply);
    /* Another one than was settled is no harm: 0.1.16 of the suites does it. */
    request.headers[1][1] = "2025-03-26";
    reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 200);
    case_end(reply);
}

static void test_nothing_acceptable(void **state)
{
    struct case_request request = { .body = ping, .only_json = true, .only_stream = true };
    struct case_reply *reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 406);
    case_end(reply);
}

/* ---- Batches ---- */

static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},7,"
                            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"later\"}}]";

static void test_batches_of_their_version(void **state)
{
    int status = 0;
    const char *session = case_initialize(*state, "2025-03-26", "{}");
    const char *answer = case_post(*state, session, batch, &status);
    assert_int_equal(status, 200);
    assert_int_equal(answer[0], '[');
    assert_int_equal(answer[strlen(answer) - 1], ']');
    assert_has(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    assert_has(answer, "\"code\":-32600");
    assert_has(answer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"later\"}}");
    assert_string_equal(case_post(*state, session, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]", &status), "");
    assert_int_equal(status, 202);
    case_post(*state, session, "[]", &status);
    assert_int_equal(status, 400);
}

static void test_no_batches_of_other_versions(void **state)
{
    int status = 0;
    assert_has(case_post(*state, case_initialize(*state, "2025-11-25", "{}"), batch, &status), "-32600");
    assert_int_equal(status, 400);
    case_post(*state, NULL, batch, &status);
    assert_int_equal(status, 400);
}

/* ---- 2026-07-28 ---- */

static void test_discovery(void **state)
{
    int status = 0;
    const char *answer = case_post_modern(*state, "server/discover", NULL, "", &status);
    assert_int_equal(status, 200);
    assert_has(answer, "\"resultType\":\"complete\"");
    assert_has(answer, "\"supportedVersions\":[\"2026-07-28\"]");
    assert_has(answer, "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"case\",\"version\":\"1.0\"}");
    assert_has(answer, "\"ttlMs\":300000,\"cacheScope\":\"public\"");
    answer = case_post_modern(*state, "tools/list", NULL, "", &status);
    assert_has(answer, "\"ttlMs\":300000,\"cacheScope\":\"private\"");
    assert_has(answer, "\"resultType\":\"complete\"");
}

static void test_removed_methods(void **state)
{
    static const char *const removed[] = { "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
                                           "no/such" };
    for (size_t i = 0; i < ARRAY_COUNT(removed); i++) {
        int status = 0;
        const char *answer = case_post_modern(*state, removed[i], NULL, "", &status);
        assert_int_equal(status, 404);
        assert_has(answer, "\"id\":1,\"error\":{\"code\":-32601");
    }
}

#define VERSION(version) "\"io.modelcontextprotocol/protocolVersion\":\"" version "\""
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define ECHO(meta) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"_meta\":{" meta "}}}"
#define GOOD_META VERSION("2026-07-28") "," CAPABILITIES

static void test_modern_checks_in_their_order(void **state)
{
    const struct {
        const char *body;
        const char *version;
        const char *method;
        const char *name;
        int code;
    } probes[] = {
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "echo", 0 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "  echo\t", 0 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "=?base64?ZWNobw==?=", 0 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "=?base64?ZWNobw?=", -32020 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "=?base64?/w==?=", -32020 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "ZWNobw==", -32020 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", "Echo", -32020 },
        { ECHO(GOOD_META), "2026-07-28", "tools/call", NULL, -32020 },
        { ECHO(GOOD_META), "2026-07-28", "TOOLS/CALL", "echo", -32020 },
        { ECHO(GOOD_META), "2026-07-28", NULL, NULL, -32020 },
        { ECHO(GOOD_META), NULL, NULL, NULL, -32020 },
        { ECHO(VERSION("v9")), "2026-07-28", "tools/call", "echo", -32602 },
        { ECHO(CAPABILITIES), "2026-07-28", "tools/call", "echo", -32602 },
        { ECHO(""), "2026-07-28", "tools/call", "echo", -32602 },
        { ECHO(VERSION("v9") "," CAPABILITIES), "2026-07-28", "tools/call", "echo", -32020 },
        { ECHO(VERSION("v9") "," CAPABILITIES), "v9", "tools/call", "echo", -32022 },
        { ECHO(VERSION("2027-01-01") "," CAPABILITIES), "2027-01-01", "tools/call", "echo", -32022 },
        { ECHO(VERSION("2025-11-25") "," CAPABILITIES), "2025-11-25", "tools/call", "echo", -32022 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(probes); i++) {
        struct case_request request = { .body = probes[i].body };
        size_t count = 0;
        const char *const pairs[][2] = {
            { "mcp-protocol-version", probes[i].version }, { "MCP-METHOD", probes[i].method }, { "Mcp-Name", probes[i].name }
        };
        for (size_t j = 0; j < ARRAY_COUNT(pairs); j++) {
            if (pairs[j][1] != NULL)
                memcpy(request.headers[count++], pairs[j], sizeof(pairs[j]));
        }
        struct case_reply *reply = case_begin(*state, &request);
        char expected[32];
        snprintf(expected, sizeof(expected), "\"code\":%d", probes[i].code);
        assert_int_equal(case_status(reply), probes[i].code == 0 ? 200 : 400);
        assert_has(case_body(reply), probes[i].code == 0 ? "\"text\":\"nothing\"" : expected);
        assert_has(case_body(reply), "\"id\":1");
        case_end(reply);
    }
}

static void test_an_unsupported_version_names_what_is_supported(void **state)
{
    struct case_request request = { .body = ECHO(VERSION("v9") "," CAPABILITIES),
                                    .headers = { { "MCP-Protocol-Version", "v9" }, { "Mcp-Method", "tools/call" }, { "Mcp-Name", "echo" } } };
    struct case_reply *reply = case_begin(*state, &request);
    assert_has(case_body(reply), "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"v9\"}");
    case_end(reply);
}

static void test_get_and_delete_are_of_the_older_era(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_request request = { .method = MCP_HTTP_GET,
                                    .headers = { { "MCP-Protocol-Version", "2026-07-28" }, { "Mcp-Session-Id", session } } };
    struct case_reply *reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 405);
    case_end(reply);
    request.method = MCP_HTTP_DELETE;
    reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 405);
    case_end(reply);
}

static void test_notifications_and_replies_without_a_session(void **state)
{
    static const char *const bodies[] = { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
                                          "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{}}" };
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++) {
        struct case_request request = { .body = bodies[i], .headers = { { "MCP-Protocol-Version", "2026-07-28" } } };
        struct case_reply *reply = case_begin(*state, &request);
        assert_int_equal(case_status(reply), 202);
        assert_string_equal(case_body(reply), "");
        case_end(reply);
    }
}

/* ---- requestState ---- */

#define STATE_PARAMS(arguments, state) "\"name\":\"state\",\"arguments\":" arguments ",\"requestState\":\"" state "\""

static const char *first_state(struct mcp_server *server, char *ret_params, size_t size, const char *arguments)
{
    const char *answer = case_post_modern(server, "tools/call", "state", "\"name\":\"state\",\"arguments\":{\"a\":1}", NULL);
    assert_has(answer, "\"resultType\":\"input_required\"");
    const char *begin = strstr(answer, "\"requestState\":\"");
    assert_non_null(begin);
    begin += strlen("\"requestState\":\"");
    const char *end = strchr(begin, '"');
    snprintf(ret_params, size, "\"name\":\"state\",\"arguments\":%s,\"requestState\":\"%.*s\"", arguments, (int)(end - begin), begin);
    return ret_params;
}

static void test_a_state_is_good_once(void **state)
{
    char params[2048];
    first_state(*state, params, sizeof(params), "{\"a\":1}");
    assert_has(case_post_modern(*state, "tools/call", "state", params, NULL), "state 7");
    assert_has(case_post_modern(*state, "tools/call", "state", params, NULL), "bad state");
}

static void test_a_state_is_bound_to_its_call(void **state)
{
    char params[2048];
    first_state(*state, params, sizeof(params), "{\"a\":2}");
    assert_has(case_post_modern(*state, "tools/call", "state", params, NULL), "bad state");
}

static void test_a_changed_state_is_refused(void **state)
{
    char params[2048];
    first_state(*state, params, sizeof(params), "{\"a\":1}");
    size_t size = strlen(params);
    params[size - 10] = params[size - 10] == 'A' ? 'B' : 'A';
    assert_has(case_post_modern(*state, "tools/call", "state", params, NULL), "bad state");
    assert_has(case_post_modern(*state, "tools/call", "state", STATE_PARAMS("{}", ""), NULL), "bad state");
    assert_has(case_post_modern(*state, "tools/call", "state", STATE_PARAMS("{}", "!!"), NULL), "bad state");
    assert_has(case_post_modern(*state, "tools/call", "state", STATE_PARAMS("{}", "AAAA"), NULL), "bad state");
}

static void test_a_stopped_server_refuses(void **state)
{
    int status = 0;
    mcp_server_stop(*state);
    case_post(*state, NULL, ping, &status);
    assert_int_equal(status, 503);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_initialize_answers_with_a_version_it_speaks),
        WITH_SERVER(test_initialize_without_a_version_is_refused),
        WITH_SERVER(test_ids_come_back_as_they_were),
        WITH_SERVER(test_what_is_no_message_is_refused),
        WITH_SERVER(test_what_cannot_be_read_is_a_parse_error),
        cmocka_unit_test(test_a_message_that_is_too_large_is_refused),
        WITH_SERVER(test_unknown_methods),
        WITH_SERVER(test_lists_are_one_page),
        WITH_SERVER(test_levels_are_checked),
        WITH_SERVER(test_sessions_are_asked_for),
        WITH_SERVER(test_a_session_belongs_to_its_credential),
        WITH_SERVER(test_delete_ends_a_session),
        cmocka_unit_test(test_idle_sessions_end),
        cmocka_unit_test(test_the_idlest_session_yields),
        WITH_SERVER(test_an_unknown_version_header_is_refused),
        WITH_SERVER(test_nothing_acceptable),
        WITH_SERVER(test_batches_of_their_version),
        WITH_SERVER(test_no_batches_of_other_versions),
        WITH_SERVER(test_discovery),
        WITH_SERVER(test_removed_methods),
        WITH_SERVER(test_modern_checks_in_their_order),
        WITH_SERVER(test_an_unsupported_version_names_what_is_supported),
        WITH_SERVER(test_get_and_delete_are_of_the_older_era),
        WITH_SERVER(test_notifications_and_replies_without_a_session),
        WITH_SERVER(test_a_state_is_good_once),
        WITH_SERVER(test_a_state_is_bound_to_its_call),
        WITH_SERVER(test_a_changed_state_is_refused),
        WITH_SERVER(test_a_stopped_server_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
