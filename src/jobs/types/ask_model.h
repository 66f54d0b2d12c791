/*
 * Asking the operator's model, for the jobs of generations.
 */
#pragma once

#include "engine/emails/design_edits.h"
#include "jobs/jobs.h"
#include "models/models.h"

/* What a model wrote for an edit. */
struct asked_edit {
    const json_t *operations; /* for document_change, or for renderer_splice */
    struct text_list warnings;
    const char *made_by; /* as versions have it */
    struct model_usage usage;
};

/* Asks for the operations of an edit. `made_by` and `usage` are filled also when it fails. An imported design is tried with them,
 * so that its errors go back to the model once. Errors: EMAIL_GENERATION_FAILED, also when this process has no model;
 * SERVICE_UNAVAILABLE of the renderer. */
MUST_CHECK bool ask_model_for_edit(struct job *job, const struct email_edit_source *source, const char *prompt,
                                   struct asked_edit *ret_asked, struct error *err) NONNULL(1, 2, 3, 4, 5);
