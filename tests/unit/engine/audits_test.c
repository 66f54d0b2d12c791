/* Audits: the score, saving, pages of findings, the comparison with the audit before, and the end of an audit. */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/quality/audit_findings.h"
#include "engine/quality/audits.h"

static const char *const no_sources[] = { NULL };

static const struct quality_check checks[] = {
    { .id = "altText", .category = CATEGORY_ACCESSIBILITY, .severity = SEVERITY_ERROR, .sources = no_sources },
    { .id = "tinyText", .category = CATEGORY_ACCESSIBILITY, .severity = SEVERITY_WARNING, .sources = no_sources },
    { .id = "unsubscribe", .category = CATEGORY_CONTENT, .severity = SEVERITY_BLOCKER, .sources = no_sources },
    { .id = "deadLink",
      .engine = CHECK_ENGINE_LINKS,
      .category = CATEGORY_LINKS,
      .severity = SEVERITY_WARNING,
      .sources = no_sources },
    { .id = NULL },
};

static struct check_report *new_report(void)
{
    struct check_report *report = check_report_new_of(arena, checks);
    check_report_engine(report, CHECK_ENGINE_STATIC, "tree", "1");
    check_report_engine(report, CHECK_ENGINE_LINKS, "links", "1");
    return report;
}

static void add(struct check_report *report, const char *check_id, const char *key)
{
    check_report_add(report, check_id, &(struct check_finding){ .message = "A fault.", .key = key });
}

static void pass_the_rest(struct check_report *report)
{
    check_report_end_engine(report, CHECK_ENGINE_STATIC, CHECK_PASSED, NULL);
    check_report_end_engine(report, CHECK_ENGINE_LINKS, CHECK_PASSED, NULL);
}

static int64_t score_of(const struct check_report *report)
{
    return audit_score(report, AUDIT_FULL);
}

/* ---- The score ---- */

static void test_a_check_takes_more_with_each_finding_up_to_its_weight(void **state)
{
    (void)state;
    static const int64_t scores[] = { 100, 98, 98, 97, 96, 96 }; /* 4 × 0.4, 0.6, 0.8, 1, 1 */
    for (size_t findings = 0; findings < ARRAY_COUNT(scores); findings++) {
        struct check_report *report = new_report();
        for (size_t i = 0; i < findings; i++)
            add(report, "tinyText", "p");
        assert_int_equal(score_of(report), scores[findings]);
    }
}

static void test_hard_findings_cap_the_score(void **state)
{
    (void)state;
    struct check_report *report = new_report();
    add(report, "altText", "img");
    assert_int_equal(score_of(report), 89); /* not 96 */
    add(report, "unsubscribe", "");
    add(report, "deadLink", "https://a.example"); /* milder, and later in the table */
    assert_int_equal(score_of(report), 69);       /* not 84 */
    assert_int_equal(audit_score(report, AUDIT_ACCESSIBILITY), 89);
    struct check_report *milder = new_report();
    check_report_add(milder, "unsubscribe", &(struct check_finding){ .message = "M.", .severity = SEVERITY_WARNING });
    assert_int_equal(score_of(milder), 98);
}

/* ---- Saving and reading ---- */

static struct audit_subject subject_of(int64_t email_id)
{
    return (struct audit_subject){ .email_id = email_id, .purpose = "marketing" };
}

static int64_t save(const struct audit_subject *subject, struct check_report *report)
{
    struct error err = { .code = ERR_NONE };
    int64_t audit_id;
    assert_ok(audit_save(&work, subject, report, &audit_id, &err), &err);
    return audit_id;
}

static int64_t design(void)
{
    return design_of("<!DOCTYPE html><html><head></head><body><p>Hi</p></body></html>", "Hi");
}

static const json_t *json_of(struct buf *out)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_ok(json_read(arena, buf_text(out), out->size, (struct json_bounds){ .max_bytes = 1000000 }, &json, &err), &err);
    return json;
}

static bool reads(int64_t audit_id, int64_t limit, const char *cursor, const json_t **ret_json, struct error *err)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1000000);
    json_writer_init(&json, out);
    if (!audit_read(&work, audit_id, limit, cursor, &json, err))
        return false;
    *ret_json = json_of(out);
    return true;
}

static const json_t *audit(int64_t audit_id)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_ok(reads(audit_id, 50, NULL, &json, &err), &err);
    return json;
}

static const json_t *finding_at(const json_t *audit, size_t at)
{
    const json_t *finding = json_array_get(json_object_get(audit, "findings"), at);
    assert_non_null(finding);
    return finding;
}

