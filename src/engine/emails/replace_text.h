/*
 * Exact edits of a design without a model: the renderer replaces texts in the
 * prepared HTML and the subject of the latest version, and the result becomes a
 * new version. The source of an import (MJML, JSX) is not stored, so the HTML of
 * the version is the only form of a design.
 */
#pragma once

#include "engine/emails/emails.h"

/* Checks that the text of a design can be edited. Locks the design.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY. */
MUST_CHECK bool email_check_replace_text(const struct work *work, int64_t email_id, struct error *err) NONNULL(1, 3);

/* Reads what is edited: the latest version. Errors: EMAIL_NOT_FOUND, EMAIL_NOT_READY. */
MUST_CHECK bool email_read_text(const struct work *work, int64_t email_id, struct email_text_source_row **ret_source,
                                struct error *err) NONNULL(1, 3, 4);

/* The edited version. */
struct email_edited_text {
    struct email_content content;
    const char *subject_line; /* NULL: none */
};

/* Compiles the renderer's result. Errors: INVALID_REQUEST with the param `replacements`; INTERNAL_ERROR. */
MUST_CHECK bool email_prepare_edit(const struct work *work, const json_t *result, struct email_edited_text *ret_edited,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* Appends the edited version, unless the design has another latest version than `version_id` by now: `*ret_email` is then NULL.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS. */
MUST_CHECK bool email_save_edit(const struct work *work, int64_t email_id, int64_t version_id,
                                const struct email_edited_text *edited, struct email_find_row **ret_email, struct error *err)
    NONNULL(1, 4, 5, 6);
