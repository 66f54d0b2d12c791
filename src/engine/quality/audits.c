/* Checking what is audited, the score, and saving an audit. */
#include "engine/quality/audits.h"

#include "base/clock.h"
#include "engine/quality/audit_findings.h"
#include "sql/emails.h"

#include <math.h>
#include <string.h>

enum { RESULTS_MAX_BYTES = 512 * 1024 };

static const int64_t keep_us = INT64_C(7) * 24 * 3600 * US_PER_S;
static const char *const kind_names[] = { [AUDIT_FULL] = "full", [AUDIT_ACCESSIBILITY] = "accessibility" };

/* ---- The subject ---- */

bool audit_check(const struct work *work, struct audit_subject *subject, struct error *err)
{
    struct email_find_params params = {
        .brand_id = work->brand_id,
        .id = subject->email_id,
        .version_id = { .set = subject->version_id != 0, .value = subject->version_id },
    };
    struct email_find_row *email;
    if (!sql_email_find(work->conn, work->arena, &params, &email, err))
        return false;
    if (email == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    if (subject->version_id != 0 && !email->version_id.set)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This email has no version with this id.");
    if (!email->version_id.set || (subject->version_id == 0 && strcmp(email->status, "ready") != 0))
        return fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design is %s; audit it when it is ready.", email->status);
    subject->version_id = email->version_id.value;
    return true;
}

bool audit_has_engine(enum audit_kind kind, enum check_engine engine)
{
    for (const struct quality_check *check = quality_checks; check->id != NULL; check++) {
        if (check->engine == engine && audit_has_check(kind, check))
            return true;
    }
    return false;
}

/* ---- The score ---- */

static double weight_of(enum check_severity severity)
{
    static const double weights[SEVERITIES] = {
        [SEVERITY_INFO] = 1,
        [SEVERITY_WARNING] = 4,
        [SEVERITY_ERROR] = 10,
        [SEVERITY_BLOCKER] = 25,
    };
    return weights[severity];
}

/* The most that a mail with a fault of this severity gets. */
static double cap_of(enum check_severity severity)
{
    static const double caps[SEVERITIES] = {
        [SEVERITY_DECLARED] = 100, [SEVERITY_INFO] = 100, [SEVERITY_WARNING] = 100, [SEVERITY_ERROR] = 89, [SEVERITY_BLOCKER] = 69,
    };
    return caps[severity];
}

int64_t audit_score(const struct check_report *report, enum audit_kind kind)
{
    static const double of_the_first = 0.4;
    static const double of_each_other = 0.2;
    size_t count;
    double score = 100;
    double cap = 100;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++) {
        const struct check_outcome *outcome = &outcomes[i];
        if (outcome->status != CHECK_ISSUES || !audit_has_check(kind, outcome->check))
            continue;
        double findings = (double)outcome->finding_count + (double)outcome->more;
        score -= weight_of(outcome->severity) * fmin(1, of_the_first + of_each_other * (findings - 1));
        cap = fmin(cap, cap_of(outcome->severity));
    }
    return llround(fmax(0, fmin(score, cap)));
}

bool audit_is_complete(const struct check_report *report, enum audit_kind kind)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_decided = outcomes[i].has_ended && outcomes[i].status != CHECK_UNAVAILABLE;
        if (audit_has_check(kind, outcomes[i].check) && !is_decided)
            return false;
    }
    return true;
}

/* ---- The saved results ---- */

static const char *checks_json(struct arena *arena, const struct check_report *report, enum audit_kind kind)
{
    size_t count;
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, RESULTS_MAX_BYTES);
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++) {
        const struct check_outcome *outcome = &outcomes[i];
        if (!audit_has_check(kind, outcome->check))
            continue;
        json_object_begin(&json);
        json_member_text(&json, "id", outcome->check->id);
        json_member_text(&json, "engine", check_engine_name(outcome->check->engine));
        json_member_text(&json, "category", check_category_name(outcome->check->category));
        json_member_text(&json, "status", check_status_name(outcome->status));
        json_member_text_if(&json, "reason", outcome->reason);
        json_member_int(&json, "findings", (int64_t)outcome->finding_count + outcome->more);
        json_object_end(&json);
    }
    json_array_end(&json);
    return buf_text(out);
}

