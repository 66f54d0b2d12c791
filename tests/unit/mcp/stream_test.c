/*
 * MCP exchanges of more than one message: streams and their resumption, progress,
 * cancellation, elicitation, notifications, and the shutdown of the server.
 */
#include "fixtures/mcp_case.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define CALL_WITH_TOKEN(name)                                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"_meta\":{\"progressToken\":\"t\"}}}"

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

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static struct case_reply *begin(struct mcp_server *server, const char *session, const char *body)
{
    struct case_request request = { .body = body, .headers = { { "Mcp-Session-Id", session } } };
    return case_begin(server, &request);
}

static struct case_reply *begin_get(struct mcp_server *server, const char *session, const char *last_event_id)
{
    struct case_request request = { .method = MCP_HTTP_GET, .headers = { { "Mcp-Session-Id", session } } };
    if (last_event_id != NULL)
        request.headers[1][0] = "Last-Event-ID", request.headers[1][1] = last_event_id;
    return case_begin(server, &request);
}

static struct case_reply *begin_modern(struct mcp_server *server, const char *method, const char *name, const char *params)
{
    char body[1024];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             method, params);
    struct case_request request = {
        .body = body,
        .headers = { { "MCP-Protocol-Version", "2026-07-28" }, { "Mcp-Method", method }, { name != NULL ? "Mcp-Name" : NULL, name } },
    };
    return case_begin(server, &request);
}

/* ---- Answers that come later ---- */

static void test_a_late_answer_is_plain_json(void **state)
{
    struct case_reply *reply = begin(*state, case_initialize(*state, "2025-11-25", "{}"), CALL("later"));
    assert_int_equal(case_status(reply), 200);
    assert_false(case_was_immediate(reply));
    assert_false(case_is_stream(reply));
    assert_string_equal(case_body(reply), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"text\":\"later\"}}");
    case_end(reply);
}

static void test_an_answer_for_those_who_take_streams_only(void **state)
{
    struct case_request request = { .body = CALL("echo"),
                                    .headers = { { "Mcp-Session-Id", case_initialize(*state, "2025-06-18", "{}") } },
                                    .only_stream = true };
    struct case_reply *reply = case_begin(*state, &request);
    assert_int_equal(case_status(reply), 200);
    assert_true(case_is_stream(reply));
    assert_string_equal(case_body(reply),
                        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"text\":\"nothing\"}}\n\n");
    case_end(reply);
}

static void test_progress_only_rises(void **state)
{
    struct case_reply *reply = begin(*state, case_initialize(*state, "2025-06-18", "{}"), CALL_WITH_TOKEN("progress"));
    case_status(reply);
    const char *stream = case_body(reply);
    assert_true(case_is_stream(reply));
    assert_int_equal(count_of(stream, "notifications/progress"), 3);
    assert_has(stream, "{\"progressToken\":\"t\",\"progress\":1,\"total\":4,\"message\":\"step\"}");
    assert_has(stream, "\"progress\":2,");
    assert_has(stream, "\"progress\":3.5,");
    assert_has(stream, "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"text\":\"progressed\"}}\n\n");
    assert_int_equal(count_of(stream, "id: "), 0); /* 2025-06-18 has no resumption */
    case_end(reply);
}

static void test_no_progress_without_a_token_or_a_stream(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *reply = begin(*state, session, CALL("progress"));
    case_status(reply);
    assert_false(case_is_stream(reply));
    case_end(reply);

    struct case_request request = { .body = CALL_WITH_TOKEN("progress"), .headers = { { "Mcp-Session-Id", session } }, .only_json = true };
    reply = case_begin(*state, &request);
    case_status(reply);
    assert_string_equal(case_body(reply), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"text\":\"progressed\"}}");
    case_end(reply);
}

/* ---- Resumption ---- */