static void test_findings_are_read_hardest_first_in_pages(void **state) /* */
{
    (void)state;
    struct check_report *report = new_report();
    for (int i = 0; i < 12; i++)
        add(report, "tinyText", arena_printf(arena, "p:%d", i));
    add(report, "unsubscribe", "");
    pass_the_rest(report);
    struct audit_subject subject = subject_of(design());
    int64_t audit_id = save(&subject, report);
    struct error err = { .code = ERR_NONE };
    const json_t *page;
    assert_ok(reads(audit_id, 8, NULL, &page, &err), &err);
    assert_string_equal(json_get_text(finding_at(page, 0), "ruleId"), "unsubscribe");
    assert_int_equal(json_array_size(json_object_get(page, "findings")), 8);
    assert_int_equal(json_get_int(page, "totalFindings", 0), 13);
    const char *cursor = json_get_text(json_object_get(page, "pagination"), "cursor");
    assert_ok(reads(audit_id, 8, cursor, &page, &err), &err);
    assert_int_equal(json_array_size(json_object_get(page, "findings")), 5);
    assert_false(json_get_bool(json_object_get(page, "pagination"), "hasMore", true));
    int64_t other_id = save(&subject, report);
    assert_false(reads(other_id, 8, cursor, &page, &err));
    assert_string_equal(err.param, "cursor");
}

static void test_findings_that_are_not_kept_are_counted(void **state)
{
    (void)state;
    struct check_report *report = new_report();
    for (int i = 0; i < CHECK_MAX_FINDINGS + 5; i++)
        add(report, "tinyText", arena_printf(arena, "p:%d", i));
    struct audit_subject subject = subject_of(design());
    pass_the_rest(report);
    const json_t *json = audit(save(&subject, report));
    assert_int_equal(json_get_int(json_object_get(json, "summary"), "warnings", 0), CHECK_MAX_FINDINGS + 5);
    assert_int_equal(json_get_int(json, "totalFindings", 0), CHECK_MAX_FINDINGS + 5);
    assert_true(json_get_bool(json, "findingsTruncated", false));
}

static void test_an_audit_with_undecided_checks_is_partial(void **state) /* */
{
    (void)state;
    struct audit_subject subject = subject_of(design());
    struct check_report *report = new_report();
    check_report_end_engine(report, CHECK_ENGINE_STATIC, CHECK_PASSED, NULL);
    assert_false(audit_is_complete(report, AUDIT_FULL)); /* the link check has not ended */
    const json_t *json = audit(save(&subject, report));  /* and is saved as unavailable */
    const json_t *completion = json_object_get(json, "completion");
    assert_string_equal(json_get_text(completion, "status"), "partial");
    assert_true(json_is_null(json_object_get(completion, "score")));
    assert_false(audit_is_complete(report, AUDIT_FULL));
    assert_true(audit_is_complete(report, AUDIT_ACCESSIBILITY));
    const json_t *links = json_array_get(json_object_get(json, "engines"), 1);
    assert_int_equal(json_get_int(links, "unavailable", 0), 1);
    assert_string_equal(json_get_text(links, "reason"), "The check was not run.");
}

/* ---- The comparison ---- */

static void assert_diff(const json_t *json, int64_t fixed, int64_t added, int64_t remaining, int64_t unchecked)
{
    const json_t *diff = json_object_get(json, "diff");
    assert_int_equal(json_get_int(diff, "fixed", -1), fixed);
    assert_int_equal(json_get_int(diff, "new", -1), added);
    assert_int_equal(json_get_int(diff, "remaining", -1), remaining);
    assert_int_equal(json_get_int(diff, "unchecked", -1), unchecked);
}

static void test_the_same_fault_has_the_same_id(void **state)
{
    (void)state;
    struct audit_subject subject = subject_of(design());
    struct check_report *first = new_report();
    add(first, "altText", "logo.png");
    add(first, "altText", "logo.png"); /* twice in the mail */
    add(first, "tinyText", "p");
    pass_the_rest(first);
    const json_t *before = audit(save(&subject, first));
    assert_null(json_object_get(before, "diff"));
    assert_null(json_object_get(finding_at(before, 0), "isNew"));

    struct check_report *second = new_report();
    add(second, "altText", "hero.png");
    add(second, "altText", "logo.png");
    pass_the_rest(second);
    const json_t *now = audit(save(&subject, second));
    assert_diff(now, 2, 1, 1, 0);
    assert_true(json_get_bool(finding_at(now, 0), "isNew", false));
    assert_false(json_get_bool(finding_at(now, 1), "isNew", true));
    assert_string_equal(json_get_text(finding_at(now, 1), "id"), json_get_text(finding_at(before, 0), "id"));
    assert_string_not_equal(json_get_text(finding_at(before, 0), "id"), json_get_text(finding_at(before, 1), "id"));
    const json_t *fixed = json_object_get(json_object_get(now, "diff"), "fixedFindings");
    assert_string_equal(json_get_text(json_array_get(fixed, 1), "ruleId"), "tinyText");
}

