/* Reading audits: one with a page of its findings, the list, and the sentence before a send. */
#include "base/text.h"
#include "engine/core/page.h"
#include "engine/quality/audits.h"
#include "sql/audits.h"
#include "sql/emails.h"

#include <string.h>

static bool find(const struct work *work, int64_t audit_id, struct audit_row **ret_audit, struct error *err)
{
    struct audit_find_params params = { .brand_id = work->brand_id, .id = audit_id, .now = work->now_us };
    if (!sql_audit_find(work->conn, work->arena, &params, ret_audit, err))
        return false;
    return *ret_audit != NULL || fail(err, ERR_AUDIT_NOT_FOUND, "auditId", "No audit with this id is kept for this brand.");
}

static bool find_findings(const struct work *work, int64_t audit_id, int64_t after, int64_t limit,
                          struct audit_finding_page_row **ret_rows, struct db_page *ret_found, struct error *err)
{
    struct audit_finding_page_params params = {
        .brand_id = work->brand_id,
        .audit_id = audit_id,
        .after = after,
        .limit = limit + 1,
    };
    return sql_audit_finding_page(work->conn, work->arena, &params, ret_rows, ret_found, err);
}

/* ---- Members ---- */

static void write_counts(struct json_writer *json, int64_t blockers, int64_t errors, int64_t warnings, int64_t info)
{
    json_key(json, "summary");
    json_object_begin(json);
    json_member_int(json, "blockers", blockers);
    json_member_int(json, "errors", errors);
    json_member_int(json, "warnings", warnings);
    json_member_int(json, "info", info);
    json_member_int(json, "total", blockers + errors + warnings + info);
    json_object_end(json);
}

static void write_completion(struct json_writer *json, const char *status, struct opt_int score)
{
    json_key(json, "completion");
    json_object_begin(json);
    json_member_text(json, "status", status);
    json_member_int_or_null(json, "score", score);
    json_object_end(json);
}

static void write_sources(const struct quality_check *check, struct json_writer *json)
{
    json_key(json, "sources");
    json_array_begin(json);
    for (const char *const *source = check->sources; *source != NULL; source++)
        json_text(json, *source);
    json_array_end(json);
}

/* What the declaration of the check says; a later version may not have it. */
static void write_declared(const struct quality_check *check, struct json_writer *json)
{
    json_member_text(json, "engine", check_engine_name(check->engine));
    json_member_text(json, "category", check_category_name(check->category));
    json_member_text(json, "impact", check->impact);
    json_member_text(json, "remediation", check->remedy);
    write_sources(check, json);
}

static void write_finding(const struct audit_finding_page_row *row, struct json_writer *json)
{
    const struct quality_check *check = quality_check_find(row->check_id);
    json_object_begin(json);
    json_member_text(json, "id", row->finding_id);
    json_member_text(json, "ruleId", row->check_id);
    json_member_text(json, "severity", row->severity);
    json_member_text(json, "message", row->message);
    json_member_text_if(json, "target", row->selector);
    json_member_text_if(json, "source", row->source);
    if (row->is_new.set)
        json_member_bool(json, "isNew", row->is_new.value);
    if (check != NULL)
        write_declared(check, json);
    json_object_end(json);
}

static void write_subject(const struct work *work, const struct audit_row *audit, struct json_writer *json)
{
    json_member_id(json, work, "auditId", ID_AUDIT, audit->id);
    json_member_id(json, work, "emailId", ID_EMAIL, audit->email_id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, audit->version_id);
    json_member_text(json, "kind", audit->kind);
    json_member_text(json, "purpose", audit->purpose);
    json_member_time(json, "auditedAt", audit->audited_at);
    json_member_time(json, "expiresAt", audit->expires_at);
}