static void test_a_stream_can_be_resumed_after_any_event(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *reply = begin(*state, session, CALL_WITH_TOKEN("progress"));
    case_status(reply);
    static const char first[] = "id: 1-1\ndata: \n\nid: 1-2\nevent: message\ndata: {";
    assert_int_equal(strncmp(case_body(reply), first, strlen(first)), 0);
    assert_has(case_body(reply), "id: 1-5\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,");

    static const struct {
        const char *after;
        size_t messages;
    } resumptions[] = { { "1-1", 4 }, { "1-3", 2 }, { "1-4", 1 }, { "1-5", 0 } };
    for (size_t i = 0; i < ARRAY_COUNT(resumptions); i++) {
        struct case_reply *again = begin_get(*state, session, resumptions[i].after);
        assert_int_equal(case_status(again), 200);
        assert_true(case_is_stream(again));
        assert_int_equal(count_of(case_body(again), "data: {"), resumptions[i].messages);
        case_end(again);
    }
    case_end(reply);
}

static void test_what_cannot_be_resumed(void **state)
{
    static const char *const ids[] = { "1-1", "2-1", "x", "-", "1-", "1-99", "1--1", "99999999999999999999999-1", "" };
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        struct case_reply *reply = begin_get(*state, session, ids[i]);
        assert_int_equal(case_status(reply), 400);
        case_end(reply);
    }
}

static void test_a_server_may_hang_up_and_finish_later(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *reply = begin(*state, session, CALL("hangup"));
    case_status(reply);
    assert_string_equal(case_body(reply), "id: 1-1\ndata: \n\nretry: 250\n\n");
    case_end(reply);
    struct case_reply *again = begin_get(*state, session, "1-1");
    assert_int_equal(case_status(again), 200);
    assert_has(case_body(again), "while you were away");
    case_end(again);
}

static void test_the_answer_waits_for_a_client_that_lost_its_stream(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{\"elicitation\":{}}");
    struct case_reply *reply = begin(*state, session, CALL("ask"));
    assert_true(case_streamed(reply, "elicitation/create"));
    case_leave(reply);
    struct case_reply *again = begin_get(*state, session, "1-2");
    int status = 0;
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"accept\"}}", &status);
    assert_int_equal(status, 202);
    assert_int_equal(case_status(again), 200);
    assert_has(case_body(again), "\"text\":\"accept\"");
    case_end(again);
    case_end(reply);
}

static void test_streams_of_a_session_are_bounded(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    for (int i = 0; i < 20; i++) {
        struct case_reply *reply = begin(*state, session, CALL_WITH_TOKEN("progress"));
        case_status(reply);
        assert_int_equal(count_of(case_body(reply), "progressed"), 1);
        case_end(reply);
    }
    struct case_reply *old = begin_get(*state, session, "1-1");
    assert_int_equal(case_status(old), 200);
    case_end(old);
}

/* The status of a GET that resumes this stream of a session after its first event, at its end. */
static int resumed_status(struct mcp_server *server, const char *session, const char *key, int stream)
{
    char id[16];
    snprintf(id, sizeof(id), "%d-1", stream);
    struct case_request request = {
        .method = MCP_HTTP_GET,
        .headers = { { "Mcp-Session-Id", session }, { "Last-Event-ID", id } },
        .secret = key,
    };
    struct case_reply *reply = case_begin(server, &request);
    int status = case_status(reply);
    case_end(reply);
    return status;
}

static struct case_reply *call_as(struct mcp_server *server, const char *session, const char *key, const char *body)
{
    struct case_request request = { .body = body,
                                    .headers = { { session != NULL ? "Mcp-Session-Id" : NULL, session } },
                                    .secret = key };
    struct case_reply *reply = case_begin(server, &request);
    case_status(reply);
    return reply;
}

