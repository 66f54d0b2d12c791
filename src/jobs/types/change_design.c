/*
 * The job of emails.change: the operations are applied to the document of the
 * latest version, and the result is drawn; settling appends it as a new version
 * and answers the caller. When the design has got another version meanwhile, the
 * job runs again on it.
 */
#include "base/json_read.h"
#include "catalogue/job_types.h"
#include "designer/change.h"
#include "jobs/types/draw_design.h"

enum { CHANGE_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

static const char operations[] = "operations";

/* The result of execute, for settle. */
struct changed_design {
    int64_t version_id; /* that was changed */
    struct drawn_design drawn;
    const json_t *changes;
    struct email_edited edited;
};

/* The edited version of a drawn document. */
static void describe_version(struct arena *arena, struct changed_design *changed, int64_t block_serial)
{
    changed->edited.content = changed->drawn.content;
    changed->edited.version = (struct email_version){
        .content = &changed->edited.content,
        .subject_line = json_get_text(changed->drawn.document, "subjectLine"),
        .document_json = json_compact(arena, changed->drawn.document),
        .changes_json = json_compact(arena, changed->changes),
        .made_by = "caller",
        .block_serial = block_serial,
    };
}

static bool execute(struct job *job, struct error *err)
{
    const struct change_design_payload *payload = job->payload;
    struct arena *arena = job->work.arena;
    struct changed_design *changed = arena_alloc(arena, sizeof(*changed));
    struct email_edit_source source;
    struct document_change change;
    job->result = changed;
    if (!email_read_document_source(&job->work, payload->email_id, operations, &source, err) ||
        !document_change(arena, source.document, payload->operations, &source.block_serial, &change, err) ||
        !draw_design(job, &source, change.document, payload->public_url, operations, &changed->drawn, err))
        return false;
    changed->version_id = source.version_id;
    changed->changes = change.operations;
    describe_version(arena, changed, source.block_serial);
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct change_design_payload *payload = job->payload;
    const struct changed_design *changed = job->result;
    const struct imported_assets *images = &changed->drawn.images;
    struct email_find_row *email;
    if (!email_save_edit(&job->work, payload->email_id, changed->version_id, &changed->edited, &email, err))
        return false;
    if (email == NULL) {
        job_run_again(job, job->work.now_us);
        return true;
    }
    *ret_status = STATUS_OK;
    job_subject(job, work_id(&job->work, ID_EMAIL, email->id));
    email_write_changed(&job->work, email, changed->changes, &changed->edited.content, answer);
    return images->asset_count == 0 || assets_keep(&job->work, images->assets, images->asset_count, err);
}

const struct job_type job_change_design = {
    .max_attempts = CHANGE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
