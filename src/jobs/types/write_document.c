#include "jobs/types/write_document.h"

#include "designer/composer.h"
#include "models/models.h"

static bool write_by_model(struct job *job, const struct brief *brief, struct written_document *ret_written, struct error *err)
{
    const struct model *model = job->services->model;
    struct model_design design = { .document = NULL };
    struct model_usage usage = { .requests = 0 };
    *ret_written = (struct written_document){ .made_by = model_engine(model) };
    if (!job_renew(job, err))
        return false;
    bool is_written = model_write_document(job->work.arena, model, brief, &ret_written->block_serial, &design, &usage, err);
    ret_written->document = design.document;
    ret_written->warnings = design.warnings;
    ret_written->tokens_in = usage.tokens_in;
    ret_written->tokens_out = usage.tokens_out;
    ret_written->has_asked = usage.requests > 0;
    return is_written;
}

static bool compose_document(struct arena *arena, const struct brief *brief, struct written_document *ret_written,
                             struct error *err)
{
    const struct composed *composed = compose(arena, brief);
    struct error why = { .code = ERR_NONE };
    *ret_written = (struct written_document){ .made_by = "composer", .warnings = composed->warnings };
    if (document_read(arena, composed->document, &ret_written->block_serial, &ret_written->document, &why))
        return true;
    fail(err, ERR_EMAIL_GENERATION_FAILED, "prompt", "The design of this prompt is not possible: %s", why.message);
    return error_because(err, "%s", why.param);
}

bool write_document(struct job *job, const struct brief *brief, struct written_document *ret_written, struct error *err)
{
    struct arena *arena = job->work.arena;
    if (job->services->model != NULL && !brief_read(arena, brief)->is_verbatim)
        return write_by_model(job, brief, ret_written, err);
    return compose_document(arena, brief, ret_written, err);
}
