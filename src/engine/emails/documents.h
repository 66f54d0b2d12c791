/*
 * Documents of saved designs. The subject of a version is its column, which
 * emails.update changes without a new version, so it replaces the subject that
 * the stored document has.
 */
#pragma once

#include "designer/document.h"
#include "engine/core/work.h"

/* The document of a version with its subject; NULL for `stored` NULL, an imported version. The subject is NULL for none.
 * Errors: INTERNAL_ERROR (the stored text is damaged). */
MUST_CHECK bool email_read_document(const struct work *work, const char *stored, const char *subject_line,
                                    const json_t **ret_document, struct error *err) NONNULL(1, 4, 5);
