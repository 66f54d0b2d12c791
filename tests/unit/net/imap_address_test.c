/* Addresses of mailboxes that are polled by IMAP. */
#include "base/clock.h"
#include "net/imap_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_parts_are_read(void **state)
{
    (void)state;
    struct imap_address address;
    assert_true(imap_address_read("imaps://a%40b.example:p%3Aw@mail.example:1993/Reports/In?every=5&tls=none", &address));
    assert_string_equal(address.url, "imaps://mail.example:1993/Reports/In");
    assert_string_equal(address.user, "a@b.example");
    assert_string_equal(address.password, "p:w");
    assert_int_equal(address.every_us, 5 * US_PER_S);
    assert_true(address.is_plain);
    imap_address_done(&address);
    assert_true(imap_address_read("imap://reports@mail.example/INBOX", &address));
    assert_null(address.password);
    assert_int_equal(address.every_us, 60 * US_PER_S);
    assert_false(address.is_plain);
    assert_true(address.has_folder);
    imap_address_done(&address);
}

/* The address of a seed mailbox. */
static void test_an_address_without_a_folder_is_told(void **state)
{
    (void)state;
    static const char *const addresses[] = { "imaps://user@mail.example", "imaps://user@mail.example/?tls=none" };
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct imap_address address;
        assert_true(imap_address_read(addresses[i], &address));
        assert_false(address.has_folder);
        assert_string_equal(address.url, "imaps://mail.example/");
        imap_address_done(&address);
    }
}

static void test_other_forms_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "https://user@mail.example/INBOX",
        "imaps://mail.example/INBOX",
        "imaps://user@mail.example/INBOX?every=0",
        "imaps://user@mail.example/INBOX?every=86401",
        "imaps://user@mail.example/INBOX?tls=some",
        "imaps://user@mail.example/INBOX?something_that_is_longer_than_any_word=1",
        "imaps://user@mail.example:port/INBOX",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct imap_address address;
        bool is_read = imap_address_read(others[i], &address);
        imap_address_done(&address);
        if (is_read)
            fail_msg("%s is read", others[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_read),
        cmocka_unit_test(test_an_address_without_a_folder_is_told),
        cmocka_unit_test(test_other_forms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
