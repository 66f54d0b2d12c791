#include "jobs/types/audit_engines.h"

#include "base/json_read.h"
#include "jobs/job_renderer.h"
#include "jobs/types/check_authentication.h"
#include "jobs/types/check_links.h"
#include "jobs/types/check_spam.h"
#include "jobs/types/sample_pictures.h"

#include <string.h>

enum {
    MEMBERS_MAX_BYTES = RENDERER_MAX_REQUEST_BYTES,
    SHOWN_WIDTH = 600, /* of the widest view */
};

/* What the engines check. */
struct audited_mail {
    const struct sample_mail *mail;
    struct page_files pictures; /* json is NULL when they could not be collected */
    struct error pictures_error;
};

/* An engine with what a waiting caller is told while it runs. */
struct audit_engine {
    enum check_engine engine;
    const char *note;
    bool (*run)(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err);
};

/* The checks of an engine that did not answer are unavailable; a caller who cancelled ends the audit. */
static bool end_unanswered(struct job *job, enum check_engine engine, const char *who, struct check_report *report,
                           struct error *err)
{
    if (job_is_cancelled(job))
        return false;
    const char *reason = arena_printf(job->work.arena, "%s did not answer: %s", who, err->message);
    check_report_end_engine(report, engine, CHECK_UNAVAILABLE, reason);
    error_clear(err);
    return true;
}

/* ---- The parsed mail ---- */

static void write_empty_values(const struct sample_mail *mail, struct json_writer *json)
{
    json_key(json, "emptyTags");
    json_array_begin(json);
    for (size_t i = 0; i < mail->empty_value_count; i++) {
        json_object_begin(json);
        json_member_text(json, "path", mail->empty_values[i].path);
        json_member_int(json, "contacts", mail->empty_values[i].contacts);
        json_member_int(json, "empty", mail->empty_values[i].empty);
        json_object_end(json);
    }
    json_array_end(json);
}

/* The members of the request as JSON without braces; NULL when they are too large. */
static const char *static_members(struct arena *arena, const struct audited_mail *audited)
{
    const struct sample_mail *mail = audited->mail;
    struct buf *out = buf_in_arena(arena, MEMBERS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "design", mail->design_html);
    json_member_text(&json, "html", mail->tracked_html);
    json_member_text(&json, "text", mail->text);
    json_member_text(&json, "subject", mail->subject);
    json_member_text(&json, "shownSubject", mail->shown_subject);
    json_member_text(&json, "previewText", mail->preview_text);
    json_member_text(&json, "purpose", mail->is_marketing ? "marketing" : "transactional");
    json_member_text(&json, "address", mail->postal_address);
    write_empty_values(mail, &json);
    if (audited->pictures.json != NULL)
        json_member_raw(&json, "pictures", audited->pictures.facts);
    json_object_end(&json);
    return out->overflowed ? NULL : arena_dup_bytes(arena, out->data + 1, out->size - 2);
}

static bool check_static(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    const json_t *result;
    const char *members = static_members(job->work.arena, audited);
    if (members == NULL) {
        check_report_end_engine(report, CHECK_ENGINE_STATIC, CHECK_UNAVAILABLE, "The mail is too large to be checked.");
        return true;
    }
    return (renderer_check_mail(job_renderer(job), job->work.arena, members, &result, err) &&
            check_report_read(report, CHECK_ENGINE_STATIC, result, err)) ||
           end_unanswered(job, CHECK_ENGINE_STATIC, "The renderer", report, err);
}

/* ---- The shown mail ---- */

/* Collects the images for the engines that look at them. */
static void collect_pictures(struct job *job, struct audited_mail *audited)
{
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    if (!sample_pictures_collect(job, checker, audited->mail, SHOWN_WIDTH, &audited->pictures, &audited->pictures_error))
        audited->pictures = (struct page_files){ .json = NULL };
}

static bool show(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    const json_t *result;
    if (audited->pictures.json == NULL) {
        *err = audited->pictures_error;
        return false;
    }
    return renderer_check_shown(job_renderer(job), job->work.arena, audited->mail->html, audited->pictures.json, &result, err) &&
           check_report_read(report, CHECK_ENGINE_BROWSER, result, err);
}

static bool check_browser(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    return show(job, audited, report, err) || end_unanswered(job, CHECK_ENGINE_BROWSER, "The browser", report, err);
}

/* ---- Engines of their own ---- */

static bool run_authentication(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    return check_authentication(job, audited->mail, report, err);
}

static bool run_spam(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    return check_spam(job, audited->mail, report, err);
}

static bool run_links(struct job *job, const struct audited_mail *audited, struct check_report *report, struct error *err)
{
    return check_links(job, audited->mail, report, err);
}

/* ---- All engines ---- */

static const struct audit_engine engines[] = {
    { CHECK_ENGINE_STATIC, "Checking the HTML", check_static },
    { CHECK_ENGINE_BROWSER, "Checking the mail as it is shown", check_browser },
    { CHECK_ENGINE_AUTHENTICATION, "Checking the authentication", run_authentication },
    { CHECK_ENGINE_SPAM, "Asking the spam filter", run_spam },
    { CHECK_ENGINE_LINKS, "Requesting the links", run_links },
    { .engine = CHECK_ENGINES },
};

static bool run_engine(struct job *job, const struct audit_engine *engine, const struct audited_mail *audited,
                       struct check_report *report, struct error *err)
{
    if (job_is_cancelled(job))
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    job_progress(job, (double)(engine - engines), ARRAY_COUNT(engines) - 1, engine->note);
    return engine->run(job, audited, report, err);
}

bool audit_engines_run(struct job *job, const struct sample_mail *mail, enum audit_kind kind, struct check_report *report,
                       struct error *err)
{
    struct audited_mail audited = { .mail = mail, .pictures_error = { .code = ERR_NONE } };
    collect_pictures(job, &audited);
    for (const struct audit_engine *engine = engines; engine->engine != CHECK_ENGINES; engine++) {
        if (audit_has_engine(kind, engine->engine) && !run_engine(job, engine, &audited, report, err))
            return false;
    }
    return true;
}