/* The checks of an engine by their results. */
struct engine_summary {
    int64_t checks;
    int64_t by_status[CHECK_STATUSES];
    const char *reason; /* of the first check that was not decided */
};

static struct engine_summary summary_of(const struct check_report *report, enum audit_kind kind, enum check_engine engine)
{
    size_t count;
    struct engine_summary summary = { .checks = 0 };
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++) {
        const struct check_outcome *outcome = &outcomes[i];
        if (outcome->check->engine != engine || !audit_has_check(kind, outcome->check))
            continue;
        summary.checks++;
        summary.by_status[outcome->status]++;
        if (outcome->status == CHECK_UNAVAILABLE && summary.by_status[CHECK_UNAVAILABLE] == 1)
            summary.reason = outcome->reason;
    }
    if (summary.checks > 0 && summary.by_status[CHECK_NOT_APPLICABLE] == summary.checks)
        for (size_t i = 0; i < count && summary.reason == NULL; i++)
            summary.reason = outcomes[i].check->engine == engine ? outcomes[i].reason : NULL;
    return summary;
}

static void write_engine(const struct check_report *report, enum check_engine engine, const struct engine_summary *summary,
                         struct json_writer *json)
{
    struct check_engine_version version = check_report_version(report, engine);
    json_object_begin(json);
    json_member_text(json, "engine", check_engine_name(engine));
    json_member_text_if(json, "name", version.name);
    json_member_text_if(json, "version", version.version);
    json_member_int(json, "passed", summary->by_status[CHECK_PASSED]);
    json_member_int(json, "issues", summary->by_status[CHECK_ISSUES]);
    json_member_int(json, "notApplicable", summary->by_status[CHECK_NOT_APPLICABLE]);
    json_member_int(json, "unavailable", summary->by_status[CHECK_UNAVAILABLE]);
    json_member_text_if(json, "reason", summary->reason);
    json_object_end(json);
}

static const char *engines_json(struct arena *arena, const struct check_report *report, enum audit_kind kind)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, RESULTS_MAX_BYTES);
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (enum check_engine engine = 0; engine < CHECK_ENGINES; engine++) {
        struct engine_summary summary = summary_of(report, kind, engine);
        if (summary.checks > 0)
            write_engine(report, engine, &summary, &json);
    }
    json_array_end(&json);
    return buf_text(out);
}

static void write_metric(struct json_writer *json, const char *name, struct opt_int metric)
{
    if (metric.set)
        json_member_int(json, name, metric.value);
}

static const char *metrics_json(struct arena *arena, const struct check_report *report)
{
    struct check_metrics metrics = check_report_metrics(report);
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, RESULTS_MAX_BYTES);
    json_writer_init(&json, out);
    json_object_begin(&json);
    write_metric(&json, "htmlBytes", metrics.html_bytes);
    write_metric(&json, "linkCount", metrics.link_count);
    write_metric(&json, "imageCount", metrics.image_count);
    write_metric(&json, "gifCount", metrics.gif_count);
    json_object_end(&json);
    return buf_text(out);
}

/* Counts the findings by severity; those that are not kept have the severity of their check. */
static void count_findings(const struct check_report *report, enum audit_kind kind, struct audit_insert_params *insert)
{
    size_t count;
    int64_t counts[SEVERITIES] = { 0 };
    const struct check_outcome *outcomes = check_report_outcomes(report, &count);
    for (size_t i = 0; i < count; i++) {
        const struct check_outcome *outcome = &outcomes[i];
        if (!audit_has_check(kind, outcome->check))
            continue;
        counts[outcome->check->severity] += outcome->more;
        for (size_t j = 0; j < outcome->finding_count; j++)
            counts[outcome->findings[j].severity]++;
    }
    insert->blockers = counts[SEVERITY_BLOCKER];
    insert->errors = counts[SEVERITY_ERROR];
    insert->warnings = counts[SEVERITY_WARNING];
    insert->info = counts[SEVERITY_INFO];
}

/* ---- Saving ---- */

