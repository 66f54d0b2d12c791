/* Sessions over HTTP: what they keep of their client and its messages, and which one is evicted. */
#include "fixtures/mcp_case.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

/* ---- What a session keeps ---- */

static size_t json_blocks; /* of jansson, not yet freed */

static void *counting_malloc(size_t size)
{
    json_blocks++;
    return malloc(size);
}

static void counting_free(void *block)
{
    json_blocks -= block != NULL;
    free(block);
}

static void test_a_session_keeps_no_json(void **state)
{
    json_set_alloc_funcs(counting_malloc, counting_free);
    case_initialize(*state, "2025-11-25", "{\"elicitation\":{\"form\":{},\"other\":[[],[]]},\"unknown\":[{},{},{}]}");
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(json_blocks, 0);
}

/* A client with an answer may send the next large message. */
static void test_a_message_is_freed_before_its_answer(void **state)
{
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"later\"}}",
    };
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++) {
        static bool is_freed;
        is_freed = false;
        const struct case_request request = {
            .body = bodies[i],
            .headers = { { "Mcp-Session-Id", session } },
            .message_is_freed = &is_freed,
        };
        struct case_reply *reply = case_begin(*state, &request);
        assert_int_equal(case_status(reply), 200);
        assert_true(case_was_freed_first(reply));
        case_end(reply);
    }
}

/* ---- Eviction ---- */

/* Begins a session of this key, whose first character names its organization. */
static struct case_reply *begin_session(struct mcp_server *server, const char *key)
{
    const struct case_request request = {
        .body = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}",
        .secret = key,
    };
    struct case_reply *reply = case_begin(server, &request);
    assert_int_equal(case_status(reply), 200);
    return reply;
}

static int ping_status(struct mcp_server *server, struct case_reply *session, const char *key)
{
    const struct case_request request = {
        .body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        .headers = { { "Mcp-Session-Id", case_session(session) } },
        .secret = key,
    };
    struct case_reply *reply = case_begin(server, &request);
    int status = case_status(reply);
    case_end(reply);
    return status;
}

static void test_an_organization_with_many_sessions_loses_its_own(void **state)
{
    (void)state;
    const struct mcp_config config = { .session_max_count = 4 };
    struct mcp_server *server = case_server_new(&config);
    struct case_reply *of_a = begin_session(server, "a1");
    struct case_reply *of_b[6];
    for (size_t i = 0; i < ARRAY_COUNT(of_b); i++)
        of_b[i] = begin_session(server, i % 2 == 0 ? "b1" : "b2");
    assert_int_equal(ping_status(server, of_a, "a1"), 200);
    assert_int_equal(ping_status(server, of_b[2], "b1"), 404);
    assert_int_equal(ping_status(server, of_b[3], "b2"), 200);
    /* A new organization finds room as long as another has more sessions. */
    struct case_reply *of_c = begin_session(server, "c1");
    assert_int_equal(ping_status(server, of_c, "c1"), 200);
    assert_int_equal(ping_status(server, of_a, "a1"), 200);
    assert_int_equal(ping_status(server, of_b[4], "b1"), 404);
    assert_int_equal(ping_status(server, of_b[5], "b2"), 200);
    case_server_free(server);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_a_session_keeps_no_json),
        WITH_SERVER(test_a_message_is_freed_before_its_answer),
        cmocka_unit_test(test_an_organization_with_many_sessions_loses_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
