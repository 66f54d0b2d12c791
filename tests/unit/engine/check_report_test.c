/* The report of checks: statuses, findings and their bounds, and reports of the renderer. It needs no database. */
#include "fixtures/temp_folder.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/quality/check_report.h"

#include <string.h>

static const char *const no_sources[] = { NULL };

static const struct quality_check checks[] = {
    { .id = "altText", .engine = CHECK_ENGINE_STATIC, .severity = SEVERITY_ERROR, .sources = no_sources },
    { .id = "headings", .engine = CHECK_ENGINE_STATIC, .severity = SEVERITY_WARNING, .sources = no_sources },
    { .id = "contrast", .engine = CHECK_ENGINE_BROWSER, .severity = SEVERITY_ERROR, .sources = no_sources },
    { .id = NULL },
};

enum { ALT_TEXT, HEADINGS, CONTRAST };

static struct arena *arena;
static struct check_report *report;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    report = check_report_new_of(arena, checks);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const struct check_outcome *outcome_at(size_t at)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    assert_true(at < count);
    return &outcomes[at];
}

static bool reads(const char *text, struct error *err)
{
    const json_t *json;
    assert_true(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 100000 }, &json, err));
    return check_report_read(report, CHECK_ENGINE_STATIC, json, err);
}

static void test_the_declared_checks_fit_the_table(void **state)
{
    (void)state;
    for (const struct quality_check *check = quality_checks; check->id != NULL; check++)
        assert_ptr_equal(quality_check_find(check->id), check);
    assert_null(quality_check_find("noSuchCheck"));
    size_t count;
    (void)check_report_outcomes(check_report_new(arena), &count);
    assert_null(quality_checks[count].id);
}

static void test_an_engine_ends_the_checks_that_are_left(void **state)
{
    (void)state;
    check_report_end(report, "headings", CHECK_PASSED, NULL);
    check_report_end_engine(report, CHECK_ENGINE_STATIC, CHECK_UNAVAILABLE, "The renderer did not answer.");
    assert_int_equal(outcome_at(ALT_TEXT)->status, CHECK_UNAVAILABLE);
    assert_string_equal(outcome_at(ALT_TEXT)->reason, "The renderer did not answer.");
    assert_int_equal(outcome_at(HEADINGS)->status, CHECK_PASSED);
    assert_null(outcome_at(HEADINGS)->reason);
    assert_false(outcome_at(CONTRAST)->has_ended);
}

static void test_findings_have_severities_and_keys(void **state)
{
    (void)state;
    check_report_add(report, "headings", &(struct check_finding){ .message = "No heading.", .severity = SEVERITY_INFO });
    assert_int_equal(outcome_at(HEADINGS)->severity, SEVERITY_INFO);
    check_report_add(report, "headings", &(struct check_finding){ .message = "Empty.", .selector = "h2", .source = "<h2></h2>" });
    assert_int_equal(outcome_at(HEADINGS)->status, CHECK_ISSUES);
    assert_int_equal(outcome_at(HEADINGS)->severity, SEVERITY_WARNING);
    assert_string_equal(outcome_at(HEADINGS)->findings[1].key, "h2 <h2></h2>");
    check_report_end_engine(report, CHECK_ENGINE_STATIC, CHECK_PASSED, NULL);
    assert_int_equal(outcome_at(HEADINGS)->status, CHECK_ISSUES);
}

static void test_findings_and_texts_are_bounded(void **state)
{
    (void)state;
    char long_text[1001];
    memset(long_text, 'x', 1000);
    long_text[1000] = '\0';
    struct check_finding finding = { .message = long_text, .selector = long_text, .source = long_text, .key = long_text };
    for (int i = 0; i < CHECK_MAX_FINDINGS + 7; i++)
        check_report_add(report, "altText", &finding);
    const struct check_outcome *outcome = outcome_at(ALT_TEXT);
    assert_int_equal(outcome->finding_count, CHECK_MAX_FINDINGS);
    assert_int_equal(outcome->more, 7);
    assert_int_equal(utf8_length(outcome->findings[0].message), CHECK_MESSAGE_MAX_CHARS);
    assert_int_equal(utf8_length(outcome->findings[0].source), CHECK_SOURCE_MAX_CHARS);
    assert_int_equal(utf8_length(outcome->findings[0].key), CHECK_KEY_MAX_CHARS);
}

static void test_a_report_of_the_renderer_is_read(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_true(reads("{\"engine\": {\"name\": \"tree\", \"version\": \"1.2\"}, \"checks\": ["
                      "{\"id\": \"altText\", \"status\": \"issues\", \"more\": 3, \"findings\": ["
                      "{\"message\": \"No text.\", \"selector\": \"img\", \"source\": \"<img>\", \"key\": \"logo.png\"},"
                      "{\"message\": \"A name.\", \"severity\": \"blocker\"}]},"
                      "{\"id\": \"headings\", \"status\": \"not_applicable\", \"reason\": \"No text.\", \"findings\": []}],"
                      "\"metrics\": {\"htmlBytes\": 900, \"linkCount\": 0}}",
                      &err));
    const struct check_outcome *outcome = outcome_at(ALT_TEXT);
    assert_int_equal(outcome->finding_count, 2);
    assert_int_equal(outcome->more, 3);
    assert_int_equal(outcome->severity, SEVERITY_BLOCKER);
    assert_int_equal(outcome->findings[0].severity, SEVERITY_ERROR);
    assert_string_equal(outcome->findings[0].key, "logo.png");
    assert_int_equal(outcome_at(HEADINGS)->status, CHECK_NOT_APPLICABLE);
    assert_string_equal(check_report_version(report, CHECK_ENGINE_STATIC).version, "1.2");
    struct check_metrics metrics = check_report_metrics(report);
    assert_int_equal(metrics.html_bytes.value, 900);
    assert_true(metrics.link_count.set);
    assert_false(metrics.gif_count.set);
}

static void test_a_wrong_report_changes_nothing(void **state)
{
    (void)state;
    static const char *const checks_of[] = {
        "{\"id\": \"altText\", \"status\": \"passed\"}", /* headings is missing */
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"altText\", \"status\": \"passed\"}",
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"contrast\", \"status\": \"passed\"}",
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"headings\", \"status\": \"unavailable\"}",
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"headings\", \"status\": \"issues\", \"findings\": []}",
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"headings\", \"status\": \"issues\", \"findings\": [{}]}",
        "{\"id\": \"altText\", \"status\": \"passed\"}, {\"id\": \"headings\", \"status\": \"issues\", "
        "\"findings\": [{\"message\": \"M.\", \"severity\": \"awful\"}]}",
        "{\"id\": \"altText\", \"status\": \"passed\", \"findings\": [{\"message\": \"M.\"}]}, "
        "{\"id\": \"headings\", \"status\": \"passed\"}",
    };
    for (size_t i = 0; i < ARRAY_COUNT(checks_of); i++) {
        struct error err = { 0 };
        assert_false(reads(arena_printf(arena, "{\"engine\": {\"name\": \"tree\"}, \"checks\": [%s]}", checks_of[i]), &err));
        assert_int_equal(err.code, ERR_INTERNAL_ERROR);
        assert_false(outcome_at(ALT_TEXT)->has_ended);
        assert_null(check_report_version(report, CHECK_ENGINE_STATIC).name);
    }
    struct error err = { 0 };
    assert_false(reads("{\"checks\": []}", &err));
    assert_false(reads("[]", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_declared_checks_fit_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_engine_ends_the_checks_that_are_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_findings_have_severities_and_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_findings_and_texts_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_report_of_the_renderer_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_wrong_report_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