/* Begins the object of an audit with all members before the findings. */
static void write_head(const struct work *work, const struct audit_row *audit, struct json_writer *json)
{
    json_object_begin(json);
    write_subject(work, audit, json);
    write_completion(json, audit->status, audit->score);
    write_counts(json, audit->blockers, audit->errors, audit->warnings, audit->info);
    if (audit->diff != NULL)
        json_member_raw(json, "diff", audit->diff);
    json_member_raw(json, "engines", audit->engines);
    json_member_raw(json, "metrics", audit->metrics);
    json_member_raw(json, "checks", audit->checks);
    int64_t total = audit->blockers + audit->errors + audit->warnings + audit->info;
    json_member_int(json, "totalFindings", total);
    json_member_bool(json, "findingsTruncated", audit->kept < total);
    json_key(json, "findings");
    json_array_begin(json);
}

/* ---- One audit ---- */

/* How the answer of an audit is written: its object until the list of findings has begun, and one finding. */
struct audit_form {
    int64_t shown; /* findings at most */
    void (*write_head)(const struct work *work, const struct audit_row *audit, struct json_writer *json);
    void (*write_finding)(const struct audit_finding_page_row *row, struct json_writer *json);
};

static bool write_in_form(const struct work *work, int64_t audit_id, const struct audit_form *form, struct json_writer *json,
                          struct error *err)
{
    struct audit_row *audit;
    struct audit_finding_page_row *rows;
    struct db_page found;
    if (!find(work, audit_id, &audit, err) || !find_findings(work, audit_id, 0, form->shown, &rows, &found, err))
        return false;
    form->write_head(work, audit, json);
    for (size_t i = 0; i < found.count && i < (size_t)form->shown; i++)
        form->write_finding(&rows[i], json);
    json_array_end(json);
    json_object_end(json);
    return true;
}

bool audit_write(const struct work *work, int64_t audit_id, struct json_writer *json, struct error *err)
{
    static const struct audit_form form = { AUDIT_FINDINGS_SHOWN, write_head, write_finding };
    return write_in_form(work, audit_id, &form, json, err);
}

bool audit_read(const struct work *work, int64_t audit_id, int64_t limit, const char *cursor, struct json_writer *json,
                struct error *err)
{
    struct audit_row *audit;
    struct audit_finding_page_row *rows;
    struct page_cursor position;
    struct page page = { .json = json, .limit = limit };
    const char *binding = arena_printf(work->arena, "emails.getAudit|%lld", (long long)audit_id);
    if (!find(work, audit_id, &audit, err) || !page_cursor_read(work, binding, cursor, &position, err) ||
        !find_findings(work, audit_id, position.number, limit, &rows, &page.found, err))
        return false;
    write_head(work, audit, json);
    page.begin = json->out->size;
    while (page_next_row(&page))
        write_finding(&rows[page.shown - 1], json);
    struct page_cursor last = { .number = page.shown > 0 ? rows[page.shown - 1].position : 0 };
    page_end(&page, work, binding, last);
    json_object_end(json);
    return true;
}

/* ---- An accessibility audit ---- */

/* The success criteria among the sources of a check; NULL: none. */
static const char *wcag_of(const struct quality_check *check)
{
    for (const char *const *source = check != NULL ? check->sources : NULL; source != NULL && *source != NULL; source++) {
        if (text_starts_with(*source, "WCAG"))
            return *source;
    }
    return NULL;
}

static bool is_error(const char *severity)
{
    return strcmp(severity, "blocker") == 0 || strcmp(severity, "error") == 0;
}

static void write_issue(const struct audit_finding_page_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "rule", row->check_id);
    json_member_text(json, "severity", is_error(row->severity) ? "error" : "warning");
    json_member_text(json, "message", row->message);
    json_member_text_if(json, "wcag", wcag_of(quality_check_find(row->check_id)));
    json_member_text_if(json, "element", row->source != NULL ? row->source : row->selector);
    json_object_end(json);
}

static void write_issue_counts(const struct audit_row *audit, struct json_writer *json)
{
    json_key(json, "summary");
    json_object_begin(json);
    json_member_int(json, "errors", audit->blockers + audit->errors);
    json_member_int(json, "warnings", audit->warnings + audit->info);
    json_object_end(json);
}

