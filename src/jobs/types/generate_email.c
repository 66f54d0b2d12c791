/*
 * The job of emails.create: the pages and the reference design are read, the
 * document is written and drawn, and its pictures are hosted. Settling saves the
 * first version of the design and ends the run; the charge is part of the same
 * transaction. A job that runs again after its run has ended does nothing.
 */
#include "base/json_read.h"
#include "catalogue/job_types.h"
#include "engine/generation/brief_sources.h"
#include "engine/generation/generations.h"
#include "jobs/job_renderer.h"
#include "jobs/types/brief_pages.h"
#include "jobs/types/draw_design.h"
#include "jobs/types/write_document.h"

enum { GENERATE_MAX_ATTEMPTS = 3, STATUS_OK = 200 };

/* The result of execute, for settle. */
struct generated {
    struct written_document written;
    struct drawn_design drawn;
};

/* ---- The brief ---- */

/* A reference design that was deleted meanwhile is left out. */
static bool read_reference(struct job *job, struct brief *brief, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    struct email_edit_source source;
    if (!payload->reference_email_id.set)
        return true;
    if (!email_read_edit_source(&job->work, payload->reference_email_id.value, &source, err)) {
        if (err->code != ERR_EMAIL_NOT_FOUND)
            return false;
        error_clear(err);
        return true;
    }
    brief->reference = source.document;
    return source.document != NULL ||
           (job_renew(job, err) && renderer_outline(job_renderer(job), job->work.arena, source.html, &brief->reference, err));
}

static bool read_brief(struct job *job, struct brief *ret_brief, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    const char *public_url = payload->public_url != NULL ? payload->public_url : job->work.engine->public_url;
    *ret_brief = (struct brief){
        .prompt = payload->prompt,
        .category = payload->category,
        .subject_line = payload->subject_line,
        .page_count = payload->content_urls.count,
        .now_us = job->work.now_us,
    };
    if (!brief_read_brand(&job->work, public_url, &ret_brief->brand, err) ||
        !read_brief_pages(job, payload->content_urls, &ret_brief->pages, err) || !read_reference(job, ret_brief, err))
        return false;
    brief_set_seed(&job->work, ret_brief);
    return true;
}

/* ---- The design ---- */

static bool draw(struct job *job, const struct brief_brand *brand, struct generated *generated, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    const struct email_edit_source look = {
        .email_design = brand->email_design,
        .locale = brand->locale,
        .time_zone = brand->time_zone,
    };
    return draw_design(job, &look, generated->written.document, payload->public_url, "prompt", &generated->drawn, err);
}

static bool execute(struct job *job, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    struct brief brief;
    int64_t email_id;
    bool is_running;
    if (!generation_is_running(&job->work, payload->run_id, &email_id, &is_running, err))
        return false;
    if (!is_running)
        return true;
    struct generated *generated = arena_alloc(job->work.arena, sizeof(*generated));
    job->result = generated;
    return read_brief(job, &brief, err) && write_document(job, &brief, &generated->written, err) &&
           draw(job, &brief.brand, generated, err);
}

/* ---- Settling ---- */

/* The warnings of the writer, then those about the content and its pictures. */
static struct text_list all_warnings(struct arena *arena, const struct generated *generated)
{
    const struct text_list written = generated->written.warnings;
    const struct text_list drawn = email_content_warnings(arena, &generated->drawn.content);
    const char **items = arena_array(arena, written.count + drawn.count + 1, sizeof(*items));
    for (size_t i = 0; i < written.count; i++)
        items[i] = written.items[i];
    for (size_t i = 0; i < drawn.count; i++)
        items[written.count + i] = drawn.items[i];
    return (struct text_list){ items, written.count + drawn.count };
}

static struct generation_result result_of(struct arena *arena, const struct generated *generated)
{
    const struct written_document *written = &generated->written;
    const json_t *document = generated->drawn.document;
    return (struct generation_result){
        .version = {
            .content = &generated->drawn.content,
            .subject_line = json_get_text(document, "subjectLine"),
            .document_json = json_compact(arena, document),
            .made_by = written->made_by,
            .title = json_get_text(document, "title"),
            .block_serial = written->block_serial,
        },
        .warnings = all_warnings(arena, generated),
        .tokens_in = written->tokens_in,
        .tokens_out = written->tokens_out,
    };
}

static bool complete(struct job *job, const struct generated *generated, bool *ret_is_current, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    const struct imported_assets *images = &generated->drawn.images;
    struct generation_result result = result_of(job->work.arena, generated);
    struct email_find_row *email;
    if (!generation_complete(&job->work, payload->run_id, &result, &email, ret_is_current, err))
        return false;
    if (!*ret_is_current)
        return true;
    job_subject(job, work_id(&job->work, ID_EMAIL, email->id));
    job_subject(job, work_id(&job->work, ID_VERSION, email->version_id.value));
    if (generated->written.has_asked)
        job_used_model(job, result.version.made_by, result.tokens_in, result.tokens_out);
    return assets_keep(&job->work, images->assets, images->asset_count, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer;
    bool is_current = false;
    *ret_status = STATUS_OK;
    if (job->result != NULL && !complete(job, job->result, &is_current, err))
        return false;
    if (!is_current)
        job_charge_items(job, 0);
    return true;
}

/* A run that fails has used its tokens too. */
static bool note_model(struct job *job, int64_t run_id, struct error *err)
{
    const struct generated *generated = job->result;
    if (generated == NULL || !generated->written.has_asked)
        return true;
    const struct written_document *written = &generated->written;
    return generation_note_model(&job->work, run_id, written->made_by, written->tokens_in, written->tokens_out, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const struct generate_email_payload *payload = job->payload;
    return payload == NULL || (note_model(job, payload->run_id, err) && generation_fail(&job->work, payload->run_id, why, err));
}

const struct job_type job_generate_email = {
    .max_attempts = GENERATE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
