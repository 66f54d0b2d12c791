/* Email addresses: accepted addresses and their normalisation, refused addresses and the reason. */
#include "mail/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_accepted(const char *text, const char *key, const char *mailbox, bool needs_smtputf8)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct address address;
    if (!address_parse(arena, text, "email", &address, &err))
        fail_msg("'%s' was refused: %s", text, err.message);
    assert_string_equal(address.key, key);
    assert_string_equal(address.mailbox, mailbox);
    assert_int_equal(address.needs_smtputf8, needs_smtputf8);
    char *joined = arena_printf(arena, "%s@%s", address.local, address.domain);
    assert_string_equal(address.mailbox, joined);
}

static void assert_refused(const char *text, const char *reason)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct address address;
    if (address_parse(arena, text, "email", &address, &err))
        fail_msg("'%s' was accepted", text);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "email");
    if (strstr(err.message, reason) == NULL)
        fail_msg("'%s': expected \"%s\" in \"%s\"", text, reason, err.message);
}

static void test_plain_addresses(void **state)
{
    (void)state;
    assert_accepted("ada@example.com", "ada@example.com", "ada@example.com", false);
    assert_accepted("Ada.Lovelace+News@Example.COM", "ada.lovelace+news@example.com", "Ada.Lovelace+News@example.com", false);
    assert_accepted("a@b.co", "a@b.co", "a@b.co", false);
    assert_accepted("!#$%&'*+-/=?^_`{|}~@example.org", "!#$%&'*+-/=?^_`{|}~@example.org", "!#$%&'*+-/=?^_`{|}~@example.org", false);
    assert_accepted("1@2.3.fr", "1@2.3.fr", "1@2.3.fr", false);
    assert_accepted("x@r3---sn-4g5.example.net", "x@r3---sn-4g5.example.net", "x@r3---sn-4g5.example.net", false);
}

static void test_internationalised_addresses(void **state)
{
    (void)state;
    assert_accepted("info@Bücher.example", "info@xn--bcher-kva.example", "info@xn--bcher-kva.example", false);
    assert_accepted("info@bu\u0308cher.example", "info@xn--bcher-kva.example", "info@xn--bcher-kva.example", false);
    assert_accepted("info@XN--BCHER-KVA.example", "info@xn--bcher-kva.example", "info@xn--bcher-kva.example", false);
    assert_accepted("a@straße.de", "a@xn--strae-oqa.de", "a@xn--strae-oqa.de", false);
    assert_accepted("a@例え。テスト", "a@xn--r8jz45g.xn--zckzah", "a@xn--r8jz45g.xn--zckzah", false);
    assert_accepted("José@example.com", "josé@example.com", "José@example.com", true);
    /* A decomposed é is the same mailbox for us; on the wire it stays as it was given. */
    assert_accepted("Jose\u0301@example.com", "josé@example.com", "Jose\u0301@example.com", true);
    assert_accepted("ΣΊΣΥΦΟΣ@example.gr", "σίσυφος@example.gr", "ΣΊΣΥΦΟΣ@example.gr", true);
    assert_accepted("用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v", "用户@xn--fsqu00a.xn--4rr70v", true);
}

static void test_injection_is_refused(void **state)
{
    (void)state;
    assert_refused("a@example.com\r\nRCPT TO:<b@example.com>", "control");
    assert_refused("a@example.com\r\nX:y", "control");
    assert_refused("a\n@example.com", "control");
    assert_refused("a@exam\tple.com", "control");
    assert_refused("a@example.com\x7F", "control");
    assert_refused("a\xC2\x85"
                   "b@example.com",
                   "invisible character (U+0085)");
    assert_refused("a\u200Bb@example.com", "invisible character (U+200B)");
    assert_refused("a\u202Eb@example.com", "invisible character (U+202E)");
    assert_refused("a\u00A0b@example.com", "invisible character (U+00A0)");
    assert_refused("a@exa\u2028mple.com", "invisible character (U+2028)");
    assert_refused("a\xFF@example.com", "UTF-8");
    assert_refused("a\xC0\x8A@example.com", "UTF-8");
    assert_refused("a@b.com,c@d.com", "more than one '@'");
    assert_refused("a@b.com>", "angle brackets");
    assert_refused("a@b.com;", "';'");
    assert_refused("a\u037Eb@example.com", "';'"); /* the Greek question mark normalises to a semicolon */
}