static void write_accessibility_head(const struct work *work, const struct audit_row *audit, struct json_writer *json)
{
    json_object_begin(json);
    write_subject(work, audit, json);
    json_member_int_or_null(json, "score", audit->score);
    write_completion(json, audit->status, audit->score);
    write_issue_counts(audit, json);
    if (audit->diff != NULL)
        json_member_raw(json, "diff", audit->diff);
    json_member_raw(json, "engines", audit->engines);
    json_key(json, "issues");
    json_array_begin(json);
}

bool audit_write_accessibility(const struct work *work, int64_t audit_id, struct json_writer *json, struct error *err)
{
    static const struct audit_form form = { AUDIT_ISSUES_SHOWN, write_accessibility_head, write_issue };
    return write_in_form(work, audit_id, &form, json, err);
}

/* ---- The list ---- */

static bool email_exists(const struct work *work, int64_t email_id, struct error *err)
{
    struct email_exists_params params = { .brand_id = work->brand_id, .email_id = email_id };
    struct email_exists_row *email;
    if (!sql_email_exists(work->conn, work->arena, &params, &email, err))
        return false;
    return email != NULL || fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
}

static void write_row(const struct work *work, const struct audit_page_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "auditId", ID_AUDIT, row->id);
    json_member_id(json, work, "emailId", ID_EMAIL, row->email_id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, row->version_id);
    json_member_text(json, "kind", row->kind);
    json_member_text(json, "purpose", row->purpose);
    json_member_time(json, "auditedAt", row->audited_at);
    json_member_time(json, "expiresAt", row->expires_at);
    write_completion(json, row->status, row->score);
    write_counts(json, row->blockers, row->errors, row->warnings, row->info);
    json_object_end(json);
}

bool audit_list(const struct work *work, int64_t email_id, int64_t limit, const char *cursor, struct json_writer *json,
                struct error *err)
{
    struct page_cursor position;
    struct audit_page_row *rows;
    struct db_page found;
    const char *binding = arena_printf(work->arena, "emails.audits|%lld", (long long)email_id);
    if (!page_cursor_read(work, binding, cursor, &position, err) || (email_id != 0 && !email_exists(work, email_id, err)))
        return false;
    struct audit_page_params params = {
        .brand_id = work->brand_id,
        .email_id = { .set = email_id != 0, .value = email_id },
        .from_start = !position.set,
        .before = position.id,
        .now = work->now_us,
        .limit = limit + 1,
    };
    if (!sql_audit_page(work->conn, work->arena, &params, &rows, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_row(work, &rows[page.shown - 1], json);
    page_end(&page, work, binding, (struct page_cursor){ .id = page.shown > 0 ? rows[page.shown - 1].id : 0 });
    json_object_end(json);
    return true;
}

/* ---- Before a send ---- */

static const char *blockers_in_words(struct arena *arena, const struct audit_blockers_row *audit)
{
    const char *words = arena_printf(arena, "The audit of this version has %lld open blocker%s:", (long long)audit->blockers,
                                     audit->blockers == 1 ? "" : "s");
    for (size_t i = 0; i < audit->messages.count; i++)
        words = arena_printf(arena, "%s %s", words, audit->messages.items[i]);
    return words;
}

bool audit_warning(const struct work *work, int64_t email_id, int64_t version_id, const char **ret_sentence, struct error *err)
{
    struct audit_blockers_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .version_id = version_id,
        .now = work->now_us,
    };
    struct audit_blockers_row *audit;
    *ret_sentence = NULL;
    if (!sql_audit_blockers(work->conn, work->arena, &params, &audit, err))
        return false;
    if (audit == NULL)
        *ret_sentence = "This version was not audited in the last 7 days; audit_email checks it.";
    else if (audit->blockers > 0)
        *ret_sentence = blockers_in_words(work->arena, audit);
    else if (strcmp(audit->status, "partial") == 0)
        *ret_sentence = "The audit of this version is partial: some checks were not run.";
    return true;
}
