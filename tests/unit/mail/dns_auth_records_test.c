/* Parser of TXT records: DKIM keys, SPF, DMARC. */
#include "fixtures/own_fail.h"

#include "mail/dns_auth_records.h"

static const char key[] = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAlong/key+of==";

#define TEXTS(...)                                                                                                                 \
    (struct text_list)                                                                                                             \
    {                                                                                                                              \
        (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)                        \
    }
#define KEY "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAlong/key+of=="

static bool is_rsa(const char *text)
{
    return dns_auth_has_dkim_key(TEXTS(text), "rsa", key);
}

static void keys_are_found(void **state)
{
    (void)state;
    assert_true(is_rsa("v=DKIM1; k=rsa; p=" KEY));
    assert_true(is_rsa("v=DKIM1;k=rsa;p=" KEY ";"));
    assert_true(is_rsa(" v = DKIM1 ;\tk = rsa ; p = MIIBIjANBgkqhkiG9w0BAQEF AAOCAQ8AMIIB\r\n CgKCAQEAlong/key+of== ; "));
    assert_true(is_rsa("p=" KEY)); /* v= and k= have defaults */
    assert_true(is_rsa("v=DKIM1; h=sha1:sha256; s=email; t=s; n=a note; p=" KEY));
    assert_true(is_rsa("v=DKIM1; s = * ; unknown=1; p=" KEY));
    assert_true(dns_auth_has_dkim_key(TEXTS("v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="), "ed25519",
                                      "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="));
    assert_true(dns_auth_has_dkim_key(TEXTS("v=spf1 -all", "some text", "v=DKIM1; p=" KEY), "rsa", key));
}

static void others_are_not(void **state)
{
    (void)state;
    assert_false(dns_auth_has_dkim_key((struct text_list){ NULL, 0 }, "rsa", key));
    assert_false(is_rsa(""));
    assert_false(is_rsa("v=DKIM1; k=rsa"));
    assert_false(is_rsa("v=DKIM1; k=rsa; p="));                /* revoked (RFC 6376 §3.6.1) */
    assert_false(is_rsa("v=DKIM1; k=rsa; p=" KEY "A"));        /* more */
    assert_false(is_rsa("v=DKIM1; k=rsa; p=MIIBIjANBgkqhki")); /* cut off */
    assert_false(is_rsa("v=DKIM1; k=ed25519; p=" KEY));
    assert_false(is_rsa("v=DKIM2; k=rsa; p=" KEY));
    assert_false(is_rsa("k=rsa; v=DKIM1; p=" KEY)); /* v= comes first */
    assert_false(is_rsa("v=DKIM1; p=" KEY "; p=" KEY));
    assert_false(is_rsa("v=DKIM1; h=sha1; p=" KEY));
    assert_false(is_rsa("v=DKIM1; s=tlsrpt; p=" KEY));
    assert_false(is_rsa("v=DKIM1; stray; p=" KEY));
    assert_false(is_rsa("\"v=DKIM1; k=rsa; p=" KEY "\"")); /* quotes that went into the record itself */
    assert_false(is_rsa("v=DKIM1; k=rsa; \" \"p=" KEY));
    assert_false(dns_auth_has_dkim_key(TEXTS("v=DKIM1; p=" KEY), "ed25519", key));
}

/* Which of two keys a receiver takes is up to him. */
static void a_selector_has_one_key(void **state)
{
    (void)state;
    assert_false(dns_auth_has_dkim_key(TEXTS("v=DKIM1; p=" KEY, "v=DKIM1; p=MIIBother"), "rsa", key));
    assert_false(dns_auth_has_dkim_key(TEXTS("v=DKIM1; p=MIIBother", "v=DKIM1; p=" KEY), "rsa", key));
}

static void spf_is_one_record(void **state)
{
    (void)state;
    assert_true(dns_auth_has_spf(TEXTS("v=spf1 include:relay.example ~all")));
    assert_true(dns_auth_has_spf(TEXTS("site-verification=1", "V=SPF1 -all")));
    assert_true(dns_auth_has_spf(TEXTS("v=spf1")));
    assert_false(dns_auth_has_spf((struct text_list){ NULL, 0 }));
    assert_false(dns_auth_has_spf(TEXTS("v=spf10 -all")));
    assert_false(dns_auth_has_spf(TEXTS(" v=spf1 -all")));
    assert_false(dns_auth_has_spf(TEXTS("v=spf1 -all", "v=spf1 ~all")));
}

static void dmarc_is_one_policy(void **state)
{
    (void)state;
    assert_true(dns_auth_has_dmarc(TEXTS("v=DMARC1; p=none")));
    assert_true(dns_auth_has_dmarc(TEXTS("something else", "v = DMARC1 ; p = quarantine ; pct=50")));
    assert_true(dns_auth_has_dmarc(TEXTS("v=DMARC1;p=reject;rua=mailto:a@example.com,mailto:b@example.com;")));
    assert_false(dns_auth_has_dmarc(TEXTS("v=DMARC1")));
    assert_false(dns_auth_has_dmarc(TEXTS("v=DMARC1; p=all")));
    assert_false(dns_auth_has_dmarc(TEXTS("p=none; v=DMARC1")));
    assert_false(dns_auth_has_dmarc(TEXTS("v=DKIM1; p=none")));
    assert_false(dns_auth_has_dmarc(TEXTS("v=DMARC1; p=none", "v=DMARC1; p=reject")));
    assert_false(dns_auth_has_dmarc((struct text_list){ NULL, 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_found),    cmocka_unit_test(others_are_not),      cmocka_unit_test(a_selector_has_one_key),
        cmocka_unit_test(spf_is_one_record), cmocka_unit_test(dmarc_is_one_policy),
    };
    return cmocka_run_group_tests_name("mail/dns_auth_records", tests, NULL, NULL);
}
