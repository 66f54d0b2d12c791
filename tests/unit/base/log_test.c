/* Log: the members of a line about an error. */
#include "fixtures/base_case.h"

#include "base/log.h"

#include <string.h>

static struct log_line line;

static const char *members_of(enum error_code code, void (*add)(struct log_line *line, const struct error *err))
{
    struct error err = { .code = ERR_NONE };
    fail(&err, code, "ada@example.org", "ada@example.org is no address.");
    error_because(&err, "a cause");
    log_begin(&line, LOG_INFO, "call");
    add(&line, &err);
    return buf_text(&line.out);
}

/* The log holds no arguments of calls; the sentence about a wrong argument quotes it. */
static void test_the_log_quotes_no_caller(void **state)
{
    (void)state;
    const char *text = members_of(ERR_INVALID_REQUEST, log_error_members);
    assert_non_null(strstr(text, "\"errorCode\":\"INVALID_REQUEST\""));
    assert_non_null(strstr(text, "log_test.c:"));
    assert_null(strstr(text, "ada@example.org"));
    assert_null(strstr(text, "a cause"));
    buf_done(&line.out);
}

static void test_a_fault_of_the_server_has_its_cause(void **state)
{
    (void)state;
    const char *text = members_of(ERR_INTERNAL_ERROR, log_error_members);
    assert_non_null(strstr(text, "\"message\":"));
    assert_non_null(strstr(text, "\"cause\":\"a cause\""));
    buf_done(&line.out);
}

static void test_an_operator_sees_the_whole_error(void **state)
{
    (void)state;
    const char *text = members_of(ERR_INVALID_REQUEST, log_operator_error_members);
    assert_non_null(strstr(text, "ada@example.org is no address."));
    assert_non_null(strstr(text, "\"cause\":\"a cause\""));
    buf_done(&line.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_log_quotes_no_caller),
        cmocka_unit_test(test_a_fault_of_the_server_has_its_cause),
        cmocka_unit_test(test_an_operator_sees_the_whole_error),
    };
    return cmocka_run_group_tests_name("base: log", tests, NULL, NULL);
}
