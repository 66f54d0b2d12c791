/* Engines of links, spam and authentication, with servers on loopback: what they ask, and what they report. */
#include "fixtures/engine_fixture.h"

#include "fixtures/fake_dns_server.h"

#include "engine/domains/domains.h"
#include "engine/domains/records.h"
#include "engine/operator/operator.h"
#include "jobs/types/check_authentication.h"
#include "jobs/types/check_links.h"
#include "jobs/types/check_spam.h"
#include "net/dns.h"
#include "spam/spam.h"

#include <netdb.h>

enum { REQUEST_BYTES = 4096, LOG_BYTES = 16 * 1024 };

/* ---- A web server: the path /404 answers 404, /to/N leads N times on; it records what it is asked ---- */

static struct {
    int listen_fd;
    unsigned port;
    pthread_t thread;
    char log[LOG_BYTES]; /* a line a request */
    const char *answer;  /* for every request, then as a spam filter; NULL: by the path */
} web;

static void answer_path(int fd, const char *path)
{
    char text[REQUEST_BYTES];
    long number = strtol(path + strspn(path, "/to"), NULL, 10);
    if (strncmp(path, "/to/", 4) == 0)
        snprintf(text, sizeof(text), "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /%s%ld\r\n\r\n", number > 1 ? "to/" : "",
                 number > 1 ? number - 1 : 200);
    else if (strncmp(path, "/leaves", 7) == 0)
        snprintf(text, sizeof(text), "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /unsubscribe\r\n\r\n");
    else
        snprintf(text, sizeof(text), "HTTP/1.1 %ld Status\r\nContent-Length: 0\r\n\r\n", number);
    (void)!write(fd, text, strlen(text));
}

static void serve_request(int fd)
{
    char request[REQUEST_BYTES] = "";
    size_t size = 0;
    while (size < sizeof(request) - 1 && strstr(request, "\r\n\r\n") == NULL) {
        ssize_t count = recv(fd, request + size, sizeof(request) - 1 - size, 0);
        if (count <= 0)
            break;
        size += (size_t)count;
        request[size] = '\0';
    }
    size_t line = strcspn(request, "\r\n");
    size_t used = strlen(web.log);
    snprintf(web.log + used, sizeof(web.log) - used, "%.*s\n", (int)line, request);
    const char *path = strchr(request, ' ');
    if (web.answer != NULL)
        (void)!write(fd, web.answer, strlen(web.answer));
    else if (path != NULL)
        answer_path(fd, path + 1);
    shutdown(fd, SHUT_WR);
    while (recv(fd, request, sizeof(request), 0) > 0)
        continue;
    close(fd);
}

static void *serve_all(void *unused)
{
    (void)unused;
    for (;;) {
        int fd = accept(web.listen_fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        serve_request(fd);
    }
}

static int begin_web(void **state)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    web.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(web.listen_fd, (const struct sockaddr *)&address, size) != 0 || listen(web.listen_fd, 64) != 0 ||
        getsockname(web.listen_fd, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&web.thread, NULL, serve_all, NULL) != 0)
        return -1;
    web.port = ntohs(address.sin_port);
    return world_begin(state);
}

static int end_web(void **state)
{
    shutdown(web.listen_fd, SHUT_RDWR);
    pthread_join(web.thread, NULL);
    close(web.listen_fd);
    return world_end(state);
}

/* ---- A job ---- */

static struct job_services services;
static struct job job;
static struct check_report *report;

static struct sample_mail sample_of(int64_t email_id, bool is_marketing)
{
    struct error err = { .code = ERR_NONE };
    struct sample_mail mail;
    const struct sample_mail_request request = { .email_id = email_id,
                                                 .is_marketing = is_marketing,
                                                 .is_transactional = !is_marketing };
    assert_ok(sample_mail_compose(&work, &request, &mail, &err), &err);
    return mail;
}

static void make_job(void)
{
    services = (struct job_services){ .fetch_allow_loopback = true };
    job = (struct job){ .work = work, .services = &services };
    report = check_report_new(arena);
    web.log[0] = '\0';
    web.answer = NULL;
}

