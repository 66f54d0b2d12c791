/*
 * The job of emails.replaceText: the renderer edits the HTML of the latest
 * version, or the document is changed and drawn again; settling appends the
 * result as a new version and answers the caller. When the design has got
 * another version meanwhile, the job runs again on it.
 */
#include "base/json_read.h"
#include "catalogue/job_types.h"
#include "designer/replace.h"
#include "jobs/job_renderer.h"
#include "jobs/types/draw_design.h"

#include <string.h>

enum { REPLACE_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

static const char replacements[] = "replacements";

/* The result of execute, for settle. */
struct replaced_text {
    int64_t version_id; /* that was edited */
    struct drawn_design drawn;
    struct email_edited edited;
    const json_t *replaced;
};

/* ---- A document ---- */

static bool replace_in_document(struct job *job, const struct email_edit_source *source, const struct replace_text_payload *payload,
                                struct replaced_text *text, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct document_replaced replaced;
    if (!document_replace(arena, source->document, payload->replacements, &replaced, err) ||
        !draw_design(job, source, replaced.document, NULL, replacements, &text->drawn, err))
        return false;
    text->replaced = replaced.replaced;
    text->edited.content = text->drawn.content;
    text->edited.version = (struct email_version){
        .content = &text->edited.content,
        .subject_line = json_get_text(text->drawn.document, "subjectLine"),
        .document_json = json_compact(arena, text->drawn.document),
        .changes_json = json_compact(arena, replaced.operations),
        .made_by = "caller",
        .block_serial = source->block_serial,
    };
    return true;
}

/* ---- An imported design ---- */

/* The renderer names the content of an import, which is here the result of the replacements. */
static void rename_param(struct error *err)
{
    if (strncmp(err->param, "source.", strlen("source.")) == 0)
        error_set_param(err, "%s", replacements);
}

static bool replace_in_html(struct job *job, const struct email_edit_source *source, const struct replace_text_payload *payload,
                            struct replaced_text *text, struct error *err)
{
    struct arena *arena = job->work.arena;
    const json_t *result;
    if (!renderer_replace_text(job_renderer(job), arena, source->html, source->subject_line,
                               json_compact(arena, payload->replacements), &result, err)) {
        rename_param(err);
        return false;
    }
    text->replaced = json_object_get(result, "replaced");
    if (text->replaced != NULL)
        return email_prepare_edit(&job->work, result, &text->edited, err);
    fail(err, ERR_INTERNAL_ERROR, NULL, "The renderer returned an incomplete result.");
    return error_because(err, "replaceText: replaced is missing");
}

/* ---- The job ---- */

static bool execute(struct job *job, struct error *err)
{
    const struct replace_text_payload *payload = job->payload;
    struct replaced_text *text = arena_alloc(job->work.arena, sizeof(*text));
    struct email_edit_source source;
    job->result = text;
    if (!email_read_edit_source(&job->work, payload->email_id, &source, err))
        return false;
    text->version_id = source.version_id;
    return source.document != NULL ? replace_in_document(job, &source, payload, text, err)
                                   : replace_in_html(job, &source, payload, text, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct replace_text_payload *payload = job->payload;
    const struct replaced_text *text = job->result;
    const struct imported_assets *images = &text->drawn.images;
    struct email_find_row *email;
    if (!email_save_edit(&job->work, payload->email_id, text->version_id, &text->edited, &email, err))
        return false;
    if (email == NULL) {
        job_run_again(job, job->work.now_us);
        return true;
    }
    *ret_status = STATUS_OK;
    job_subject(job, work_id(&job->work, ID_EMAIL, email->id));
    email_write_edited(&job->work, email, text->replaced, answer);
    return images->asset_count == 0 || assets_keep(&job->work, images->assets, images->asset_count, err);
}

const struct job_type job_replace_text = {
    .max_attempts = REPLACE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
