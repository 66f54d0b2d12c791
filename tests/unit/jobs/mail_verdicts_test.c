/* Verdicts of the checks of links and spam: what each answer becomes in a report. */
#include "jobs/types/check_authentication.h"
#include "jobs/types/check_spam.h"
#include "jobs/types/link_verdict.h"
#include "spam/spam.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;
static struct check_report *report;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(0);
    report = check_report_new(arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
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

static size_t count_findings(enum check_engine engine)
{
    size_t count;
    size_t findings = 0;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].check->engine == engine)
            findings += outcomes[i].finding_count;
    return findings;
}

/* ---- Links ---- */

static void test_links_that_are_not_requested(void **state)
{
    static const struct {
        const char *href;
        enum link_skip skip;
    } links[] = {
        { "https://shop.example/sale", LINK_NOT_SKIPPED },
        { "HTTP://shop.example", LINK_NOT_SKIPPED },
        { "{{ unsubscribeUrl }}", LINK_HAS_TAG },
        { "https://shop.example/?to={{ email }}", LINK_HAS_TAG },
        { "https://shop.example/{% if a %}b{% endif %}", LINK_HAS_TAG },
        { "https://shop.example/?to=%7B%7B%20email%20%7D%7D", LINK_HAS_TAG },
        { "mailto:shop@example.com", LINK_IS_NO_PAGE },
        { "tel:+4912345", LINK_IS_NO_PAGE },
        { "#top", LINK_IS_NO_PAGE },
        { "", LINK_IS_NO_PAGE },
        { "shop.example/sale", LINK_IS_NO_PAGE },
        { "javascript:alert(1)", LINK_IS_NO_PAGE },
        { "https://shop.example/Unsubscribe?id=1", LINK_MAY_ACT },
        { "https://shop.example/%75nsubscribe", LINK_MAY_ACT },
        { "https://shop.example/opt-out", LINK_MAY_ACT },
        { "https://shop.example/confirm/abc", LINK_MAY_ACT },
        { "https://shop.example/preferences", LINK_MAY_ACT },
        { "https://shop.example/abmelden", LINK_MAY_ACT },
        { "https://mail.example/ph/u/abc", LINK_MAY_ACT },
        { "https://mail.example/ph/c/abc", LINK_MAY_ACT },
        { "https://mail.example/ph/about", LINK_NOT_SKIPPED },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(links); i++)
        if (link_skip_of(arena, links[i].href, "https://mail.example/ph") != links[i].skip)
            fail_msg("%s", links[i].href);
}

static const struct mail_link shop = { .href = "https://shop.example/\"sale\"", .text = "Shop now" };

static void assert_finding(const struct fetch_answer *answer, const char *check_id, const char *part)
{
    report = check_report_new(arena);
    link_judge(report, arena, &shop, answer);
    assert_int_equal(count_findings(CHECK_ENGINE_LINKS), check_id != NULL);
    if (check_id == NULL)
        return;
    const struct check_outcome *outcome = outcome_of(check_id);
    assert_int_equal(outcome->finding_count, 1);
    const struct check_finding *finding = &outcome->findings[0];
    if (strstr(finding->message, part) == NULL || strstr(finding->message, "The link “Shop now” to https://shop.example/") == NULL)
        fail_msg("“%s” has no “%s”", finding->message, part);
    assert_string_equal(finding->selector, "[href=\"https://shop.example/\\\"sale\\\"\"]");
    assert_string_equal(finding->key, shop.href);
}

static struct fetch_answer status_of(long status)
{
    return (struct fetch_answer){ .outcome = FETCH_OK, .status = status, .url = shop.href };
}

static struct fetch_answer failed(enum fetch_outcome outcome, enum fetch_cause cause, const char *reason)
{
    struct fetch_answer answer = { .outcome = outcome, .cause = cause };
    snprintf(answer.reason, sizeof(answer.reason), "%s", reason);
    return answer;
}