static const struct check_outcome *outcome_of(const char *check_id)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(outcomes[i].check->id, check_id) == 0)
            return &outcomes[i];
    fail_msg("no check %s", check_id);
    return NULL;
}

static void assert_status(const char *check_id, enum check_status status, const char *reason)
{
    const struct check_outcome *outcome = outcome_of(check_id);
    if (outcome->status != status || (reason != NULL && strstr(outcome->reason, reason) == NULL))
        fail_msg("%s: %s, %s", check_id, check_status_name(outcome->status), outcome->reason != NULL ? outcome->reason : "");
}

/* Whether the check has exactly one finding, about this address. */
static void assert_finds(const char *check_id, const char *part)
{
    const struct check_outcome *outcome = outcome_of(check_id);
    assert_int_equal(outcome->finding_count, 1);
    if (strstr(outcome->findings[0].message, part) == NULL)
        fail_msg("%s: %s", check_id, outcome->findings[0].message);
}

static bool has_ended(enum check_engine engine)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all = all && (outcomes[i].check->engine != engine || outcomes[i].has_ended);
    return all;
}

/* ---- Links ---- */

static const char html[] = "<p>Hello</p>";

/* A design with these links; paths are those of the server above. */
static struct sample_mail mail_with_links(const char *const *hrefs, size_t count)
{
    struct sample_mail mail = sample_of(design_of(html, "Hello\n"), true);
    json_t *links = json_in_arena(arena, json_array());
    for (size_t i = 0; i < count; i++) {
        const char *href = hrefs[i][0] == '/' ? arena_printf(arena, "http://127.0.0.1:%u%s", web.port, hrefs[i]) : hrefs[i];
        json_array_append_new(links, json_pack("{s:i, s:s, s:s}", "index", (int)i, "href", href, "text", "Shop"));
    }
    run_sql("update email_versions set links = '%s' where id = %lld", json_compact(arena, links), (long long)mail.version_id);
    return mail;
}

static void run_links(const char *const *hrefs, size_t count)
{
    struct error err = { .code = ERR_NONE };
    make_job();
    struct sample_mail mail = mail_with_links(hrefs, count);
    assert_ok(check_links(&job, &mail, report, &err), &err);
    assert_true(has_ended(CHECK_ENGINE_LINKS));
}

static void test_links(void **state)
{
    static const struct dns_row rows[] = { { .name = "gone.example", .rcode = RCODE_NXDOMAIN } };
    static const char *const hrefs[] = {
        "/200",
        "/200#part",
        "/404",
        "/503",
        "/403",
        "/to/4",
        "/leaves",
        "/unsubscribe",
        "/200?to={{ email }}",
        "{{ unsubscribeUrl }}",
        "mailto:shop@example.com",
        "#top",
        "https://10.0.0.1/",
        "ftp://127.0.0.1/",
        "http://a:b@127.0.0.1/",
    };
    (void)state;
    dns_server_start(rows, ARRAY_COUNT(rows));
    run_links(hrefs, ARRAY_COUNT(hrefs));
    dns_server_stop();
    assert_int_equal(outcome_of("linkBroken")->finding_count, 2);
    assert_non_null(strstr(outcome_of("linkBroken")->findings[1].message, "https://10.0.0.1/ cannot be followed"));
    assert_non_null(strstr(outcome_of("linkBroken")->findings[0].message, "/404 gets the status 404"));
    assert_finds("linkServerError", "/503 gets the status 503");
    assert_finds("linkRefused", "/403 gets the status 403");
    assert_finds("linkRedirects", "/to/4 is redirected 4 times");
    assert_int_equal(outcome_of("linkUnchecked")->finding_count, 2);
    assert_status("linkCertificate", CHECK_PASSED,
                  "8 addresses were requested. 2 were left out, because they have merge tags. 3 were left out, because they do not "
                  "lead to a page. 1 was left out, because it may unsubscribe or confirm.");
    assert_null(strstr(web.log, "unsubscribe"));
    assert_null(strstr(web.log, "email"));
    assert_null(strstr(web.log, "GET /200"));
    assert_non_null(strstr(web.log, "HEAD /403"));
    assert_non_null(strstr(web.log, "GET /403"));
    assert_ptr_equal(strstr(strstr(web.log, "HEAD /200") + 1, "HEAD /200 HTTP/1.1\nHEAD /200 "), NULL);
}

