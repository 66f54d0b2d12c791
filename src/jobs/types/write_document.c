#include "jobs/types/write_document.h"

#include "designer/composer.h"

bool write_document(struct job *job, const struct brief *brief, struct written_document *ret_written, struct error *err)
{
    struct arena *arena = job->work.arena;
    const struct composed *composed = compose(arena, brief);
    struct error why = { .code = ERR_NONE };
    *ret_written = (struct written_document){ .made_by = "composer", .warnings = composed->warnings };
    if (document_read(arena, composed->document, &ret_written->block_serial, &ret_written->document, &why))
        return true;
    fail(err, ERR_EMAIL_GENERATION_FAILED, "prompt", "The design of this prompt is not possible: %s", why.message);
    return error_because(err, "%s", why.param);
}
