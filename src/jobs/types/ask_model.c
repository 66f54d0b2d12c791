#include "jobs/types/ask_model.h"

#include "base/json_read.h"
#include "engine/generation/brief_sources.h"
#include "jobs/job_renderer.h"

/* An edit that is tried on an imported design. */
struct trial {
    struct job *job;
    const char *html;
};

static bool try_splices(void *context, const json_t *operations, struct error *err)
{
    const struct trial *trial = context;
    struct arena *arena = trial->job->work.arena;
    const json_t *prepared;
    struct email_content content;
    return job_renew(trial->job, err) &&
           renderer_splice(job_renderer(trial->job), arena, trial->html, json_compact(arena, operations), &prepared, err) &&
           email_prepare(arena, prepared, &content, err);
}

bool ask_model_for_edit(struct job *job, const struct email_edit_source *source, const char *prompt, struct asked_edit *ret_asked,
                        struct error *err)
{
    struct arena *arena = job->work.arena;
    const struct model *model = job->services->model;
    struct brief brief = { .prompt = prompt, .now_us = job->work.now_us };
    struct trial trial = { .job = job, .html = source->html };
    struct model_edit edit = { .brief = &brief, .document = source->document, .serial = source->block_serial };
    struct model_operations written;
    *ret_asked = (struct asked_edit){ .made_by = "instruction" };
    if (model == NULL)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL,
                    "The process that executes the jobs has no model. Edit the design again.");
    if (!brief_read_brand(&job->work, job->work.engine->public_url, &brief.brand, err))
        return false;
    if (source->document == NULL) {
        edit.check = try_splices;
        edit.context = &trial;
        if (!renderer_outline(job_renderer(job), arena, source->html, &edit.outline, err))
            return false;
    }
    ret_asked->made_by = model_engine(model);
    if (!job_renew(job, err) || !model_write_operations(arena, model, &edit, &written, &ret_asked->usage, err))
        return false;
    ret_asked->operations = written.operations;
    ret_asked->warnings = written.warnings;
    return true;
}