static void test_mail_without_links(void **state)
{
    static const char *const none[] = { "mailto:shop@example.com", "https://shop.example/{{ email }}" };
    (void)state;
    run_links(NULL, 0);
    assert_status("linkBroken", CHECK_NOT_APPLICABLE, "0 addresses were requested.");
    assert_status("linkInsecure", CHECK_NOT_APPLICABLE, NULL);
    run_links(none, ARRAY_COUNT(none));
    assert_status("linkBroken", CHECK_NOT_APPLICABLE, "1 was left out, because it has a merge tag.");
    assert_status("linkInsecure", CHECK_PASSED, NULL);
    assert_string_equal(web.log, "");
}

/* In place of the C library's, for libcurl: no name of this test can be resolved. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict ret_list)
{
    (void)name;
    (void)service;
    (void)hints;
    *ret_list = NULL;
    return EAI_NONAME;
}

/* A name that the DNS denies is gone; one that it is silent about may come back. */
static void test_names_of_links(void **state)
{
    static const struct dns_row rows[] = {
        { .name = "gone.invalid", .rcode = RCODE_NXDOMAIN },
        { .name = "broken.invalid", .rcode = RCODE_SERVFAIL },
    };
    static const char *const hrefs[] = { "https://gone.invalid/", "https://broken.invalid/a", "https://broken.invalid/b" };
    struct error err = { .code = ERR_NONE };
    (void)state;
    dns_server_start(rows, ARRAY_COUNT(rows));
    make_job();
    assert_ok(dns_new(dns_server_place(), &services.dns, &err), &err);
    struct sample_mail mail = mail_with_links(hrefs, ARRAY_COUNT(hrefs));
    assert_ok(check_links(&job, &mail, report, &err), &err);
    dns_free(services.dns);
    dns_server_stop();
    assert_finds("linkBroken", "https://gone.invalid/ leads nowhere: the DNS has no address of gone.invalid.");
    assert_int_equal(outcome_of("linkServerError")->finding_count, 2);
}

/* More addresses than the bound are told, not requested. */
static void test_many_links(void **state)
{
    const char *hrefs[130];
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(hrefs); i++)
        hrefs[i] = arena_printf(arena, "/200?%zu", i);
    run_links(hrefs, ARRAY_COUNT(hrefs));
    size_t requests = 0;
    for (const char *at = web.log; (at = strstr(at, "HEAD /200?")) != NULL; at++)
        requests++;
    assert_int_equal(requests, 100);
    assert_int_equal(outcome_of("linkUnchecked")->finding_count, 30);
    assert_int_equal(outcome_of("linkInsecure")->finding_count + (size_t)outcome_of("linkInsecure")->more, 130);
}

/* ---- Spam ---- */

static void run_spam(const char *named)
{
    struct error err = { .code = ERR_NONE };
    struct sample_mail mail = sample_of(design_of(html, "Hello\n"), true);
    const char *answer = web.answer;
    make_job();
    web.answer = answer;
    assert_ok(spam_filter_new(named, &services.spam, &err), &err);
    assert_ok(check_spam(&job, &mail, report, &err), &err);
    spam_filter_free(services.spam);
    assert_true(has_ended(CHECK_ENGINE_SPAM));
}

static void test_spam_filter(void **state)
{
    (void)state;
    run_spam(NULL);
    assert_status("spamScore", CHECK_NOT_APPLICABLE, "--spam");
    assert_null(check_report_version(report, CHECK_ENGINE_SPAM).name);
    run_spam("spamd:127.0.0.1:1");
    assert_status("spamScore", CHECK_UNAVAILABLE, "it cannot be reached");
    assert_status("spamTestPattern", CHECK_UNAVAILABLE, NULL);
    assert_null(check_report_version(report, CHECK_ENGINE_SPAM).name);
    web.answer = "HTTP/1.1 200 OK\r\nServer: rspamd/3.4\r\nContent-Length: 89\r\n\r\n"
                 "{\"score\":6.5,\"required_score\":6.0,\"action\":\"reject\",\"symbols\":{\"A_RULE\":{\"score\":6.5}}}  ";
    run_spam(arena_printf(arena, "rspamd:http://127.0.0.1:%u", web.port));
    assert_finds("spamScore", "rspamd gives the message 6.5 points");
    assert_finds("spamRules", "A_RULE: 6.5 points");
    assert_status("spamTestPattern", CHECK_PASSED, NULL);
    assert_string_equal(check_report_version(report, CHECK_ENGINE_SPAM).version, "3.4");
}