/* An organization whose kept answers exceed its share cannot resume the next ones. It takes nothing from another one. */
static void test_kept_answers_are_bounded_for_each_organization(void **state)
{
    enum { KEPT = 3 }; /* of 5 MiB each, in a share of 16 MiB */
    static const char initialize[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}";
    struct case_reply *of_a = call_as(*state, NULL, "a1", initialize);
    struct case_reply *of_b = call_as(*state, NULL, "b1", initialize);
    for (int i = 1; i <= KEPT + 2; i++) {
        case_end(call_as(*state, case_session(of_a), "a1", CALL("vast")));
        resumed_status(*state, case_session(of_a), "a1", i); /* at the end of it the answer is there */
        assert_int_equal(resumed_status(*state, case_session(of_a), "a1", i), i <= KEPT ? 200 : 400);
    }
    case_end(call_as(*state, case_session(of_b), "b1", CALL("vast")));
    assert_int_equal(resumed_status(*state, case_session(of_b), "b1", 1), 200);
    assert_int_equal(resumed_status(*state, case_session(of_a), "a1", 1), 200);
    case_end(of_a);
    case_end(of_b);
}

struct resumption {
    struct mcp_server *server;
    const char *session;
};

static void *resume_often(void *data)
{
    const struct resumption *resumption = data;
    for (int i = 0; i < 100; i++)
        case_end(begin_get(resumption->server, resumption->session, "1-1"));
    return NULL;
}

/* Two clients resume a stream again and again while its events are added, sent and dropped: for the sanitizers. */
static void test_a_stream_is_resumed_while_it_changes(void **state)
{
    struct resumption resumption = { *state, case_initialize(*state, "2025-11-25", "{}") };
    pthread_t threads[2];
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, resume_often, &resumption), 0);
    struct case_reply *reply = begin(*state, resumption.session, CALL_WITH_TOKEN("flood"));
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    case_end(reply);
}

/* ---- Cancelling ---- */

#define CANCEL "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}"

static void test_a_notification_cancels(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *reply = begin(*state, session, CALL("hold"));
    case_await_held(1);
    int status = 0;
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"5\"}}", &status);
    assert_int_equal(case_cancelled(), 0); /* a text is another id than a number */
    case_post(*state, case_initialize(*state, "2025-11-25", "{}"), CANCEL, &status);
    assert_int_equal(case_cancelled(), 0); /* and a session does not reach into another */
    case_post(*state, session, CANCEL, &status);
    assert_int_equal(status, 202);
    assert_int_equal(case_cancelled(), 1);
    case_status(reply);
    assert_has(case_body(reply), "\"id\":5,\"error\"");
    case_post(*state, session, CANCEL, &status);
    assert_int_equal(case_cancelled(), 1);
    case_end(reply);
}

static void test_a_disconnect_is_no_cancel_in_the_older_era(void **state)
{
    struct case_reply *reply = begin(*state, case_initialize(*state, "2025-11-25", "{}"), CALL("hold"));
    case_await_held(1);
    case_end(reply);
    assert_int_equal(case_cancelled(), 0);
    case_let_go();
}

static void test_a_disconnect_cancels_in_the_modern_era(void **state)
{
    struct case_reply *reply = begin_modern(*state, "tools/call", "hold", "\"name\":\"hold\"");
    case_await_held(1);
    case_end(reply);
    assert_int_equal(case_cancelled(), 1);
}

/* ---- Questions ---- */

static void test_questions_go_into_the_stream_of_their_call(void **state)
{
    const char *session = case_initialize(*state, "2025-06-18", "{\"elicitation\":{}}");
    struct case_reply *reply = begin(*state, session, CALL("ask"));
    assert_true(case_streamed(reply, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}"));
    /* Not ours: another session, another form, another number. */
    static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"decline\"}}";
    case_post(*state, case_initialize(*state, "2025-06-18", "{}"), answer, NULL);
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", NULL);
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-2\",\"result\":{}}", NULL);
    case_post(*state, session, answer, NULL);
    assert_int_equal(case_status(reply), 200);
    assert_has(case_body(reply), "\"text\":\"decline\"");
    case_post(*state, session, answer, NULL);
    case_end(reply);
}

static void test_a_refused_question_is_no_answer(void **state)
{
    const char *session = case_initialize(*state, "2025-06-18", "{}");
    struct case_reply *reply = begin(*state, session, CALL("ask"));
    assert_true(case_streamed(reply, "ask-1"));
    case_post(*state, session, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"error\":{\"code\":-1,\"message\":\"no\"}}", NULL);
    case_status(reply);
    assert_has(case_body(reply), "no answer");
    case_end(reply);
}

