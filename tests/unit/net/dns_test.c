/* DNS resolver against a DNS server of the test: every kind of answer, and servers with faults. */
#include "fixtures/own_fail.h"

#include "base/clock.h"
#include "fixtures/fake_dns_server.h"
#include "net/dns.h"

static const struct dns_row rows[] = {
    { "plain.test", TYPE_MX, .ttl_s = 300, .preference = 10, .data = "mx1.plain.test" },
    { "plain.test", TYPE_MX, .ttl_s = 300, .preference = 20, .data = "mx2.plain.test" },
    { "null.test", TYPE_MX, .ttl_s = 300, .data = "" },
    { "null.test", TYPE_A, .ttl_s = 300, .data = "192.0.2.7" },
    { "mixed.test", TYPE_MX, .ttl_s = 300, .data = "" },
    { "mixed.test", TYPE_MX, .ttl_s = 300, .preference = 5, .data = "mx.mixed.test" },
    { "local.test", TYPE_MX, .ttl_s = 300, .data = "localhost" },
    { "implicit4.test", TYPE_A, .ttl_s = 300, .data = "192.0.2.1" },
    { "implicit6.test", TYPE_AAAA, .ttl_s = 300, .data = "2001:db8::1" },
    { "loopback.test", TYPE_A, .ttl_s = 300, .data = "127.0.0.1" },
    { "loopback.test", TYPE_AAAA, .ttl_s = 300, .data = "::1" },
    { "empty.test", TYPE_MX, .rcode = 0 },
    { "servfail.test", 0, .rcode = RCODE_SERVFAIL },
    { "refused.test", 0, .rcode = RCODE_REFUSED },
    { "referred.test", 0, .is_referral = true },
    { "denied.test", 0, .rcode = RCODE_NXDOMAIN, .is_referral = true },
    { "silent.test", 0, .is_silent = true },
    { "cut.test", TYPE_MX, .is_cut = true, .ttl_s = 300, .preference = 10, .data = "mx.cut.test" },
    { "alias.test", TYPE_MX, .record_type = TYPE_CNAME, .ttl_s = 300, .data = "target.test" },
    { "alias.test", TYPE_MX, .ttl_s = 300, .preference = 10, .data = "mx.target.test" },
    { "alias-to-address.test", TYPE_MX, .record_type = TYPE_CNAME, .ttl_s = 300, .data = "target.test" },
    { "alias-to-address.test", TYPE_A, .ttl_s = 300, .data = "192.0.2.9" },
    { "endless.test", TYPE_MX, .is_endless = true, .ttl_s = 300, .data = "mx.endless.test" },
    { "overlong.test", TYPE_MX, .is_overlong = true, .ttl_s = 300, .data = "mx.overlong.test" },
    { "garbage.test", TYPE_MX, .is_garbage = true },
    { "brief.test", TYPE_MX, .ttl_s = 0, .preference = 10, .data = "mx.brief.test" },
    { "xn--mnchen-3ya.test", TYPE_MX, .ttl_s = 300, .preference = 10, .data = "mx.test" },
};

static struct dns *dns;

static int start(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    dns_server_start(rows, ARRAY_COUNT(rows));
    return dns_new(dns_server_place(), &dns, &err) ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    dns_free(dns);
    dns_server_stop();
    return 0;
}

#define DNS_TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

static enum dns_mail ask_within(const char *domain, int total_ms)
{
    enum dns_mail answer;
    dns_find_mail(dns, &domain, 1, total_ms, &answer);
    return answer;
}

static enum dns_mail ask(const char *domain)
{
    return ask_within(domain, 10000);
}

static int questions(void)
{
    return atomic_load(&dns_server.questions);
}

