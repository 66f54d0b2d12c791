/* Verdicts about addresses: the precedence of the reasons, the lists, and suggestions. */
#include "mail/address_lists.h"
#include "mail/address_verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define ARENA_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static struct address_verdict judge(const char *email, enum mail_domain domain)
{
    struct error err = { .code = ERR_NONE };
    struct address address;
    assert_true(address_parse(arena, email, NULL, &address, &err));
    return address_judge(arena, &address, domain);
}

static void assert_verdict(const char *email, enum mail_domain domain, enum address_status status, enum address_reason reason)
{
    struct address_verdict verdict = judge(email, domain);
    assert_int_equal(verdict.reason, reason);
    assert_int_equal(verdict.status, status);
}

static void domains_decide(void **state)
{
    (void)state;
    assert_verdict("ada@plain.test", MAIL_DOMAIN_ACCEPTS, ADDRESS_VALID, ADDRESS_UNOBJECTIONABLE);
    assert_verdict("ada@plain.test", MAIL_DOMAIN_REFUSES, ADDRESS_INVALID, ADDRESS_NO_MAIL);
    assert_verdict("ada@plain.test", MAIL_DOMAIN_ABSENT, ADDRESS_INVALID, ADDRESS_NO_SUCH_DOMAIN);
    assert_verdict("ada@plain.test", MAIL_DOMAIN_UNKNOWN, ADDRESS_RISKY, ADDRESS_DNS_UNAVAILABLE);
}

/* RFC 6761: these names never accept mail, for any reply of a resolver. */
static void special_names_never_have_mail(void **state)
{
    (void)state;
    assert_verdict("ada@shop.invalid", MAIL_DOMAIN_UNKNOWN, ADDRESS_INVALID, ADDRESS_NO_SUCH_DOMAIN);
    assert_verdict("ada@here.localhost", MAIL_DOMAIN_ACCEPTS, ADDRESS_INVALID, ADDRESS_NO_SUCH_DOMAIN);
    assert_verdict("ada@invalid.test", MAIL_DOMAIN_ACCEPTS, ADDRESS_VALID, ADDRESS_UNOBJECTIONABLE);
}

static void lists_make_risky(void **state)
{
    (void)state;
    assert_verdict("x@mailinator.com", MAIL_DOMAIN_ACCEPTS, ADDRESS_RISKY, ADDRESS_DISPOSABLE);
    assert_verdict("x@sub.mailinator.com", MAIL_DOMAIN_ACCEPTS, ADDRESS_RISKY, ADDRESS_DISPOSABLE);
    assert_verdict("info@plain.test", MAIL_DOMAIN_ACCEPTS, ADDRESS_RISKY, ADDRESS_ROLE);
    assert_verdict("Sales+list@plain.test", MAIL_DOMAIN_ACCEPTS, ADDRESS_RISKY, ADDRESS_ROLE);
    assert_verdict("information.desk.of.ada@plain.test", MAIL_DOMAIN_ACCEPTS, ADDRESS_VALID, ADDRESS_UNOBJECTIONABLE);
    assert_verdict("ada@gmail.com", MAIL_DOMAIN_ACCEPTS, ADDRESS_VALID, ADDRESS_UNOBJECTIONABLE);
}

static void the_graver_reason_is_told(void **state)
{
    (void)state;
    assert_verdict("info@mailinator.com", MAIL_DOMAIN_ABSENT, ADDRESS_INVALID, ADDRESS_NO_SUCH_DOMAIN);
    assert_verdict("info@mailinator.com", MAIL_DOMAIN_REFUSES, ADDRESS_INVALID, ADDRESS_NO_MAIL);
    assert_verdict("info@mailinator.com", MAIL_DOMAIN_UNKNOWN, ADDRESS_RISKY, ADDRESS_DISPOSABLE);
    assert_verdict("info@plain.test", MAIL_DOMAIN_UNKNOWN, ADDRESS_RISKY, ADDRESS_DNS_UNAVAILABLE);
}

/* Every list is there, whole and in order: its first, last and some other entries are found, neighbours are not. */
static void lists_are_searchable(void **state)
{
    (void)state;
    static const char *const disposable[] = { "mailinator.com", "yopmail.com", "guerrillamail.com", "0-mail.com" };
    for (size_t i = 0; i < ARRAY_COUNT(disposable); i++)
        assert_true(address_domain_is_disposable(disposable[i]));
    static const char *const free_domains[] = { "gmail.com", "web.de", "outlook.com", "ymail.com", "mail.com", "gmx.net" };
    for (size_t i = 0; i < ARRAY_COUNT(free_domains); i++) {
        assert_true(address_domain_is_free(free_domains[i]));
        assert_false(address_domain_is_disposable(free_domains[i]));
    }
    static const char *const roles[] = { "info", "postmaster", "abuse", "sales", "webmaster" };
    for (size_t i = 0; i < ARRAY_COUNT(roles); i++)
        assert_true(address_local_is_role(roles[i]));
    assert_false(address_local_is_role("ada"));
    assert_false(address_local_is_role(""));
    assert_false(address_domain_is_free("plain.test"));
    assert_false(address_domain_is_disposable("com"));
    assert_false(address_domain_is_disposable(""));
}