/* ---- Authentication ---- */

static struct sample_mail mail_of_domain(bool is_marketing)
{
    struct error err = { .code = ERR_NONE };
    int64_t id;
    bool made = operator_create_domain(&work, work.brand_id, work.organization_id, "shop.example", "marketing", &id, &err);
    assert_ok(made, &err);
    run_sql("update domains set status = 'verified' where name = 'shop.example'");
    return sample_of(design_of(html, "Hello\n"), is_marketing);
}

/* The values of the keys of the domain as strings of at most 255 bytes. */
static const char *key_strings(int64_t domain_id, const char *kind, const char **ret_name)
{
    struct error err = { .code = ERR_NONE };
    struct domain_row *domain;
    assert_ok(domain_get(&work, domain_id, &domain, &err), &err);
    struct domain_records records = domain_records_of(arena, domain);
    for (size_t i = 0; i < records.count; i++) {
        if (records.items[i].key_kind == NULL || strcmp(records.items[i].key_kind, kind) != 0)
            continue;
        *ret_name = records.items[i].name;
        struct text_list strings = domain_txt_strings(arena, records.items[i].value);
        const char *joined = strings.items[0];
        for (size_t at = 1; at < strings.count; at++)
            joined = arena_printf(arena, "%s|%s", joined, strings.items[at]);
        return joined;
    }
    fail_msg("no key %s", kind);
    return NULL;
}

static void run_authentication(const struct sample_mail *mail, const struct dns_row *rows, size_t count)
{
    struct error err = { .code = ERR_NONE };
    make_job();
    dns_server_start(rows, count);
    assert_ok(dns_new(dns_server_place(), &services.dns, &err), &err);
    assert_ok(check_authentication(&job, mail, report, &err), &err);
    dns_free(services.dns);
    dns_server_stop();
    assert_true(has_ended(CHECK_ENGINE_AUTHENTICATION));
}

static void test_authentication(void **state)
{
    (void)state;
    work.engine->public_url = "https://mail.example";
    struct sample_mail mail = mail_of_domain(true);
    const char *rsa_name;
    const char *ed25519_name;
    const char *rsa = key_strings(mail.domain_id, "rsa", &rsa_name);
    const char *ed25519 = key_strings(mail.domain_id, "ed25519", &ed25519_name);
    const struct dns_row whole[] = {
        { .name = "shop.example", .type = TYPE_TXT, .data = "v=spf1 include:relay.example ~all" },
        { .name = "_dmarc.shop.example", .type = TYPE_TXT, .data = "v=DMARC1; p=none" },
        { .name = rsa_name, .type = TYPE_TXT, .data = rsa },
        { .name = ed25519_name, .type = TYPE_TXT, .data = ed25519 },
    };
    static const char *const all[] = { "authSpf",       "authDkimRsa",     "authDkimEd25519", "authDmarc",
                                       "authAlignment", "authUnsubscribe", "authOneClick" };
    run_authentication(&mail, whole, ARRAY_COUNT(whole));
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        assert_status(all[i], CHECK_PASSED, NULL);

    const struct dns_row poor[] = {
        { .name = "shop.example", .type = TYPE_TXT, .data = "v=spf1 ~all" },
        { .name = "shop.example", .type = TYPE_TXT, .data = "v=spf1 -all" },
        { .name = "_dmarc.shop.example", .rcode = RCODE_NXDOMAIN },
        { .name = rsa_name, .type = TYPE_TXT, .data = ed25519 },
        { .name = ed25519_name, .rcode = RCODE_SERVFAIL },
    };
    mail.from_address = "news@other.example";
    run_authentication(&mail, poor, ARRAY_COUNT(poor));
    assert_finds("authSpf", "shop.example has no SPF record, or more than one");
    assert_finds("authDmarc", "_dmarc.shop.example");
    assert_finds("authDkimRsa", "has not published its RSA key");
    assert_status("authDkimEd25519", CHECK_UNAVAILABLE, ed25519_name);
    assert_finds("authAlignment", "The sender's address is news@other.example, and shop.example signs the message.");
    work.engine->public_url = NULL;
}