static void test_a_fault_that_is_not_looked_for_is_not_fixed(void **state)
{
    (void)state;
    struct audit_subject subject = subject_of(design());
    struct check_report *first = new_report();
    add(first, "deadLink", "https://a.example");
    add(first, "tinyText", "p:99");
    add(first, "altText", "logo.png");
    pass_the_rest(first);
    int64_t first_id = save(&subject, first);

    struct check_report *second = new_report(); /* the links are unavailable, and a check has more findings than are kept */
    for (int i = 0; i <= CHECK_MAX_FINDINGS; i++)
        add(second, "tinyText", arena_printf(arena, "p:%d", i));
    check_report_end(second, "altText", CHECK_NOT_APPLICABLE, "There is no image.");
    check_report_end_engine(second, CHECK_ENGINE_STATIC, CHECK_PASSED, NULL);
    check_report_end_engine(second, CHECK_ENGINE_LINKS, CHECK_UNAVAILABLE, NULL);
    assert_diff(audit(save(&subject, second)), 1, CHECK_MAX_FINDINGS, 0, 2);

    struct check_report *third = new_report();
    pass_the_rest(third);
    const json_t *diff = json_object_get(audit(save(&subject, third)), "diff"); /* a partial audit is not compared with */
    assert_string_equal(json_get_text(diff, "previousAuditId"), work_id(&work, ID_AUDIT, first_id));
}

static void test_kinds_and_purposes_are_compared_apart(void **state)
{
    (void)state;
    struct audit_subject subject = subject_of(design());
    struct check_report *report = new_report();
    pass_the_rest(report);
    save(&subject, report);
    subject.purpose = "transactional";
    assert_null(json_object_get(audit(save(&subject, report)), "diff"));
    subject.kind = AUDIT_ACCESSIBILITY;
    const json_t *json = audit(save(&subject, report));
    assert_null(json_object_get(json, "diff"));
    assert_int_equal(json_array_size(json_object_get(json, "checks")), 2);
}

/* ---- The end of an audit ---- */

static void assert_gone(int64_t audit_id)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_false(reads(audit_id, 10, NULL, &json, &err));
    assert_int_equal(err.code, ERR_AUDIT_NOT_FOUND);
}

static void test_audits_end_after_seven_days(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct audit_subject subject = subject_of(design());
    struct check_report *report = new_report();
    add(report, "tinyText", "p");
    pass_the_rest(report);
    int64_t audit_id = save(&subject, report);
    work.now_us += INT64_C(7) * 24 * 3600 * US_PER_S - 1;
    assert_non_null(audit(audit_id));
    struct audits_forget_params forget = { .now = work.now_us, .limit = 10 };
    assert_ok(sql_audits_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from audits"), 1);
    forget.now = work.now_us += 1;
    assert_gone(audit_id);
    assert_null(json_object_get(audit(save(&subject, report)), "diff"));
    assert_ok(sql_audits_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from audits"), 1);
    assert_int_equal(number_of("select count(*) from audit_findings"), 1);
}

static void test_audits_end_with_their_design(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct audit_subject subject = subject_of(design());
    struct check_report *report = new_report();
    pass_the_rest(report);
    int64_t audit_id = save(&subject, report);
    run_sql("update emails set deleted_at = now()");
    assert_gone(audit_id);
    assert_false(audit_save(&work, &subject, report, &audit_id, &err));
    assert_int_equal(err.code, ERR_EMAIL_NOT_FOUND);
}

/* ---- Before a send ---- */

static void test_a_send_is_warned_of_blockers(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    const char *sentence;
    struct audit_subject subject = subject_of(design());
    assert_ok(audit_check(&work, &subject, &err), &err);
    assert_ok(audit_warning(&work, subject.email_id, subject.version_id, &sentence, &err), &err);
    assert_non_null(strstr(sentence, "was not audited"));

    struct check_report *report = new_report();
    add(report, "unsubscribe", "");
    pass_the_rest(report);
    save(&subject, report);
    assert_ok(audit_warning(&work, subject.email_id, subject.version_id, &sentence, &err), &err);
    assert_string_equal(sentence, "The audit of this version has 1 open blocker: A fault.");

    struct check_report *mended = new_report();
    pass_the_rest(mended);
    save(&subject, mended);
    assert_ok(audit_warning(&work, subject.email_id, subject.version_id, &sentence, &err), &err);
    assert_null(sentence);
}

static int audits_reset(void **state)
{
    return world_reset(state) != 0 ? -1 : (run_sql("delete from audits"), 0);
}

#define AUDIT_TEST(function) cmocka_unit_test_setup_teardown(function, audits_reset, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDIT_TEST(test_a_check_takes_more_with_each_finding_up_to_its_weight),
        AUDIT_TEST(test_hard_findings_cap_the_score),
        AUDIT_TEST(test_findings_are_read_hardest_first_in_pages),
        AUDIT_TEST(test_findings_that_are_not_kept_are_counted),
        AUDIT_TEST(test_an_audit_with_undecided_checks_is_partial),
        AUDIT_TEST(test_the_same_fault_has_the_same_id),
        AUDIT_TEST(test_a_fault_that_is_not_looked_for_is_not_fixed),
        AUDIT_TEST(test_kinds_and_purposes_are_compared_apart),
        AUDIT_TEST(test_audits_end_after_seven_days),
        AUDIT_TEST(test_audits_end_with_their_design),
        AUDIT_TEST(test_a_send_is_warned_of_blockers),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
