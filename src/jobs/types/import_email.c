/*
 * The job of an import: the renderer makes clean HTML of the source, the
 * templates are compiled, the images are hosted here, and settling saves the
 * design and answers the caller.
 */
#include "base/json_read.h"
#include "engine/emails/emails.h"
#include "jobs/job_types.h"
#include "jobs/types/asset_import.h"
#include "render/renderer.h"

#include <string.h>

enum { IMPORT_MAX_ATTEMPTS = 2, STATUS_CREATED = 201 };

/* What `perform` hands to `settle`. */
struct imported {
    struct email_content content;
    struct imported_assets images;
};

/* The renderer names fields as in `source`; a flat call has them one level up, and baseUrl is always there. */
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

/* Once the templates are known to be right: images are the slowest part. */
static bool host_images(struct job *job, const json_t *prepared, struct imported *imported, struct error *err)
{
    struct imported_assets *images = &imported->images;
    if (!import_assets(job, prepared, images, err))
        return false;
    bool is_changed = images->prepared != prepared;
    if (is_changed && !email_prepare(job->work.arena, images->prepared, &imported->content, err))
        return false;
    imported->content.images = images->report;
    return true;
}

static bool perform(struct job *job, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct imported *imported = arena_alloc(arena, sizeof(*imported));
    struct email_content *content = &imported->content;
    job->performed = imported;
    const char *source = json_get_text(job->payload, "content");
    const char *format = json_get_text(job->payload, "format"); /* absent in a job of an older version */
    const json_t *prepared;
    job_progress(job, 0, 3, "Preparing the email");
    if (renderer_prepare(job->services->renderer, arena, format != NULL ? format : "html", source != NULL ? source : "",
                         json_get_text(job->payload, "baseUrl"), &prepared, err) &&
        email_prepare(arena, prepared, content, err) && host_images(job, prepared, imported, err)) {
        job_progress(job, 2, 3, "Saving the design");
        return true;
    }
    rename_param(job, err);
    return false;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct imported *imported = job->performed;
    const struct email_content *content = &imported->content;
    struct email_import import = {
        .title = json_get_text(job->payload, "title"),
        .subject_line = json_get_text(job->payload, "subjectLine"),
        .group_id = json_get_int(job->payload, "groupId", 0),
        .group_name = json_get_text(job->payload, "groupName"),
    };
    struct email_saved saved;
    if (!email_save_import(&job->work, &import, content, &saved, err) ||
        !assets_keep(&job->work, imported->images.assets, imported->images.asset_count, err))
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
