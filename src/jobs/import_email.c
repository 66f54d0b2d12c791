/*
 * The job of an import: the side process cleans the HTML, the templates are
 * compiled, and settling saves the design and answers the caller.
 */
#include "base/json_read.h"
#include "engine/emails/emails.h"
#include "jobs/kinds.h"
#include "render/side.h"

#include <string.h>

enum { IMPORT_MAX_ATTEMPTS = 2, STATUS_CREATED = 201 };

/* The side process names fields as in `source`; a flat call has them one level up, and baseUrl is always there. */
static void rename_param(const struct job *job, struct error *err)
{
    static const char prefix[] = "source.";
    bool is_flat = json_get_bool(job->payload, "flat", false);
    size_t size = strlen(prefix);
    if (strncmp(err->param, prefix, size) == 0) {
        if (is_flat || strcmp(err->param + size, "baseUrl") == 0)
            memmove(err->param, err->param + size, strlen(err->param + size) + 1);
    } else if (strcmp(err->param, "content") == 0 && !is_flat) {
        snprintf(err->param, sizeof(err->param), "%scontent", prefix);
    }
}

static bool perform(struct job *job, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct email_content *content = arena_alloc(arena, sizeof(*content));
    job->performed = content;
    const char *html = json_get_text(job->payload, "content");
    const json_t *prepared;
    job_progress(job, 0, 2, "Cleaning the HTML");
    if (side_prepare(job->services->side, arena, "html", html != NULL ? html : "", json_get_text(job->payload, "baseUrl"),
                     &prepared, err) &&
        email_prepare(arena, prepared, content, err)) {
        job_progress(job, 1, 2, "Saving the design");
        return true;
    }
    rename_param(job, err);
    return false;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct email_content *content = job->performed;
    struct email_import import = {
        .title = json_get_text(job->payload, "title"),
        .subject_line = json_get_text(job->payload, "subjectLine"),
        .group_id = json_get_int(job->payload, "groupId", 0),
        .group_name = json_get_text(job->payload, "groupName"),
    };
    struct email_saved saved;
    if (!email_save_import(&job->work, &import, content, &saved, err))
        return false;
    *ret_status = STATUS_CREATED;
    job_subject(job, work_id(&job->work, ID_EMAIL, saved.id));
    email_write_imported(&job->work, &import, content, &saved, answer);
    return true;
}

const struct job_kind job_import_email = {
    .name = "import_email",
    .max_attempts = IMPORT_MAX_ATTEMPTS,
    .perform = perform,
    .settle = settle,
};
