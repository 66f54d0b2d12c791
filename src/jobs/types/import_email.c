/*
 * The job of emails.import: the renderer makes clean HTML of the source, the
 * templates are compiled and the images are hosted; settling saves the design
 * and answers the caller.
 */
#include "catalogue/job_types.h"
#include "engine/emails/emails.h"
#include "jobs/job_renderer.h"
#include "jobs/types/asset_import.h"

#include <string.h>

enum { IMPORT_MAX_ATTEMPTS = 2, STATUS_CREATED = 201 };

/* The result of execute, for settle. */
struct imported {
    struct email_content content;
    struct imported_assets images;
};

/* The renderer names fields as members of `source`; a flat call has them one level up, and baseUrl is never in `source`. */
static void rename_param(const struct job *job, struct error *err)
{
    static const char prefix[] = "source.";
    const struct import_email_payload *payload = job->payload;
    size_t size = strlen(prefix);
    if (strncmp(err->param, prefix, size) == 0) {
        if (payload->flat || strcmp(err->param + size, "baseUrl") == 0)
            memmove(err->param, err->param + size, strlen(err->param + size) + 1);
    } else if (strcmp(err->param, "content") == 0 && !payload->flat) {
        snprintf(err->param, sizeof(err->param), "%scontent", prefix);
    }
}

/* Runs after the templates are known to be right, because images are the slowest part. */
static bool host_images(struct job *job, const json_t *prepared, struct imported *imported, struct error *err)
{
    struct imported_assets *images = &imported->images;
    const struct import_email_payload *payload = job->payload;
    if (!import_assets(job, payload->public_url, prepared, images, err))
        return false;
    bool is_changed = images->prepared != prepared;
    if (is_changed && !email_prepare(job->work.arena, images->prepared, &imported->content, err))
        return false;
    imported->content.images = images->report;
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct imported *imported = arena_alloc(arena, sizeof(*imported));
    struct email_content *content = &imported->content;
    job->result = imported;
    const struct import_email_payload *payload = job->payload;
    const json_t *prepared;
    job_progress(job, 0, 3, "Preparing the email");
    if (renderer_prepare(job_renderer(job), arena, payload->format, payload->content, payload->base_url, &prepared, err) &&
        email_prepare(arena, prepared, content, err) && host_images(job, prepared, imported, err)) {
        job_progress(job, 2, 3, "Saving the design");
        return true;
    }
    rename_param(job, err);
    return false;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct imported *imported = job->result;
    const struct import_email_payload *payload = job->payload;
    const struct email_content *content = &imported->content;
    struct email_import import = {
        .title = payload->title,
        .subject_line = payload->subject_line,
        .group_id = payload->group_id.value,
        .group_name = payload->group_name,
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

const struct job_type job_import_email = {
    .max_attempts = IMPORT_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
