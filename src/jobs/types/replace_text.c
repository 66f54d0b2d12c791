/*
 * The job of emails.replaceText: the renderer edits the latest version of the
 * design; settling appends the result as a new version and answers the caller.
 * When the design has got another version meanwhile, the job runs again on it.
 */
#include "base/json_read.h"
#include "catalogue/job_types.h"
#include "engine/emails/design_edits.h"
#include "render/renderer.h"

#include <string.h>

enum { REPLACE_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

/* The result of execute, for settle. */
struct replaced_text {
    int64_t version_id; /* that was edited */
    struct email_edited edited;
    const json_t *replaced;
};

/* The renderer names the content of an import, which is here the result of the replacements. */
static void rename_param(struct error *err)
{
    if (strncmp(err->param, "source.", strlen("source.")) == 0)
        error_set_param(err, "replacements");
}

static bool execute(struct job *job, struct error *err)
{
    const struct replace_text_payload *payload = job->payload;
    struct arena *arena = job->work.arena;
    struct replaced_text *text = arena_alloc(arena, sizeof(*text));
    job->result = text;
    struct email_edit_source source;
    const json_t *result;
    if (!email_read_edit_source(&job->work, payload->email_id, &source, err))
        return false;
    text->version_id = source.version_id;
    if (!renderer_replace_text(job->services->renderer, arena, source.html, source.subject_line,
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

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct replace_text_payload *payload = job->payload;
    const struct replaced_text *text = job->result;
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
    return true;
}

const struct job_type job_replace_text = {
    .max_attempts = REPLACE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
