/*
 * The job of an edit by an instruction: the operations are applied to the
 * document of the latest version, which is drawn again, or to the HTML of an
 * imported design. A model writes the operations when one is named. Settling appends the version, ends the run and charges for
 * it. No other edit has changed the design, because it is `generating`.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "designer/change.h"
#include "engine/emails/kept_parts.h"
#include "engine/generation/generations.h"
#include "jobs/job_renderer.h"
#include "jobs/types/ask_model.h"
#include "jobs/types/draw_design.h"

enum { EDIT_MAX_ATTEMPTS = 3, STATUS_OK = 200 };

static const char prompt[] = "prompt";

/* The result of execute, for settle. */
struct edited_design {
    const json_t *operations;
    struct text_list model_warnings;
    bool has_asked; /* a model */
    struct drawn_design drawn;
    struct generation_result result;
};

static bool check_kept(struct job *job, const struct email_edit_source *source, const struct edited_design *edited,
                       const json_t *named, struct error *err)
{
    const struct email_parts before = { .links_json = source->links_json, .paths = source->paths };
    return email_check_kept(job->work.arena, &before, &edited->drawn.content, named, err);
}

/* ---- A document ---- */

static bool edit_document(struct job *job, struct email_edit_source *source, const struct edit_design_payload *payload,
                          struct edited_design *edited, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct document_change change;
    if (!document_change(arena, source->document, edited->operations, &source->block_serial, &change, err) ||
        !draw_design(job, source, change.document, payload->public_url, prompt, &edited->drawn, err) ||
        !check_kept(job, source, edited, change.inverse, err))
        return false;
    const json_t *document = edited->drawn.document;
    edited->result.version.subject_line = json_get_text(document, "subjectLine");
    edited->result.version.document_json = json_compact(arena, document);
    edited->result.version.changes_json = json_compact(arena, change.operations);
    edited->result.version.block_serial = source->block_serial;
    return true;
}

/* ---- An imported design ---- */

static bool has_edit(const json_t *edits, const char *id)
{
    for (size_t i = 0; i < json_array_size(edits); i++)
        if (text_equal(json_get_text(json_array_get(edits, i), "id"), id))
            return true;
    return false;
}

/* Adds the entries of an outline whose text or address is edited. A picture has the id of its alternative text, too. */
static void add_edited(const json_t *outline, const char *list, const json_t *edits, json_t *named)
{
    for (size_t i = 0; i < json_array_size(json_object_get(outline, list)); i++) {
        json_t *entry = json_array_get(json_object_get(outline, list), i);
        if (has_edit(edits, json_get_text(entry, "id")) || has_edit(edits, json_get_text(entry, "altId")))
            json_array_append(named, entry);
    }
}

static bool find_edited(struct job *job, const struct email_edit_source *source, const json_t *edits, const json_t **ret_named,
                        struct error *err)
{
    const json_t *outline;
    json_t *named = json_in_arena(job->work.arena, json_array());
    *ret_named = named;
    if (!renderer_outline(job_renderer(job), job->work.arena, source->html, &outline, err))
        return false;
    add_edited(outline, "texts", edits, named);
    add_edited(outline, "links", edits, named);
    add_edited(outline, "images", edits, named);
    return true;
}

static bool edit_html(struct job *job, const struct email_edit_source *source, struct edited_design *edited, struct error *err)
{
    struct arena *arena = job->work.arena;
    const json_t *named;
    const json_t *prepared;
    const char *edits = json_compact(arena, edited->operations);
    if (!job_renew(job, err) || !find_edited(job, source, edited->operations, &named, err) || !job_renew(job, err) ||
        !renderer_splice(job_renderer(job), arena, source->html, edits, &prepared, err) ||
        !email_prepare(arena, prepared, &edited->drawn.content, err) || !check_kept(job, source, edited, named, err))
        return false;
    edited->result.version.subject_line = source->subject_line;
    edited->result.version.changes_json = edits;
    return true;
}

/* ---- The job ---- */

/* A model writes the operations when the instruction was not read before. */
static bool find_operations(struct job *job, const struct email_edit_source *source, const struct edit_design_payload *payload,
                            struct edited_design *edited, struct error *err)
{
    struct asked_edit asked;
    edited->operations = payload->operations;
    edited->result.version.made_by = "instruction";
    if (payload->prompt == NULL)
        return true;
    bool is_written = ask_model_for_edit(job, source, payload->prompt, &asked, err);
    edited->has_asked = asked.usage.requests > 0;
    edited->operations = asked.operations;
    edited->model_warnings = asked.warnings;
    edited->result.version.made_by = asked.made_by;
    edited->result.tokens_in = asked.usage.tokens_in;
    edited->result.tokens_out = asked.usage.tokens_out;
    return is_written;
}

static struct text_list joined_warnings(struct arena *arena, struct text_list first, struct text_list second)
{
    const char **items = arena_array(arena, first.count + second.count + 1, sizeof(*items));
    for (size_t i = 0; i < first.count + second.count; i++)
        items[i] = i < first.count ? first.items[i] : second.items[i - first.count];
    return (struct text_list){ .items = items, .count = first.count + second.count };
}

static bool execute(struct job *job, struct error *err)
{
    const struct edit_design_payload *payload = job->payload;
    struct edited_design *edited = arena_alloc(job->work.arena, sizeof(*edited));
    struct email_edit_source source;
    job->result = edited;
    edited->result.version = (struct email_version){ .content = &edited->drawn.content };
    if (!email_read_edit_source(&job->work, payload->email_id, &source, err) ||
        !find_operations(job, &source, payload, edited, err))
        return false;
    bool ok = source.document != NULL ? edit_document(job, &source, payload, edited, err) : edit_html(job, &source, edited, err);
    edited->result.warnings = joined_warnings(job->work.arena, edited->model_warnings, edited->drawn.content.images.warnings);
    return ok;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct edit_design_payload *payload = job->payload;
    const struct edited_design *edited = job->result;
    const struct imported_assets *images = &edited->drawn.images;
    struct email_find_row *email;
    bool is_current;
    *ret_status = STATUS_OK;
    if (!generation_complete(&job->work, payload->run_id, &edited->result, &email, &is_current, err))
        return false;
    if (!is_current) {
        job_charge_items(job, 0);
        return true;
    }
    job_subject(job, work_id(&job->work, ID_EMAIL, email->id));
    if (edited->has_asked)
        job_used_model(job, edited->result.version.made_by, edited->result.tokens_in, edited->result.tokens_out);
    email_write_generation(&job->work, email, payload->run_id, answer);
    return images->asset_count == 0 || assets_keep(&job->work, images->assets, images->asset_count, err);
}

/* A run that fails has used its tokens too. */
static bool note_model(struct job *job, int64_t run_id, struct error *err)
{
    const struct edited_design *edited = job->result;
    if (edited == NULL || !edited->has_asked)
        return true;
    const struct generation_result *result = &edited->result;
    return generation_note_model(&job->work, run_id, result->version.made_by, result->tokens_in, result->tokens_out, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const struct edit_design_payload *payload = job->payload;
    return payload == NULL || (note_model(job, payload->run_id, err) && generation_fail(&job->work, payload->run_id, why, err));
}

const struct job_type job_edit_design = {
    .max_attempts = EDIT_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