static void near_misses_are_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *typed;
        const char *meant;
    } cases[] = {
        { "gmial.com", "gmail.com" },           { "gmal.com", "gmail.com" },      { "gamil.com", "gmail.com" },
        { "gnail.com", "gmail.com" },           { "gmail.con", "gmail.com" },     { "gmail.cm", "gmail.com" },
        { "gmial.con", "gmail.com" },           { "gmail.co", "gmail.com" },      { "gmaill.com", "gmail.com" },
        { "hotmial.com", "hotmail.com" },       { "hotmal.com", "hotmail.com" },  { "hotnail.con", "hotmail.com" },
        { "yahooo.com", "yahoo.com" },          { "yhaoo.com", "yahoo.com" },     { "yahoo.co.ukk", "yahoo.co.uk" },
        { "outlok.com", "outlook.com" },        { "outlook.cmo", "outlook.com" }, { "iclod.com", "icloud.com" },
        { "icloud.co", "icloud.com" },          { "web.dee", "web.de" },          { "t-onlin.de", "t-online.de" },
        { "protonmial.com", "protonmail.com" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const char *suggested = address_domain_suggestion(arena, cases[i].typed);
        if (suggested == NULL)
            print_error("%s: nothing suggested\n", cases[i].typed);
        assert_non_null(suggested);
        assert_string_equal(suggested, cases[i].meant);
    }
}

/* Services that are near another one, companies, and short names where a letter makes another word. */
static void others_are_left_alone(void **state)
{
    (void)state;
    static const char *const domains[] = {
        "gmail.com",     "ymail.com", "mail.com", "email.com", "hotmail.fr", "live.com", "gmx.at",
        "plain.test",    "gml.com",   "mee.com",  "qqq.com",   "web.fr",     "male.com", "example.com",
        "gmail.example", "aol.de",    "a.b",      "proton.io", "verizon.de",
    };
    for (size_t i = 0; i < ARRAY_COUNT(domains); i++) {
        const char *suggested = address_domain_suggestion(arena, domains[i]);
        if (suggested != NULL)
            print_error("%s: %s suggested\n", domains[i], suggested);
        assert_null(suggested);
    }
    char long_domain[254];
    memset(long_domain, 'g', 60);
    memcpy(long_domain + 60, ".com", 5);
    assert_null(address_domain_suggestion(arena, long_domain));
}

static void a_suggestion_keeps_the_local_part(void **state)
{
    (void)state;
    assert_string_equal(judge("Ada.L@gmial.com", MAIL_DOMAIN_ACCEPTS).did_you_mean, "Ada.L@gmail.com");
    assert_null(judge("ada@gmail.com", MAIL_DOMAIN_ACCEPTS).did_you_mean);
}

/* Each verdict has the position of its address; a domain is looked up once, an address is charged once. */
static void lists_know_repetitions(void **state)
{
    (void)state;
    static const char *const given[] = { "ada@plain.test", " ADA@Plain.test ", "bob@plain.test", "nonsense",
                                         "nonsense",       "eve@away.test",    "x@y.invalid",    "" };
    struct address_list list;
    address_list_read(arena, (struct text_list){ given, ARRAY_COUNT(given) }, &list);
    assert_int_equal(list.count, ARRAY_COUNT(given));
    assert_int_equal(list.domain_count, 2);
    assert_string_equal(list.domains[0], "plain.test");
    assert_string_equal(list.domains[1], "away.test");

    const enum mail_domain answers[] = { MAIL_DOMAIN_ACCEPTS, MAIL_DOMAIN_UNKNOWN };
    address_list_judge(arena, &list, answers);
    static const enum address_reason reasons[] = {
        ADDRESS_UNOBJECTIONABLE, ADDRESS_UNOBJECTIONABLE, ADDRESS_UNOBJECTIONABLE, ADDRESS_INVALID_SYNTAX,
        ADDRESS_INVALID_SYNTAX,  ADDRESS_DNS_UNAVAILABLE, ADDRESS_NO_SUCH_DOMAIN,  ADDRESS_INVALID_SYNTAX,
    };
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].verdict.reason, reasons[i]);
        assert_string_equal(list.items[i].given, given[i]);
    }
    /* ada, bob, nonsense and x@y.invalid; eve was not checked, and the empty one is no address. */
    assert_int_equal(address_list_checked(&list), 4);
}

static void names_are_those_of_the_wire(void **state)
{
    (void)state;
    assert_string_equal(address_status_name(ADDRESS_RISKY), "risky");
    assert_null(address_reason_name(ADDRESS_UNOBJECTIONABLE));
    assert_string_equal(address_reason_name(ADDRESS_NO_MAIL), "no_mail");
    assert_string_equal(address_reason_name(ADDRESS_DNS_UNAVAILABLE), "dns_unavailable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(domains_decide),         ARENA_TEST(special_names_never_have_mail),
        ARENA_TEST(lists_make_risky),       ARENA_TEST(the_graver_reason_is_told),
        ARENA_TEST(lists_are_searchable),   ARENA_TEST(near_misses_are_suggested),
        ARENA_TEST(others_are_left_alone),  ARENA_TEST(a_suggestion_keeps_the_local_part),
        ARENA_TEST(lists_know_repetitions), ARENA_TEST(names_are_those_of_the_wire),
    };
    return cmocka_run_group_tests_name("mail/address_verdict", tests, NULL, NULL);
}
