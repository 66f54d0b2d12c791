/*
 * Edits of designs without a model and without a charge: exact texts
 * (emails.replaceText) and operations on a document (emails.change). A job makes
 * the new content outside of a transaction; saving appends it as a new version,
 * unless the design has got another one meanwhile.
 *
 * The source of an import (MJML, JSX) is not stored, so the HTML of the version
 * is the only form of an imported design.
 */
#pragma once

#include "engine/emails/documents.h"
#include "engine/emails/emails.h"

/* Checks that the content of a design can be edited. Locks the design.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY. */
MUST_CHECK bool email_check_edit(const struct work *work, int64_t email_id, struct error *err) NONNULL(1, 3);

/* What is edited: the latest version. */
struct email_edit_source {
    int64_t version_id;
    const char *subject_line; /* NULL: none */
    const char *html;
    const char *links_json;   /* as the renderer lists them; NULL: none */
    struct text_list paths;   /* of its merge tags */
    const json_t *document;   /* NULL: an imported design */
    int64_t block_serial;     /* the number of the last block id */
    const char *email_design; /* of the brand; NULL: none */
    const char *locale;
    const char *time_zone;
};

/* Errors: EMAIL_NOT_FOUND, EMAIL_NOT_READY, INTERNAL_ERROR. */
MUST_CHECK bool email_read_edit_source(const struct work *work, int64_t email_id, struct email_edit_source *ret_source,
                                       struct error *err) NONNULL(1, 3, 4);

/* As email_read_edit_source, for a document. Errors: also INVALID_REQUEST with `param` for an imported design. */
MUST_CHECK bool email_read_document_source(const struct work *work, int64_t email_id, const char *param,
                                           struct email_edit_source *ret_source, struct error *err) NONNULL(1, 3, 4, 5);

/* The edited version. */
struct email_edited {
    struct email_content content;
    struct email_version version; /* of `content` */
};

/* Compiles the renderer's result for replaced texts. Errors: INVALID_REQUEST with the param `replacements`; INTERNAL_ERROR. */
MUST_CHECK bool email_prepare_edit(const struct work *work, const json_t *result, struct email_edited *ret_edited,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* Appends the edited version, unless the design has another latest version than `version_id` by now: `*ret_email` is then NULL.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS. */
MUST_CHECK bool email_save_edit(const struct work *work, int64_t email_id, int64_t version_id, const struct email_edited *edited,
                                struct email_find_row **ret_email, struct error *err) NONNULL(1, 4, 5, 6);