static void test_subdomains_are_aligned(void **state)
{
    static const struct dns_row rows[] = { { .name = "shop.example", .rcode = RCODE_NXDOMAIN } };
    (void)state;
    struct sample_mail mail = mail_of_domain(true);
    mail.from_address = "a@News.shop.example";
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_status("authAlignment", CHECK_PASSED, NULL);
    mail.from_address = "a@myshop.example";
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_int_equal(outcome_of("authAlignment")->status, CHECK_ISSUES);
}

/* Keys that the operator has confirmed without the DNS are a remark: the relay may sign. */
static void test_headers_and_confirmed_domains(void **state)
{
    static const struct dns_row rows[] = { { .name = "shop.example", .type = TYPE_TXT, .data = "no record" } };
    (void)state;
    struct sample_mail mail = mail_of_domain(true);
    run_sql("update domains set trusted = true where name = 'shop.example'");
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_finds("authDkimRsa", "has not published its RSA key");
    assert_finds("authDkimEd25519", "has not published its Ed25519 key");
    assert_int_equal(outcome_of("authDkimRsa")->severity, SEVERITY_INFO);
    assert_int_equal(outcome_of("authDkimEd25519")->severity, SEVERITY_INFO);
    assert_int_equal(outcome_of("authSpf")->severity, SEVERITY_WARNING);
    assert_finds("authUnsubscribe", "no header List-Unsubscribe");
    assert_finds("authOneClick", "with one click");
    run_sql("delete from domain_keys; delete from domains where kind <> 'sandbox'");
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_status("authSpf", CHECK_NOT_APPLICABLE, "no verified domain");
    mail = sample_of(design_of(html, "Hello\n"), false);
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_status("authOneClick", CHECK_NOT_APPLICABLE, "no verified domain");
}

static void test_transactional_mail(void **state)
{
    static const struct dns_row rows[] = { { .name = "shop.example", .is_silent = true } };
    (void)state;
    struct sample_mail mail = mail_of_domain(false);
    run_authentication(&mail, rows, ARRAY_COUNT(rows));
    assert_status("authUnsubscribe", CHECK_NOT_APPLICABLE, "transactional");
    assert_status("authSpf", CHECK_UNAVAILABLE, "The DNS gave no answer for shop.example.");
}

/* A cancelled call ends with an error, whatever the engines have found. */
static void test_cancelled(void **state)
{
    static const char *const hrefs[] = { "/200" };
    struct error err = { .code = ERR_NONE };
    (void)state;
    make_job();
    struct sample_mail mail = mail_with_links(hrefs, ARRAY_COUNT(hrefs));
    run_sql("insert into jobs (kind, pool, organization_id, brand_id, payload, created_at, run_after, cancel_asked) select "
            "'audit_email', 'work', "
            "%lld, %lld, '{}', now(), now(), true",
            (long long)work.organization_id, (long long)work.brand_id);
    job.id = number_of("select max(id) as value from jobs");
    assert_false(check_links(&job, &mail, report, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_ok(spam_filter_new("spamd:127.0.0.1:1", &services.spam, &err), &err);
    assert_false(check_spam(&job, &mail, report, &err));
    spam_filter_free(services.spam);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_links),
        TEST(test_mail_without_links),
        TEST(test_names_of_links),
        TEST(test_many_links),
        TEST(test_spam_filter),
        TEST(test_authentication),
        TEST(test_subdomains_are_aligned),
        TEST(test_headers_and_confirmed_domains),
        TEST(test_transactional_mail),
        TEST(test_cancelled),
    };
    return cmocka_run_group_tests_name("jobs_mail_checks", tests, begin_web, end_web);
}