static void mx_accepts(void **state)
{
    (void)state;
    assert_int_equal(ask("plain.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("xn--mnchen-3ya.test"), DNS_MAIL_ACCEPTED);
}

/* RFC 7505: a null MX refuses all mail, even with address records; together with another MX it has no effect. */
static void null_mx_refuses(void **state)
{
    (void)state;
    assert_int_equal(ask("null.test"), DNS_MAIL_REFUSED);
    assert_int_equal(ask("local.test"), DNS_MAIL_REFUSED);
    assert_int_equal(ask("mixed.test"), DNS_MAIL_ACCEPTED);
}

/* RFC 5321 §5.1: without an MX the address of the domain is its mail server. */
static void address_is_implicit_mx(void **state)
{
    (void)state;
    assert_int_equal(ask("implicit4.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("implicit6.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("loopback.test"), DNS_MAIL_REFUSED);
    assert_int_equal(ask("empty.test"), DNS_MAIL_REFUSED);
}

static void aliases_are_followed(void **state)
{
    (void)state;
    assert_int_equal(ask("alias.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("alias-to-address.test"), DNS_MAIL_ACCEPTED);
}

static void absence_is_not_trouble(void **state)
{
    (void)state;
    assert_int_equal(ask("absent.test"), DNS_MAIL_NO_DOMAIN);
    assert_int_equal(ask("servfail.test"), DNS_MAIL_UNKNOWN);
    assert_int_equal(ask("refused.test"), DNS_MAIL_UNKNOWN);
    assert_int_equal(ask("referred.test"), DNS_MAIL_UNKNOWN);
    assert_int_equal(ask("denied.test"), DNS_MAIL_UNKNOWN);
}

static void malformed_answers_say_nothing(void **state)
{
    (void)state;
    assert_int_equal(ask("garbage.test"), DNS_MAIL_UNKNOWN);
    assert_int_equal(ask("endless.test"), DNS_MAIL_UNKNOWN);
    assert_int_equal(ask("overlong.test"), DNS_MAIL_UNKNOWN);
}

static void truncated_answers_come_by_tcp(void **state)
{
    (void)state;
    assert_int_equal(ask("cut.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(atomic_load(&dns_server.tcp_questions), 1);
}

/* A silent server costs no more than the bound, for one domain and for many. */
static void silence_ends(void **state)
{
    (void)state;
    const char *domains[] = { "silent.test", "plain.test", "absent.test" };
    enum dns_mail answers[ARRAY_COUNT(domains)];
    dns_find_mail(dns, domains, ARRAY_COUNT(domains), 60000, answers);
    assert_int_equal(answers[0], DNS_MAIL_UNKNOWN);
    assert_int_equal(answers[1], DNS_MAIL_ACCEPTED);
    assert_int_equal(answers[2], DNS_MAIL_NO_DOMAIN);
    assert_int_equal(ask_within("silent.test", 50), DNS_MAIL_UNKNOWN);
}

/* More domains than are asked for at a time. */
static void many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 3 * DNS_PARALLEL };
    static char names[COUNT][32];
    const char *domains[COUNT];
    enum dns_mail answers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "absent%zu.test", i);
        domains[i] = i == COUNT - 1 ? "plain.test" : names[i];
    }
    dns_find_mail(dns, domains, COUNT, 10000, answers);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(answers[i], i == COUNT - 1 ? DNS_MAIL_ACCEPTED : DNS_MAIL_NO_DOMAIN);
}

/* A DNS answer is cached. A failed query, and an answer with TTL 0, is asked again. */
static void answers_are_cached(void **state)
{
    (void)state;
    assert_int_equal(ask("plain.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("absent.test"), DNS_MAIL_NO_DOMAIN);
    int asked = questions();
    assert_int_equal(ask("plain.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(ask("absent.test"), DNS_MAIL_NO_DOMAIN);
    assert_int_equal(questions(), asked);

    assert_int_equal(ask("brief.test"), DNS_MAIL_ACCEPTED);
    asked = questions();
    assert_int_equal(ask("brief.test"), DNS_MAIL_ACCEPTED);
    assert_int_equal(questions(), asked + 1);
    (void)ask("servfail.test");
    asked = questions();
    (void)ask("servfail.test");
    assert_true(questions() > asked);
}

static void nobody_listens(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct dns *nowhere;
    const char *domain = "plain.test";
    enum dns_mail answer;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in here;
    socklen_t size = sizeof(here);
    assert_true(bind_loopback(fd, 0) && getsockname(fd, (struct sockaddr *)&here, &size) == 0);
    close(fd);
    char place[32];
    snprintf(place, sizeof(place), "127.0.0.1:%u", ntohs(here.sin_port));
    assert_true(dns_new(place, &nowhere, &err));
    dns_find_mail(nowhere, &domain, 1, 10000, &answer);
    assert_int_equal(answer, DNS_MAIL_UNKNOWN);
    dns_free(nowhere);
}

static void servers_are_checked(void **state)
{
    (void)state;
    struct dns *made;
    struct error err = { .code = ERR_NONE };
    assert_false(dns_new("not an address", &made, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "--dns-servers");
    error_clear(&err);
    assert_false(dns_new("1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8,1.1.1.9", &made, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DNS_TEST(mx_accepts),
        DNS_TEST(null_mx_refuses),
        DNS_TEST(address_is_implicit_mx),
        DNS_TEST(aliases_are_followed),
        DNS_TEST(absence_is_not_trouble),
        DNS_TEST(malformed_answers_say_nothing),
        DNS_TEST(truncated_answers_come_by_tcp),
        DNS_TEST(silence_ends),
        DNS_TEST(many_at_once),
        DNS_TEST(answers_are_cached),
        DNS_TEST(nobody_listens),
        DNS_TEST(servers_are_checked),
    };
    return cmocka_run_group_tests_name("net/dns", tests, NULL, NULL);
}
