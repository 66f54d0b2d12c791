/* What the receiver of a message told about its sender (RFC 8601): only the fields of the receiver count. */
#include "base/text.h"
#include "mail/authentication_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_results(const char *headers, const char *spf, const char *dkim, const char *dmarc)
{
    ARENA_SCOPE arena = arena_new(0);
    const struct bytes bytes = { (const unsigned char *)headers, strlen(headers) };
    const struct authentication_results results = authentication_results_read(arena, bytes);
    if (!text_equal(results.spf, spf) || !text_equal(results.dkim, dkim) || !text_equal(results.dmarc, dmarc))
        fail_msg("%s gives spf %s, dkim %s, dmarc %s", headers, results.spf, results.dkim, results.dmarc);
}

static void test_the_results_of_the_receiver_are_read(void **state)
{
    (void)state;
    assert_results(
        "Authentication-Results: mx.example; spf=pass smtp.mailfrom=a.example; dkim=pass header.d=a.example; dmarc=pass\r\n",
        "pass", "pass", "pass");
    assert_results(
        "Subject: x\r\nauthentication-results: mx.example 1;\r\n\tDKIM = Fail (bad (really); spf=pass);\r\n spf=SoftFail\r\n",
        "softfail", "fail", NULL);
    assert_results("Authentication-Results: mx.example; dkim=fail header.d=b.example; dkim=pass header.d=a.example; dkim=none\r\n",
                   NULL, "pass", NULL);
    assert_results("Authentication-Results: mx.example; none\r\n", NULL, NULL, NULL);
    assert_results("Subject: spf=pass\r\n", NULL, NULL, NULL);
}

/* A sender can write such fields too; they are below those of the receiver. */
static void test_fields_of_other_servers_do_not_count(void **state)
{
    (void)state;
    assert_results(
        "Authentication-Results: mx.example; spf=fail\r\nAuthentication-Results: mx.example; dkim=none\r\n"
        "Authentication-Results: other.example; spf=pass; dmarc=pass\r\nAuthentication-Results: mx.example; dmarc=pass\r\n",
        "fail", "none", NULL);
    assert_results("Authentication-Results: mx.example; spf=fail\r\nAuthentication-Results: mx.example.org; spf=pass\r\n", "fail",
                   NULL, NULL);
}

static void test_malformed_fields_tell_nothing(void **state)
{
    (void)state;
    assert_results("Authentication-Results:\r\n", NULL, NULL, NULL);
    assert_results("Authentication-Results: ;;;;\r\n", NULL, NULL, NULL);
    assert_results("Authentication-Results: mx; spf; dkim=; dmarc=passed; spf =\r\n", NULL, NULL, NULL);
    assert_results("Authentication-Results: mx; spf=pass (((\r\n", "pass", NULL, NULL);
    assert_results("Authentication-Results: mx; arc-spf=pass; xspf=pass; spfx=pass\r\n", NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_results_of_the_receiver_are_read),
        cmocka_unit_test(test_fields_of_other_servers_do_not_count),
        cmocka_unit_test(test_malformed_fields_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
