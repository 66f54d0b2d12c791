#include "engine/quality/check_report.h"

#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"

#include <string.h>

enum { VERSION_MAX_CHARS = 60 };

struct check_report {
    struct arena *arena;
    size_t count;
    struct check_outcome *outcomes;
    struct check_engine_version versions[CHECK_ENGINES];
    struct check_metrics metrics;
};

static const char *const status_names[CHECK_STATUSES] = {
    [CHECK_PASSED] = "passed",
    [CHECK_ISSUES] = "issues",
    [CHECK_NOT_APPLICABLE] = "not_applicable",
    [CHECK_UNAVAILABLE] = "unavailable",
};

const char *check_status_name(enum check_status status)
{
    return status_names[status];
}

struct check_report *check_report_new_of(struct arena *arena, const struct quality_check *checks)
{
    struct check_report *report = arena_alloc(arena, sizeof(*report));
    report->arena = arena;
    while (checks[report->count].id != NULL)
        report->count++;
    report->outcomes = arena_array(arena, report->count, sizeof(*report->outcomes));
    for (size_t i = 0; i < report->count; i++)
        report->outcomes[i].check = &checks[i];
    return report;
}

struct check_report *check_report_new(struct arena *arena)
{
    return check_report_new_of(arena, quality_checks);
}

static struct check_outcome *find(const struct check_report *report, const char *check_id)
{
    for (size_t i = 0; i < report->count; i++) {
        if (text_equal(report->outcomes[i].check->id, check_id))
            return &report->outcomes[i];
    }
    return NULL;
}

static struct check_outcome *find_declared(const struct check_report *report, const char *check_id)
{
    struct check_outcome *outcome = find(report, check_id);
    if (outcome == NULL)
        panic("a check is not declared");
    return outcome;
}

static const char *shortened(const struct check_report *report, const char *text, size_t max_chars)
{
    return text == NULL ? NULL : text_visible(report->arena, text, max_chars);
}

static void end(const struct check_report *report, struct check_outcome *outcome, enum check_status status, const char *reason)
{
    if (outcome->has_ended)
        return;
    outcome->has_ended = true;
    outcome->status = status;
    outcome->reason = shortened(report, reason, CHECK_MESSAGE_MAX_CHARS);
}

void check_report_end(struct check_report *report, const char *check_id, enum check_status status, const char *reason)
{
    end(report, find_declared(report, check_id), status, reason);
}

static const char *key_of(const struct check_report *report, const struct check_finding *finding)
{
    if (finding->key != NULL)
        return text_visible(report->arena, finding->key, CHECK_KEY_MAX_CHARS);
    const char *selector = finding->selector == NULL ? "" : finding->selector;
    const char *source = finding->source == NULL ? "" : finding->source;
    return text_visible(report->arena, arena_printf(report->arena, "%s %s", selector, source), CHECK_KEY_MAX_CHARS);
}

static void add(struct check_report *report, struct check_outcome *outcome, const struct check_finding *finding)
{
    enum check_severity severity = finding->severity == SEVERITY_DECLARED ? outcome->check->severity : finding->severity;
    outcome->has_ended = true;
    outcome->status = CHECK_ISSUES;
    if (severity > outcome->severity)
        outcome->severity = severity;
    if (outcome->finding_count == CHECK_MAX_FINDINGS) {
        outcome->more++;
        return;
    }
    if (outcome->findings == NULL)
        outcome->findings = arena_array(report->arena, CHECK_MAX_FINDINGS, sizeof(*outcome->findings));
    outcome->findings[outcome->finding_count++] = (struct check_finding){
        .message = text_visible(report->arena, finding->message, CHECK_MESSAGE_MAX_CHARS),
        .selector = shortened(report, finding->selector, CHECK_SELECTOR_MAX_CHARS),
        .source = shortened(report, finding->source, CHECK_SOURCE_MAX_CHARS),
        .key = key_of(report, finding),
        .severity = severity,
    };
}

void check_report_add(struct check_report *report, const char *check_id, const struct check_finding *finding)
{
    add(report, find_declared(report, check_id), finding);
}

void check_report_end_engine(struct check_report *report, enum check_engine engine, enum check_status status, const char *reason)
{
    for (size_t i = 0; i < report->count; i++) {
        if (report->outcomes[i].check->engine == engine)
            end(report, &report->outcomes[i], status, reason);
    }
}

void check_report_engine(struct check_report *report, enum check_engine engine, const char *name, const char *version)
{
    report->versions[engine] = (struct check_engine_version){
        .name = shortened(report, name, VERSION_MAX_CHARS),
        .version = shortened(report, version, VERSION_MAX_CHARS),
    };
}

/* ---- Reports of the renderer ---- */

static bool refuse(struct error *err, enum check_engine engine, const char *check_id, const char *problem)
{
    return fail(err, ERR_INTERNAL_ERROR, NULL, "The report of the %s checks does not have the agreed form.",
                check_engine_name(engine)) ||
           error_because(err, "%s: %s", check_id == NULL ? "report" : check_id, problem);
}

