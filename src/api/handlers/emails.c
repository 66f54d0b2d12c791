#include "engine/emails/emails.h"
#include "api/op_context.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/emails/documents.h"
#include "engine/emails/groups.h"
#include "engine/generation/generations.h"

#include <strings.h>

bool op_emails_list(struct op_context *ctx, const struct emails_list_args *args, struct reply *reply, struct error *err)
{
    struct email_filter filter = {
        .group_id = args->group_id,
        .status = args->status != EMAIL_STATUS_ABSENT ? email_status_names[args->status - 1] : NULL,
        .by_created = args->sort_by == EMAILS_LIST_SORT_BY_CREATED_AT,
    };
    return email_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

/* ---- emails.get: one statement for an imported design ---- */

static bool email_get_bind(struct op_context *ctx, const void *raw_args, void *raw_params, struct error *err)
{
    const struct emails_get_args *args = raw_args;
    struct email_find_params *params = raw_params;
    (void)err;
    *params = (struct email_find_params){
        .brand_id = ctx->work.brand_id,
        .id = args->email_id,
        .version_id = { .set = args->email_version_id != 0, .value = args->email_version_id },
    };
    return true;
}

/* These columns are long and rarely requested, so they have a statement of their own. */
static bool find_long(struct op_context *ctx, const struct emails_get_args *args, const struct email_find_row *email,
                      struct email_find_long_row **ret_more, struct error *err)
{
    struct email_find_long_params params = {
        .brand_id = ctx->work.brand_id,
        .email_id = email->id,
        .version_id = email->version_id.value,
        .with_html = (args->include & EMAILS_GET_INCLUDE_HTML) != 0,
        .with_document = (args->include & EMAILS_GET_INCLUDE_DOCUMENT) != 0,
        .with_versions = (args->include & EMAILS_GET_INCLUDE_VERSIONS) != 0,
        .max_versions = EMAIL_VERSIONS_SHOWN,
    };
    const json_t *document;
    if (!sql_email_find_long(ctx->work.conn, ctx->work.arena, &params, ret_more, err) ||
        !email_read_document(&ctx->work, (*ret_more)->document, email->subject_line, &document, err))
        return false;
    if (document != NULL)
        (*ret_more)->document = json_compact(ctx->work.arena, document);
    return true;
}

/* The run of a generation is read for a design that was generated, or is being generated. */
static bool has_run(const struct emails_get_args *args, const struct email_find_row *email)
{
    static const char *const others[] = { "import", "clone", "restore", "caller" };
    if (args->run_id != 0 || strcmp(email->status, "ready") != 0)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        if (text_equal(email->made_by, others[i]))
            return false;
    return args->email_version_id == 0;
}

static bool find_run(struct op_context *ctx, const struct emails_get_args *args, const struct email_find_row *email,
                     struct generation_find_row **ret_run, struct error *err)
{
    if (!generation_get(&ctx->work, email->id, args->run_id, ret_run, err))
        return false;
    return *ret_run != NULL || args->run_id == 0 ||
           fail(err, ERR_EMAIL_NOT_FOUND, "runId", "No generation with this id of this design.");
}

static bool fail_not_found(struct error *err)
{
    return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
}

/* The design was read before its run. A run that ended between the two has settled the design, so it is read again. */
static bool read_settled(struct op_context *ctx, const struct emails_get_args *args, const struct generation_find_row *run,
                         const struct email_find_row **email, struct error *err)
{
    struct email_find_params params;
    struct email_find_row *again;
    if (run == NULL || !generation_run_has_ended(run) || strcmp((*email)->status, "generating") != 0)
        return true;
    if (!email_get_bind(ctx, args, &params, err) || !sql_email_find(ctx->work.conn, ctx->work.arena, &params, &again, err))
        return false;
    *email = again;
    return again != NULL || fail_not_found(err);
}

/* A caller that waits is answered when the run has ended. */
static void report_progress(struct reply *reply, const struct generation_find_row *run)
{
    reply->goes_on = run != NULL && !generation_run_has_ended(run);
    reply->progress_total = 1;
    reply->progress_note = "The design is being generated";
}

static bool email_get_reply(struct op_context *ctx, const void *raw_args, const void *rows, size_t count, struct reply *reply,
                            struct error *err)
{
    const struct emails_get_args *args = raw_args;
    const struct email_find_row *email = rows;
    if (count == 0)
        return fail_not_found(err);
    if (args->email_version_id != 0 && !email->version_id.set)
        return fail(err, ERR_EMAIL_VERSION_NOT_FOUND, "emailVersionId", "This design has no version with this id.");
    struct email_find_long_row *more = NULL;
    struct generation_find_row *run = NULL;
    if (has_run(args, email) && !find_run(ctx, args, email, &run, err))
        return false;
    if (!read_settled(ctx, args, run, &email, err) || (args->include != 0 && !find_long(ctx, args, email, &more, err)))
        return false;
    report_progress(reply, run);
    struct email_run shown = { .json = NULL };
    if (run != NULL)
        shown = generation_shown(&ctx->work, run);
    email_write_detail(&ctx->work, email, more, run != NULL ? &shown : NULL, &reply->json);
    return true;
}

const struct op_single op_emails_get_single = {
    .statement = &email_find_statement,
    .params_size = sizeof(struct email_find_params),
    .bind = email_get_bind,
    .reply = email_get_reply,
};

/* ---- emails.import ---- */

/* The content is in `source` or beside it (D-37). */
struct import_source {
    bool is_flat;
    const char *content;
    enum email_source_format format;
};

/* Design tools cannot be connected yet, so every Figma link is refused. */
static bool refuse_figma(const char *url, struct error *err)
{
    if (url == NULL)
        return fail(err, ERR_INVALID_REQUEST, "source.figmaUrl", "Give the link of one Figma frame in source.figmaUrl.");
    return email_check_figma(url, "source.figmaUrl", err);
}

static enum email_source_format format_or_html(enum email_source_format format)
{
    return format != EMAIL_SOURCE_FORMAT_ABSENT ? format : EMAIL_SOURCE_FORMAT_HTML;
}

static bool read_nested_source(const struct emails_import_source *given, struct import_source *ret_source, struct error *err)
{
    if (given->kind == EMAILS_IMPORT_SOURCE_KIND_FIGMA) {
        if (given->content != NULL)
            return fail(err, ERR_INVALID_REQUEST, "source.content", "A source of kind figma must not have content.");
        return refuse_figma(given->figma_url, err);
    }
    if (given->content == NULL)
        return fail(err, ERR_INVALID_REQUEST, "source.content", "Give the source of the email in source.content.");
    if (given->figma_url != NULL)
        return fail(err, ERR_INVALID_REQUEST, "source.figmaUrl", "A source of kind content must not have a figmaUrl.");
    *ret_source = (struct import_source){ .content = given->content, .format = format_or_html(given->format) };
    return true;
}

static bool read_import_source(const struct emails_import_args *args, struct import_source *ret_source, struct error *err)
{
    if (args->source == NULL) {
        *ret_source = (struct import_source){ .is_flat = true, .content = args->content, .format = format_or_html(args->format) };
        return args->content != NULL || fail(err, ERR_INVALID_REQUEST, "content", "Give the source of the email in content.");
    }
    if (args->content != NULL)
        return fail(err, ERR_INVALID_REQUEST, "content", "Give source or content, not both.");
    if (args->format != EMAIL_SOURCE_FORMAT_ABSENT)
        return fail(err, ERR_INVALID_REQUEST, "format", "The language of source is source.format.");
    return read_nested_source(args->source, ret_source, err);
}

static bool check_base_url(const char *base_url, struct error *err)
{
    bool is_web = base_url == NULL || strncasecmp(base_url, "http://", 7) == 0 || strncasecmp(base_url, "https://", 8) == 0;
    return is_web || fail(err, ERR_INVALID_REQUEST, "baseUrl", "baseUrl must be an http or https address.");
}

static struct new_job import_job(struct op_context *ctx, const struct emails_import_args *args, const struct import_source *source,
                                 struct opt_int group_id)
{
    struct import_email_payload payload = {
        .content = source->content,
        .format = email_source_format_names[source->format - 1],
        .flat = source->is_flat,
        .title = args->title,
        .subject_line = args->subject_line,
        .base_url = args->base_url,
        .public_url = ctx->work.engine->public_url,
        .group_name = args->group_name,
        .group_id = group_id,
    };
    return import_email_job(ctx->work.arena, &payload);
}

bool op_emails_import(struct op_context *ctx, const struct emails_import_args *args, struct reply *reply, struct error *err)
{
    struct import_source source = { .content = NULL };
    const struct email_folder folder = {
        .group_id = { .set = args->group_id != NULL, .value = args->group_id },
        .group_name = args->group_name,
    };
    struct opt_int group_id;
    return read_import_source(args, &source, err) && check_base_url(args->base_url, err) &&
           (args->subject_line == NULL || email_check_subject(&ctx->work, args->subject_line, err)) &&
           email_folder_check(&ctx->work, &folder, &group_id, err) &&
           op_context_enqueue(ctx, reply, import_job(ctx, args, &source, group_id), ctx->work.now_us, err);
}
