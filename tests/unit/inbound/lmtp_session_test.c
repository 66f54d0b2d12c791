/*
 * A message for several recipients: it is read once, by the thread that runs a call and not by the one of the listener. The test
 * stands in for the threads of the service: it keeps the calls that are submitted, and runs them when it wants to.
 */
#include "base/text.h"
#include "crypto/keys.h"
#include "inbound/lmtp_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct call *calls[LMTP_MAX_RECIPIENTS];
static size_t call_count;
static size_t wake_count;
static struct api *api;
static struct lmtp_host host;
static struct lmtp_session *session;

/* The linker puts it in the place of api_submit, see unit.cmake. */
void __wrap_api_submit(struct api *given, struct call *call);
void __wrap_api_submit(struct api *given, struct call *call)
{
    assert_ptr_equal(given, api);
    assert_in_range(call_count, 0, LMTP_MAX_RECIPIENTS - 1);
    calls[call_count++] = call;
}

static void count_wake(void *context)
{
    (void)context;
    wake_count++;
}

static int begin(void **state)
{
    (void)state;
    crypto_start();
    call_count = 0;
    wake_count = 0;
    api = api_new(&(struct api_config){ .installation = { .data_dir = "/nowhere" } });
    host = (struct lmtp_host){ .api = api, .name = "here.example", .wake = count_wake };
    session = lmtp_session_new(&host);
    return 0;
}

static int end(void **state)
{
    (void)state;
    lmtp_session_free(session);
    api_free(api, 0);
    return 0;
}

static void send_text(const char *text)
{
    assert_int_equal(lmtp_session_take(session, text, strlen(text)), strlen(text));
}

/* A bounce for these recipients, up to its last line. Their local part is a role; the number is in the host. */
static void send_message(const char *role, size_t count, bool has_one_host)
{
    char line[128];
    send_text("LHLO peer\r\nMAIL FROM:<>\r\n");
    for (size_t i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "RCPT TO:<%s@bounce.x%zu.example>\r\n", role, has_one_host ? 0 : i);
        send_text(line);
    }
    send_text("DATA\r\n");
    buf_clear(lmtp_session_output(session));
    send_text("From: MAILER-DAEMON@old.example\r\nSubject: failure notice\r\n\r\n<ada@readers.example>:\r\n"
              "Sorry, no mailbox here by that name. (#5.1.1)\r\n.\r\n");
}

static void complete(struct call *call, bool ok)
{
    call->ok = ok;
    call->error.code = ok ? ERR_NONE : ERR_SERVICE_UNAVAILABLE;
    call->on_completed(call);
}

static size_t count_replies(const char *code)
{
    size_t count = 0;
    for (const char *at = buf_text(lmtp_session_output(session)); (at = strstr(at, code)) != NULL; at += strlen(code))
        count++;
    return count;
}

/* The calls from the second on have the arguments that the first has read, each with its own recipient. */
static void test_a_message_is_read_once_for_all_recipients(void **state)
{
    (void)state;
    send_message("abuse", 50, false);
    assert_int_equal(call_count, 1);
    assert_null(calls[0]->input.body); /* the thread of the listener has not read it */
    assert_non_null(calls[0]->read_input);
    calls[0]->read_input(calls[0]);
    assert_string_equal(json_string_value(json_object_get(calls[0]->input.body, "recipient")), "ada@readers.example");
    complete(calls[0], true);
    assert_int_equal(wake_count, 1);
    lmtp_session_advance(session);
    assert_int_equal(call_count, 50);
    for (size_t i = 0; i < 50; i++) {
        char address[64];
        snprintf(address, sizeof(address), "abuse@bounce.x%zu.example", i);
        assert_true(i == 0 || calls[i]->read_input == NULL);
        assert_string_equal(json_string_value(json_object_get(calls[i]->input.body, "returnPath")), address);
        assert_string_equal(json_string_value(json_object_get(calls[i]->input.body, "kind")), "bounce");
    }
    assert_int_equal(count_replies("\r\n"), 0);
    for (size_t i = 1; i < 50; i++)
        complete(calls[i], i != 7);
    lmtp_session_advance(session);
    assert_int_equal(count_replies("250 2.0.0"), 49);
    assert_int_equal(count_replies("451 4.3.0"), 1);
}

/* A recipient that is named again, in whatever case, gets the reply of the first. */
static void test_a_repeated_recipient_has_one_call(void **state)
{
    (void)state;
    send_message("Abuse", 25, true);
    assert_int_equal(call_count, 1);
    calls[0]->read_input(calls[0]);
    complete(calls[0], false);
    lmtp_session_advance(session);
    assert_int_equal(call_count, 1);
    assert_int_equal(count_replies("451 4.3.0"), 25);
    buf_clear(lmtp_session_output(session));
    send_text("MAIL FROM:<>\r\nRCPT TO:<abuse@bounce.x.example>\r\nRCPT TO:<ABUSE@bounce.x.example>\r\nRCPT "
              "TO:<abuse@BOUNCE.x.example>\r\n"
              "DATA\r\nSubject: Hello\r\n\r\n.\r\n");
    assert_int_equal(call_count, 2);
    calls[1]->read_input(calls[1]);
    complete(calls[1], true);
    lmtp_session_advance(session);
    assert_int_equal(call_count, 2);
    assert_int_equal(count_replies("250 2.0.0"), 3);
}

/* The call of the first recipient has failed before it has read the message. */
static void test_a_message_that_was_not_read_has_one_call(void **state)
{
    (void)state;
    send_message("fbl", 3, false);
    complete(calls[0], false);
    lmtp_session_advance(session);
    assert_int_equal(call_count, 1);
    assert_int_equal(count_replies("451 4.3.0"), 3);
}

/* The first call has read the message and failed: the others are made. */
static void test_a_failed_recipient_fails_alone(void **state)
{
    (void)state;
    send_message("fbl", 3, false);
    calls[0]->read_input(calls[0]);
    complete(calls[0], false);
    lmtp_session_advance(session);
    assert_int_equal(call_count, 3);
    complete(calls[1], true);
    complete(calls[2], true);
    lmtp_session_advance(session);
    assert_int_equal(count_replies("451 4.3.0"), 1);
    assert_int_equal(count_replies("250 2.0.0"), 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_message_is_read_once_for_all_recipients),
        TEST(test_a_repeated_recipient_has_one_call),
        TEST(test_a_message_that_was_not_read_has_one_call),
        TEST(test_a_failed_recipient_fails_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