static bool save_findings(const struct work *work, int64_t audit_id, const struct audit_findings *findings, bool was_compared,
                          struct error *err)
{
    struct arena *arena = work->arena;
    size_t count = findings->count;
    const char **check_ids = arena_array(arena, count, sizeof(*check_ids));
    const char **severities = arena_array(arena, count, sizeof(*severities));
    const char **messages = arena_array(arena, count, sizeof(*messages));
    const char **selectors = arena_array(arena, count, sizeof(*selectors));
    const char **sources = arena_array(arena, count, sizeof(*sources));
    for (size_t i = 0; i < count; i++) {
        check_ids[i] = findings->outcomes[i]->check->id;
        severities[i] = check_severity_name(findings->findings[i]->severity);
        messages[i] = findings->findings[i]->message;
        selectors[i] = findings->findings[i]->selector;
        sources[i] = findings->findings[i]->source;
    }
    struct audit_findings_insert_params params = {
        .brand_id = work->brand_id,
        .audit_id = audit_id,
        .finding_ids = { findings->ids, count },
        .check_ids = { check_ids, count },
        .severities = { severities, count },
        .messages = { messages, count },
        .selectors = { selectors, count },
        .sources = { sources, count },
        .are_new = { findings->are_new, count },
        .was_compared = was_compared,
    };
    return sql_audit_findings_insert(work->conn, arena, &params, NULL, err);
}

/* Compares with the complete audit before; `ret_diff` is NULL when there is none. */
static bool compare(const struct work *work, const struct audit_subject *subject, const struct check_report *report,
                    struct audit_findings *findings, const char **ret_diff, struct error *err)
{
    struct audit_previous_params params = {
        .brand_id = work->brand_id,
        .email_id = subject->email_id,
        .kind = kind_names[subject->kind],
        .purpose = subject->purpose,
        .now = work->now_us,
    };
    struct audit_previous_row *previous;
    struct audit_findings_all_row *before;
    size_t before_count;
    *ret_diff = NULL;
    if (!sql_audit_previous(work->conn, work->arena, &params, &previous, err))
        return false;
    if (previous == NULL)
        return true;
    struct audit_findings_all_params all = { .brand_id = work->brand_id, .audit_id = previous->id };
    if (!sql_audit_findings_all(work->conn, work->arena, &all, &before, &before_count, err))
        return false;
    *ret_diff = audit_compare(work, report, findings, previous, before, before_count);
    return true;
}

static void end_open_checks(struct check_report *report)
{
    for (enum check_engine engine = 0; engine < CHECK_ENGINES; engine++)
        check_report_end_engine(report, engine, CHECK_UNAVAILABLE, "The check was not run.");
}

static bool insert(const struct work *work, const struct audit_subject *subject, const struct check_report *report,
                   const struct audit_findings *findings, const char *diff, int64_t *ret_audit_id, struct error *err)
{
    bool is_complete = audit_is_complete(report, subject->kind);
    struct audit_insert_params params = {
        .brand_id = work->brand_id,
        .email_id = subject->email_id,
        .version_id = subject->version_id,
        .kind = kind_names[subject->kind],
        .purpose = subject->purpose,
        .status = is_complete ? "complete" : "partial",
        .score = { .set = is_complete, .value = is_complete ? audit_score(report, subject->kind) : 0 },
        .kept = (int64_t)findings->count,
        .checks = checks_json(work->arena, report, subject->kind),
        .engines = engines_json(work->arena, report, subject->kind),
        .metrics = metrics_json(work->arena, report),
        .diff = diff,
        .now = work->now_us,
        .expires_at = work->now_us + keep_us,
    };
    struct audit_insert_row *row;
    count_findings(report, subject->kind, &params);
    if (!sql_audit_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_audit_id = row->id;
    return save_findings(work, row->id, findings, diff != NULL, err);
}

bool audit_save(const struct work *work, const struct audit_subject *subject, struct check_report *report, int64_t *ret_audit_id,
                struct error *err)
{
    const char *diff;
    struct audit_subject checked = *subject;
    checked.purpose = subject->purpose != NULL ? subject->purpose : "marketing";
    if (!audit_check(work, &checked, err))
        return false;
    end_open_checks(report);
    struct audit_findings findings = audit_findings_of(work->arena, report, subject->kind);
    return compare(work, &checked, report, &findings, &diff, err) &&
           insert(work, &checked, report, &findings, diff, ret_audit_id, err);
}
