/*
 * The texts of a document's members: which ones each kind takes. Private to
 * src/designer.
 */
#pragma once

#include "designer/document.h"

/* The text in its canonical form, or NULL with the error. Errors: INVALID_REQUEST with an empty param. */
const char *field_text_check(struct arena *arena, const struct document_field *field, const char *text, struct error *err)
    NONNULL(1, 2, 3, 4);