static void test_structure(void **state)
{
    (void)state;
    assert_refused("", "empty");
    assert_refused("example.com", "no '@'");
    assert_refused("@example.com", "missing");
    assert_refused("a@", "missing");
    assert_refused("a@@example.com", "more than one");
    assert_refused(" a@example.com", "space");
    assert_refused("Ada <ada@example.com>", "space");
    assert_refused("<ada@example.com>", "angle brackets");
    assert_refused("\"ada\"@example.com", "Quotation marks");
    assert_refused("\"a@b\"@example.com", "Quotation marks");
    assert_refused("ada(comment)@example.com", "Comments");
    assert_refused(".ada@example.com", "dot");
    assert_refused("ada.@example.com", "dot");
    assert_refused("a..b@example.com", "dot");
    assert_refused("a\\b@example.com", "'\\'");
    assert_refused("a@[192.0.2.1]", "brackets");
    assert_refused("a@192.0.2.1", "number");
    assert_refused("a@localhost", "top-level");
    assert_refused("a@example..com", "empty label");
    assert_refused("a@example.com.", "empty label");
    assert_refused("a@-example.com", "hyphen");
    assert_refused("a@example-.com", "hyphen");
    assert_refused("a@exa_mple.com", "'_'");
    assert_refused("a@b\uFF20c.com", "'@'"); /* full-width '@' maps to '@' */
    assert_refused("a@\u0627a.com", "internationalised");
}

static void test_lengths(void **state)
{
    (void)state;
    char text[ADDRESS_MAX_BYTES + 64];
    char local[ADDRESS_LOCAL_MAX_BYTES + 2];
    memset(local, 'l', sizeof(local));
    local[ADDRESS_LOCAL_MAX_BYTES] = '\0';
    snprintf(text, sizeof(text), "%s@example.com", local);
    assert_accepted(text, text, text, false);
    local[ADDRESS_LOCAL_MAX_BYTES] = 'l';
    local[ADDRESS_LOCAL_MAX_BYTES + 1] = '\0';
    snprintf(text, sizeof(text), "%s@example.com", local);
    assert_refused(text, "64 bytes");

    char label[ADDRESS_LABEL_MAX_BYTES + 2];
    memset(label, 'd', sizeof(label));
    label[ADDRESS_LABEL_MAX_BYTES] = '\0';
    snprintf(text, sizeof(text), "a@%s.com", label);
    assert_accepted(text, text, text, false);
    snprintf(text, sizeof(text), "a@d%s.com", label);
    assert_refused(text, "63 bytes");

    /* 62 + 1 + (3 * 64 - 1) bytes are 254, the most there may be. */
    local[62] = '\0';
    snprintf(text, sizeof(text), "%s@%s.%s.%s", local, label, label, label);
    assert_int_equal(strlen(text), ADDRESS_MAX_BYTES);
    assert_accepted(text, text, text, false);
    local[62] = 'l';
    local[63] = '\0';
    snprintf(text, sizeof(text), "%s@%s.%s.%s", local, label, label, label);
    assert_refused(text, "254 bytes");

    char huge[5000];
    memset(huge, 'a', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    assert_refused(huge, "too long");
}

static void test_domain_alone(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *domain = NULL;
    assert_true(address_domain_parse(arena, "Mail.BÜCHER.example", "name", &domain, &err));
    assert_string_equal(domain, "mail.xn--bcher-kva.example");
    assert_false(address_domain_parse(arena, "no space.example", "name", &domain, &err));
    assert_string_equal(err.param, "name");
    assert_false(address_domain_parse(arena, "https://example.com", "name", &domain, &err));
    assert_false(address_domain_parse(arena, "a@example.com", "name", &domain, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_addresses),
        cmocka_unit_test(test_internationalised_addresses),
        cmocka_unit_test(test_injection_is_refused),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_domain_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