static void test_questions_end_with_their_call_and_session(void **state)
{
    const char *session = case_initialize(*state, "2025-06-18", "{}");
    struct case_reply *cancelled = begin(*state, session, CALL("ask"));
    assert_true(case_streamed(cancelled, "ask-1"));
    case_post(*state, session, CANCEL, NULL);
    case_status(cancelled);
    case_end(cancelled);

    struct case_reply *reply = begin(*state, session, CALL("ask"));
    assert_true(case_streamed(reply, "ask-2"));
    struct case_request request = { .method = MCP_HTTP_DELETE, .headers = { { "Mcp-Session-Id", session } } };
    case_end(case_begin(*state, &request));
    case_status(reply);
    assert_has(case_body(reply), "no answer");
    case_end(reply);
}

static void test_nothing_is_asked_in_the_modern_era(void **state)
{
    struct case_reply *reply = begin_modern(*state, "tools/call", "ask", "\"name\":\"ask\"");
    case_status(reply);
    assert_has(case_body(reply), "cannot ask");
    case_end(reply);
}

/* ---- Announcements ---- */

static void test_changes_reach_the_streams_of_sessions(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *stream = begin_get(*state, session, NULL);
    case_post(*state, session, CALL("announce"), NULL);
    assert_true(case_streamed(stream, "notifications/tools/list_changed"));
    assert_int_equal(count_of(case_body(stream), "resources/updated"), 0);

    static const char watch[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"case://one\"}}";
    assert_has(case_post(*state, session, watch, NULL), "\"result\":{}");
    case_post(*state, session, CALL("announce"), NULL);
    assert_true(case_streamed(stream, "{\"uri\":\"case://one\"}"));

    static const char unwatch[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":\"case://one\"}}";
    case_post(*state, session, unwatch, NULL);
    case_post(*state, session, CALL("announce"), NULL);
    assert_int_equal(count_of(case_body(stream), "resources/updated"), 1);
    assert_int_equal(count_of(case_body(stream), "list_changed"), 3);
    static const char nothing[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"case://two\"}}";
    assert_has(case_post(*state, session, nothing, NULL), "-32602");
    case_leave(stream);
    case_post(*state, session, CALL("announce"), NULL);
    case_end(stream);
}

static void test_subscriptions_get_what_they_asked_for(void **state)
{
    struct case_reply *list = begin_modern(*state, "subscriptions/listen", NULL, "\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true}");
    struct case_reply *one = begin_modern(*state, "subscriptions/listen", NULL,
                                          "\"notifications\":{\"resourceSubscriptions\":[\"case://one\",\"case://two\"]}");
    assert_has(case_body(list), "\"notifications\":{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"m\"}");
    assert_has(case_body(one), "\"notifications\":{\"resourceSubscriptions\":[\"case://one\"]}");
    case_end(begin_modern(*state, "tools/call", "announce", "\"name\":\"announce\""));
    assert_has(case_body(list), "notifications/tools/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"m\"}}");
    assert_int_equal(count_of(case_body(list), "updated"), 0);
    assert_has(case_body(one), "notifications/resources/updated");
    assert_int_equal(count_of(case_body(one), "list_changed"), 0);
    case_end(one);
    case_end(begin_modern(*state, "tools/call", "announce", "\"name\":\"announce\""));
    case_end(list);
}

static void test_a_subscription_without_a_wish_is_refused(void **state)
{
    struct case_reply *reply = begin_modern(*state, "subscriptions/listen", NULL, "\"notifications\":7");
    case_status(reply);
    assert_has(case_body(reply), "-32602");
    case_end(reply);
}

/* ---- The end ---- */

static void test_a_stopping_server_ends_its_streams(void **state)
{
    struct case_reply *get = begin_get(*state, case_initialize(*state, "2025-11-25", "{}"), NULL);
    struct case_reply *listen = begin_modern(*state, "subscriptions/listen", NULL, "\"notifications\":{\"toolsListChanged\":true}");
    struct case_reply *held = begin_modern(*state, "tools/call", "hold", "\"name\":\"hold\"");
    case_await_held(1);
    mcp_server_stop(*state);
    assert_int_equal(case_status(get), 200);
    assert_int_equal(case_status(listen), 200);
    assert_has(case_body(listen), "\"id\":\"m\",\"result\":{\"resultType\":\"complete\"");
    case_let_go();
    assert_int_equal(case_status(held), 200);
    assert_has(case_body(held), "let go");
    case_end(get);
    case_end(listen);
    case_end(held);
}

static void test_delete_ends_the_stream_of_its_session(void **state)
{
    const char *session = case_initialize(*state, "2025-11-25", "{}");
    struct case_reply *stream = begin_get(*state, session, NULL);
    struct case_request request = { .method = MCP_HTTP_DELETE, .headers = { { "Mcp-Session-Id", session } } };
    case_end(case_begin(*state, &request));
    assert_int_equal(case_status(stream), 200);
    case_end(stream);
}

/* Clients that come, leave early, cancel and announce, all at once: for the sanitizers. */
static void *live_dangerously(void *data)
{
    struct mcp_server *server = data;
    for (int i = 0; i < 60; i++) {
        struct case_reply *listen = begin_modern(server, "subscriptions/listen", NULL, "\"notifications\":{\"toolsListChanged\":true}");
        struct case_reply *progress = begin_modern(server, "tools/call", "progress", "\"name\":\"progress\"");
        struct case_reply *later = begin_modern(server, "tools/call", "later", "\"name\":\"later\"");
        case_end(begin_modern(server, "tools/call", "announce", "\"name\":\"announce\""));
        if (i % 2 == 0)
            case_end(progress);
        struct case_reply *held = begin_modern(server, "tools/call", "hold", "\"name\":\"hold\"");
        case_end(held);
        mcp_server_tick(server);
        case_end(later);
        case_end(listen);
        if (i % 2 != 0) {
            case_status(progress);
            case_end(progress);
        }
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_dangerously, *state), 0);
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(case_cancelled() > 0, 1);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_a_late_answer_is_plain_json),
        WITH_SERVER(test_an_answer_for_those_who_take_streams_only),
        WITH_SERVER(test_progress_only_rises),
        WITH_SERVER(test_no_progress_without_a_token_or_a_stream),
        WITH_SERVER(test_a_stream_can_be_resumed_after_any_event),
        WITH_SERVER(test_what_cannot_be_resumed),
        WITH_SERVER(test_a_server_may_hang_up_and_finish_later),
        WITH_SERVER(test_the_answer_waits_for_a_client_that_lost_its_stream),
        WITH_SERVER(test_streams_of_a_session_are_bounded),
        WITH_SERVER(test_kept_answers_are_bounded_for_each_organization),
        WITH_SERVER(test_a_stream_is_resumed_while_it_changes),
        WITH_SERVER(test_a_notification_cancels),
        WITH_SERVER(test_a_disconnect_is_no_cancel_in_the_older_era),
        WITH_SERVER(test_a_disconnect_cancels_in_the_modern_era),
        WITH_SERVER(test_questions_go_into_the_stream_of_their_call),
        WITH_SERVER(test_a_refused_question_is_no_answer),
        WITH_SERVER(test_questions_end_with_their_call_and_session),
        WITH_SERVER(test_nothing_is_asked_in_the_modern_era),
        WITH_SERVER(test_changes_reach_the_streams_of_sessions),
        WITH_SERVER(test_subscriptions_get_what_they_asked_for),
        WITH_SERVER(test_a_subscription_without_a_wish_is_refused),
        WITH_SERVER(test_a_stopping_server_ends_its_streams),
        WITH_SERVER(test_delete_ends_the_stream_of_its_session),
        WITH_SERVER(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