static void test_statuses(void **state)
{
    static const struct {
        long status;
        const char *check_id; /* NULL: no finding */
    } statuses[] = {
        { 200, NULL },
        { 204, NULL },
        { 304, NULL },
        { 399, NULL },
        { 404, "linkBroken" },
        { 410, "linkBroken" },
        { 400, "linkRefused" },
        { 401, "linkRefused" },
        { 403, "linkRefused" },
        { 429, "linkRefused" },
        { 451, "linkRefused" },
        { 500, "linkServerError" },
        { 503, "linkServerError" },
        { 599, "linkServerError" },
        { 999, "linkRefused" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(statuses); i++) {
        struct fetch_answer answer = status_of(statuses[i].status);
        assert_finding(&answer, statuses[i].check_id, arena_printf(arena, "gets the status %ld", statuses[i].status));
    }
}

static void test_slow_answers_and_redirects(void **state)
{
    (void)state;
    struct fetch_answer answer = status_of(200);
    answer.took_ms = LINK_SLOW_MS;
    assert_finding(&answer, NULL, "");
    answer.took_ms = LINK_SLOW_MS + 1;
    assert_finding(&answer, "linkSlow", "takes more than 5 s");
    answer.took_ms = 0;
    answer.redirects = LINK_REDIRECTS_NOTED;
    assert_finding(&answer, NULL, "");
    answer.redirects = LINK_REDIRECTS_NOTED + 1;
    assert_finding(&answer, "linkRedirects", "is redirected 4 times, to https://shop.example/");
    answer.status = 404;
    answer.redirects = 1;
    assert_finding(&answer, "linkBroken", "gets the status 404 from its server after a redirect.");
}

static void test_failures(void **state)
{
    static const struct {
        enum fetch_outcome outcome;
        enum fetch_cause cause;
        const char *check_id;
    } failures[] = {
        { FETCH_REFUSED, FETCH_CAUSE_OTHER, "linkBroken" },          { FETCH_FAILED, FETCH_CAUSE_CERTIFICATE, "linkCertificate" },
        { FETCH_FAILED, FETCH_CAUSE_CONNECTION, "linkServerError" }, { FETCH_FAILED, FETCH_CAUSE_OTHER, "linkServerError" },
        { FETCH_FAILED, FETCH_CAUSE_ADDRESS, "linkUnchecked" },      { FETCH_FAILED, FETCH_CAUSE_NAME, "linkServerError" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(failures); i++) {
        struct fetch_answer answer = failed(failures[i].outcome, failures[i].cause, "the reason");
        assert_finding(&answer, failures[i].check_id, "the reason.");
    }
    struct fetch_answer round = failed(FETCH_FAILED, FETCH_CAUSE_REDIRECTS, "");
    assert_finding(&round, "linkBroken", "more than 10 times");
}

/* A request that the time of all links has cut short says nothing about its server. */
static void test_too_slow(void **state)
{
    (void)state;
    struct fetch_answer answer = failed(FETCH_TOO_SLOW, FETCH_CAUSE_OTHER, "");
    answer.took_ms = LINK_EACH_MS;
    assert_finding(&answer, "linkSlow", "gets no answer within 10 s");
    answer.took_ms = LINK_EACH_MS / 2;
    assert_finding(&answer, "linkUnchecked", "ends after 20 s");
    answer.took_ms = LINK_EACH_MS;
    answer.cause = FETCH_CAUSE_NOT_ASKED;
    assert_finding(&answer, "linkUnchecked", "ends after 20 s");
}

static void test_names(void **state)
{
    (void)state;
    link_judge_name(report, arena, &shop, "shop.example", true);
    assert_non_null(strstr(outcome_of("linkBroken")->findings[0].message, "the DNS has no address of shop.example"));
    link_judge_name(report, arena, &shop, "shop.example", false);
    assert_int_equal(outcome_of("linkServerError")->finding_count, 1);
}

static void test_links_without_tls(void **state)
{
    const struct mail_link plain = { .href = "http://shop.example/", .text = "" };
    struct fetch_answer moved = { .outcome = FETCH_OK, .status = 200, .url = "https://shop.example/", .redirects = 1 };
    (void)state;
    moved.redirect_status = 302;
    link_judge_form(report, arena, &plain, &moved);
    assert_string_equal(outcome_of("linkInsecure")->findings[0].message,
                        "The link to http://shop.example/ has no TLS, because it begins with http.");
    moved.redirect_status = 308;
    link_judge_form(report, arena, &plain, &moved);
    assert_int_equal(outcome_of("linkInsecure")->finding_count, 1);
    assert_non_null(strstr(outcome_of("linkRedirects")->findings[0].message, "to https for good"));
    link_judge_form(report, arena, &plain, NULL);
    link_judge_form(report, arena, &shop, NULL);
    assert_int_equal(outcome_of("linkInsecure")->finding_count, 2);
}

/* ---- Spam ---- */

static void judge_spam(double score, double threshold, const struct spam_rule *rules, size_t count)
{
    const struct spam_verdict verdict = {
        .score = score,
        .threshold = threshold,
        .is_spam = score >= threshold,
        .rules = rules,
        .count = count,
        .names_rules = true,
    };
    report = check_report_new(arena);
    spam_judge(report, arena, "SpamAssassin", &verdict);
}

static void test_spam_scores(void **state)
{
    (void)state;
    judge_spam(2.9, 5, NULL, 0);
    assert_int_equal(outcome_of("spamScore")->status, CHECK_PASSED);
    assert_string_equal(outcome_of("spamScore")->reason,
                        "SpamAssassin gives the message 2.9 points, and takes it for spam from 5.0 on.");
    judge_spam(3, 5, NULL, 0);
    assert_int_equal(outcome_of("spamScore")->severity, SEVERITY_WARNING);
    judge_spam(5, 5, NULL, 0);
    assert_int_equal(outcome_of("spamScore")->severity, SEVERITY_ERROR);
    judge_spam(-1, 5, NULL, 0);
    assert_int_equal(outcome_of("spamScore")->status, CHECK_PASSED);
}

/* rspamd tells the threshold of its hardest action. A milder one takes the message for spam too. */
static void test_spam_below_the_threshold(void **state)
{
    const struct spam_verdict verdict = {
        .score = 6.5, .threshold = 15, .is_spam = true, .action = "add header", .names_rules = true
    };
    (void)state;
    spam_judge(report, arena, "rspamd", &verdict);
    assert_int_equal(outcome_of("spamScore")->severity, SEVERITY_ERROR);
    assert_string_equal(outcome_of("spamScore")->findings[0].message,
                        "rspamd gives the message 6.5 points, and takes it for spam (add header).");
}

/* Rules about the way of the message are no findings, and their points do not count. */
static void test_spam_rules(void **state)
{
    static const struct spam_rule rules[] = {
        { "RDNS_NONE", 3, "no reverse DNS", "The message comes from this installation." },
        { "SMALL", 0.4, "too small", NULL },
        { "JUST", 0.5, "", NULL },
        { "GOOD", -2, "speaks for it", NULL },
        { "HARD", 2.5, "BODY: hard", NULL },
    };
    (void)state;
    judge_spam(5.5, 5, rules, ARRAY_COUNT(rules));
    assert_int_equal(outcome_of("spamScore")->status, CHECK_PASSED);
    assert_non_null(strstr(outcome_of("spamScore")->reason, "5.5 points"));
    assert_non_null(strstr(outcome_of("spamScore")->reason, "3.0 of the points are about the way"));
    const struct check_outcome *outcome = outcome_of("spamRules");
    assert_int_equal(outcome->finding_count, 2);
    assert_string_equal(outcome->findings[0].message, "HARD: 2.5 points. BODY: hard");
    assert_string_equal(outcome->findings[1].message, "JUST: 0.5 points");
    assert_string_equal(outcome->findings[0].key, "HARD");
    assert_int_equal(outcome_of("spamTestPattern")->status, CHECK_PASSED);
}

/* rspamd gives the pattern no points. */
static void test_the_test_pattern(void **state)
{
    static const struct spam_rule rules[] = { { "GTUBE", 0, "", NULL } };
    (void)state;
    judge_spam(0, 5, rules, ARRAY_COUNT(rules));
    assert_int_equal(outcome_of("spamTestPattern")->severity, SEVERITY_BLOCKER);
    assert_int_equal(outcome_of("spamRules")->status, CHECK_PASSED);
}

static void test_a_filter_without_rules(void **state)
{
    const struct spam_verdict verdict = { .score = 1, .threshold = 5 };
    (void)state;
    spam_judge(report, arena, "SpamAssassin", &verdict);
    assert_int_equal(outcome_of("spamScore")->status, CHECK_PASSED);
    assert_int_equal(outcome_of("spamRules")->status, CHECK_UNAVAILABLE);
    assert_int_equal(outcome_of("spamTestPattern")->status, CHECK_UNAVAILABLE);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(test_links_that_are_not_requested),
        FRESH(test_statuses),
        FRESH(test_slow_answers_and_redirects),
        FRESH(test_failures),
        FRESH(test_too_slow),
        FRESH(test_names),
        FRESH(test_links_without_tls),
        FRESH(test_spam_scores),
        FRESH(test_spam_rules),
        FRESH(test_spam_below_the_threshold),
        FRESH(test_the_test_pattern),
        FRESH(test_a_filter_without_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
