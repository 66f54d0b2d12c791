/*
 * Drawing of documents, for the jobs that edit designs: the renderer makes HTML
 * of a document with the look of the brand, the templates are compiled, and the
 * pictures are hosted. The document then names the hosted copies, so that the
 * next drawing fetches nothing.
 */
#pragma once

#include "engine/emails/design_edits.h"
#include "jobs/jobs.h"
#include "jobs/types/asset_import.h"

struct drawn_design {
    struct email_content content;
    const json_t *document;
    struct imported_assets images; /* which assets_keep has to record */
};

/* Draws a canonical document of the brand of `source`. Safe to repeat. An error about the content of the document has `param`.
 * Errors: EMAIL_IMPORT_FAILED, INVALID_REQUEST, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, INTERNAL_ERROR. */
MUST_CHECK bool draw_design(struct job *job, const struct email_edit_source *source, const json_t *document, const char *public_url,
                            const char *param, struct drawn_design *ret_drawn, struct error *err) NONNULL(1, 2, 3, 5, 6, 7);
