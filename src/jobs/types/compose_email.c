/*
 * The job of emails.compose: the document of the caller is drawn and its
 * pictures are hosted; settling saves the design and answers the caller.
 */
#include "base/json_read.h"
#include "catalogue/job_types.h"
#include "designer/document.h"
#include "engine/emails/groups.h"
#include "engine/generation/brief_sources.h"
#include "jobs/types/draw_design.h"

#include <string.h>

enum { COMPOSE_MAX_ATTEMPTS = 2, STATUS_CREATED = 201, STORED_MAX_BYTES = 2 * DOCUMENT_MAX_BYTES };

static const char document_param[] = "document";

static bool execute(struct job *job, struct error *err)
{
    const struct compose_email_payload *payload = job->payload;
    struct drawn_design *drawn = arena_alloc(job->work.arena, sizeof(*drawn));
    struct json_bounds bounds = { .max_bytes = STORED_MAX_BYTES };
    struct brief_brand brand;
    const json_t *document;
    job->result = drawn;
    if (!brief_read_brand(&job->work, NULL, &brand, err) ||
        !json_read(job->work.arena, payload->document, strlen(payload->document), bounds, &document, err))
        return false;
    const struct email_edit_source look = {
        .email_design = brand.email_design,
        .locale = brand.locale,
        .time_zone = brand.time_zone,
    };
    return draw_design(job, &look, document, payload->public_url, document_param, drawn, err);
}

/* A folder that was deleted meanwhile is refused. */
static bool find_group(struct job *job, struct email_saved *saved, struct error *err)
{
    const struct compose_email_payload *payload = job->payload;
    struct email_group_find_row *group;
    if (!payload->group_id.set)
        return true;
    if (!email_group_find(&job->work, payload->group_id.value, &group, err))
        return false;
    saved->group_id = payload->group_id;
    saved->group_name = group->name;
    return true;
}

static bool save(struct job *job, const struct drawn_design *drawn, struct email_saved *saved, struct error *err)
{
    const struct compose_email_payload *payload = job->payload;
    const struct email_version version = {
        .content = &drawn->content,
        .subject_line = json_get_text(drawn->document, "subjectLine"),
        .document_json = json_compact(job->work.arena, drawn->document),
        .made_by = "caller",
        .block_serial = payload->block_serial,
    };
    *saved = (struct email_saved){ .title = json_get_text(drawn->document, "title") };
    return find_group(job, saved, err) && email_insert_design(&job->work, &version, saved, err) &&
           assets_keep(&job->work, drawn->images.assets, drawn->images.asset_count, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct drawn_design *drawn = job->result;
    struct email_saved saved;
    if (!save(job, drawn, &saved, err))
        return false;
    *ret_status = STATUS_CREATED;
    job_subject(job, work_id(&job->work, ID_EMAIL, saved.id));
    email_write_composed(&job->work, json_get_text(drawn->document, "subjectLine"), &drawn->content, &saved, answer);
    return true;
}

const struct job_type job_compose_email = {
    .max_attempts = COMPOSE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