/* The statuses that a report may have; the renderer answers with an error when an engine is unavailable. */
static bool read_status(const json_t *json, enum check_status *ret_status)
{
    for (enum check_status status = CHECK_PASSED; status < CHECK_UNAVAILABLE; status++) {
        if (text_equal(status_names[status], json_get_text(json, "status"))) {
            *ret_status = status;
            return true;
        }
    }
    return false;
}

static bool severity_fits(const json_t *finding)
{
    enum check_severity severity;
    const char *name = json_get_text(finding, "severity");
    return name == NULL || check_severity_read(name, &severity);
}

static bool findings_fit(const json_t *findings)
{
    size_t i;
    json_t *finding;
    json_array_foreach (json_for_iteration(findings), i, finding) {
        if (json_get_text(finding, "message") == NULL || !severity_fits(finding))
            return false;
    }
    return true;
}

static bool check_fits(const struct check_report *report, enum check_engine engine, const json_t *json, bool *seen,
                       struct error *err)
{
    const char *id = json_get_text(json, "id");
    const struct check_outcome *outcome = id == NULL ? NULL : find(report, id);
    if (outcome == NULL || outcome->check->engine != engine)
        return refuse(err, engine, id, "the engine has no such check");
    if (seen[outcome - report->outcomes])
        return refuse(err, engine, id, "the check is in it twice");
    seen[outcome - report->outcomes] = true;
    enum check_status status;
    if (!read_status(json, &status))
        return refuse(err, engine, id, "no status");
    const json_t *findings = json_object_get(json, "findings");
    if ((status == CHECK_ISSUES) != (json_array_size(findings) > 0) || !findings_fit(findings))
        return refuse(err, engine, id, "findings do not fit the status");
    return true;
}

static bool all_fit(const struct check_report *report, enum check_engine engine, const json_t *checks, struct error *err)
{
    bool *seen = arena_array(report->arena, report->count, sizeof(*seen));
    size_t i;
    json_t *check;
    json_array_foreach (json_for_iteration(checks), i, check) {
        if (!check_fits(report, engine, check, seen, err))
            return false;
    }
    for (i = 0; i < report->count; i++) {
        if (report->outcomes[i].check->engine == engine && !seen[i])
            return refuse(err, engine, report->outcomes[i].check->id, "the check is not in it");
    }
    return true;
}

static void take_findings(struct check_report *report, struct check_outcome *outcome, const json_t *findings)
{
    size_t i;
    json_t *json;
    json_array_foreach (json_for_iteration(findings), i, json) {
        struct check_finding finding = {
            .message = json_get_text(json, "message"),
            .selector = json_get_text(json, "selector"),
            .source = json_get_text(json, "source"),
            .key = json_get_text(json, "key"),
        };
        const char *severity = json_get_text(json, "severity");
        if (severity != NULL)
            (void)check_severity_read(severity, &finding.severity);
        add(report, outcome, &finding);
    }
}

static void take_check(struct check_report *report, const json_t *json)
{
    struct check_outcome *outcome = find_declared(report, json_get_text(json, "id"));
    enum check_status status = CHECK_PASSED;
    (void)read_status(json, &status);
    take_findings(report, outcome, json_object_get(json, "findings"));
    end(report, outcome, status, json_get_text(json, "reason"));
    int64_t more = json_get_int(json, "more", 0);
    if (status == CHECK_ISSUES && more > 0)
        outcome->more += more;
}

static void take_metric(const json_t *metrics, const char *name, struct opt_int *metric)
{
    const json_t *value = json_object_get(metrics, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *metric = (struct opt_int){ .set = true, .value = json_integer_value(value) };
}

bool check_report_read(struct check_report *report, enum check_engine engine, const json_t *json, struct error *err)
{
    const json_t *checks = json_object_get(json, "checks");
    const json_t *version = json_object_get(json, "engine");
    if (!json_is_array(checks) || json_get_text(version, "name") == NULL)
        return refuse(err, engine, NULL, "no checks or no engine");
    if (!all_fit(report, engine, checks, err))
        return false;
    check_report_engine(report, engine, json_get_text(version, "name"), json_get_text(version, "version"));
    size_t i;
    json_t *check;
    json_array_foreach (json_for_iteration(checks), i, check)
        take_check(report, check);
    const json_t *metrics = json_object_get(json, "metrics");
    take_metric(metrics, "htmlBytes", &report->metrics.html_bytes);
    take_metric(metrics, "linkCount", &report->metrics.link_count);
    take_metric(metrics, "imageCount", &report->metrics.image_count);
    take_metric(metrics, "gifCount", &report->metrics.gif_count);
    return true;
}

/* ---- Results ---- */

const struct check_outcome *check_report_outcomes(const struct check_report *report, size_t *ret_count)
{
    *ret_count = report->count;
    return report->outcomes;
}

struct check_engine_version check_report_version(const struct check_report *report, enum check_engine engine)
{
    return report->versions[engine];
}

struct check_metrics check_report_metrics(const struct check_report *report)
{
    return report->metrics;
}
