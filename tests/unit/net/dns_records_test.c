/*
 * Lookup of DNS records against a DNS server of the test: records that exist, records
 * that do not, and answers that leave it open.
 */
#include "fixtures/own_fail.h"

#include "base/clock.h"
#include "fixtures/fake_dns_server.h"
#include "net/dns_records.h"

#define LONG_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct dns_row rows[] = {
    { "plain.test", TYPE_TXT, .ttl_s = 300, .data = "v=spf1 -all" },
    { "joined.test", TYPE_TXT, .ttl_s = 300, .data = LONG_A LONG_A LONG_A "|b| c|" },
    { "several.test", TYPE_TXT, .ttl_s = 300, .data = "one|and more" },
    { "several.test", TYPE_TXT, .ttl_s = 300, .data = "two" },
    { "several.test", TYPE_TXT, .ttl_s = 300, .data = "" },
    { "_dmarc.plain.test", TYPE_TXT, .ttl_s = 300, .data = "v=DMARC1; p=none" },
    { "alias.test", TYPE_TXT, .record_type = TYPE_CNAME, .ttl_s = 300, .data = "target.test" },
    { "alias.test", TYPE_TXT, .ttl_s = 300, .data = "of the target" },
    { "nowhere.test", TYPE_TXT, .record_type = TYPE_CNAME, .ttl_s = 300, .data = "target.test" },
    { "empty.test", TYPE_A, .ttl_s = 300, .data = "192.0.2.1" },
    { "servfail.test", 0, .rcode = RCODE_SERVFAIL },
    { "refused.test", 0, .rcode = RCODE_REFUSED },
    { "referred.test", 0, .is_referral = true },
    { "denied.test", 0, .rcode = RCODE_NXDOMAIN, .is_referral = true },
    { "silent.test", 0, .is_silent = true },
    { "cut.test", TYPE_TXT, .is_cut = true, .ttl_s = 300, .data = "by TCP" },
    { "endless.test", TYPE_TXT, .is_endless = true, .ttl_s = 300, .data = "x" },
    { "overlong.test", TYPE_TXT, .is_overlong = true, .ttl_s = 300, .data = "x" },
    { "garbage.test", TYPE_TXT, .is_garbage = true },
    { "plain.test", TYPE_MX, .ttl_s = 300, .preference = 10, .data = "mx.plain.test" },
    { "null.test", TYPE_MX, .ttl_s = 300, .data = "" },
};

static struct dns *dns;
static struct arena *arena;

static int start(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    arena = arena_new(0);
    dns_server_start(rows, ARRAY_COUNT(rows));
    return dns_new(dns_server_place(), &dns, &err) ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    dns_free(dns);
    dns_server_stop();
    arena_free(arena);
    return 0;
}

#define DNS_TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

static struct dns_question ask(const char *name, enum dns_record_type type)
{
    struct dns_question question = { .name = name, .type = type };
    dns_find_records(dns, arena, &question, 1);
    return question;
}

static void assert_found(struct dns_question question, size_t count, const char *first)
{
    assert_true(question.is_answered);
    assert_int_equal(question.found.count, count);
    if (count > 0)
        assert_string_equal(question.found.items[0], first);
}

static void texts_are_found(void **state)
{
    (void)state;
    assert_found(ask("plain.test", DNS_TXT), 1, "v=spf1 -all");
    assert_found(ask("_dmarc.plain.test", DNS_TXT), 1, "v=DMARC1; p=none");
    assert_found(ask("joined.test", DNS_TXT), 1, LONG_A LONG_A LONG_A "b c");
    struct dns_question several = ask("several.test", DNS_TXT);
    assert_found(several, 3, "oneand more");
    assert_string_equal(several.found.items[1], "two");
    assert_string_equal(several.found.items[2], "");
    assert_found(ask("alias.test", DNS_TXT), 1, "of the target");
    assert_found(ask("cut.test", DNS_TXT), 1, "by TCP");
}

static void hosts_are_found(void **state)
{
    (void)state;
    assert_found(ask("plain.test", DNS_MX), 1, "mx.plain.test");
    assert_found(ask("null.test", DNS_MX), 0, NULL);
    assert_found(ask("empty.test", DNS_MX), 0, NULL);
}

static void absence_is_an_answer(void **state)
{
    (void)state;
    assert_found(ask("absent.test", DNS_TXT), 0, NULL);
    assert_found(ask("empty.test", DNS_TXT), 0, NULL);
    assert_found(ask("nowhere.test", DNS_TXT), 0, NULL);
}

static void trouble_is_none(void **state)
{
    (void)state;
    static const char *const names[] = { "servfail.test", "refused.test",  "garbage.test", "endless.test",
                                         "overlong.test", "referred.test", "denied.test",  "no..name.test" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (ask(names[i], DNS_TXT).is_answered)
            fail_msg("%s was answered", names[i]);
}

/* One that is silent keeps the others from nothing, and all together cost no more than one. */
static void silence_ends(void **state)
{
    (void)state;
    struct dns_question questions[] = {
        { .name = "silent.test" }, { .name = "plain.test" }, { .name = "absent.test" }, { .name = "silent.test", .type = DNS_MX }
    };
    int64_t begun_us = clock_monotonic_us();
    dns_find_records(dns, arena, questions, ARRAY_COUNT(questions));
    assert_in_range(clock_monotonic_us() - begun_us, 1, 30 * US_PER_S); /* two tries are made: 3 s on an idle machine */
    assert_false(questions[0].is_answered);
    assert_found(questions[1], 1, "v=spf1 -all");
    assert_found(questions[2], 0, NULL);
    assert_false(questions[3].is_answered);
}

/* The caller has just published its records. */
static void nothing_is_cached(void **state)
{
    (void)state;
    assert_found(ask("plain.test", DNS_TXT), 1, "v=spf1 -all");
    assert_found(ask("absent.test", DNS_TXT), 0, NULL);
    int asked = atomic_load(&dns_server.questions);
    assert_found(ask("plain.test", DNS_TXT), 1, "v=spf1 -all");
    assert_found(ask("absent.test", DNS_TXT), 0, NULL);
    assert_int_equal(atomic_load(&dns_server.questions), asked + 2);
}

static void many_at_once(void **state)
{
    (void)state;
    struct dns_question questions[DNS_QUESTIONS_MAX];
    for (size_t i = 0; i < DNS_QUESTIONS_MAX; i++)
        questions[i] = (struct dns_question){ .name = i % 2 == 0 ? "plain.test" : "absent.test" };
    dns_find_records(dns, arena, questions, DNS_QUESTIONS_MAX);
    for (size_t i = 0; i < DNS_QUESTIONS_MAX; i++)
        assert_found(questions[i], i % 2 == 0, "v=spf1 -all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DNS_TEST(texts_are_found), DNS_TEST(hosts_are_found),   DNS_TEST(absence_is_an_answer), DNS_TEST(trouble_is_none),
        DNS_TEST(silence_ends),    DNS_TEST(nothing_is_cached), DNS_TEST(many_at_once),
    };
    return cmocka_run_group_tests_name("net/dns_records", tests, NULL, NULL);
}
