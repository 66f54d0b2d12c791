/*
 * Import plan: the charset, the delimiter, the column mapping and the field
 * types, detected from the beginning of the text. It is stored with the import,
 * so that a round after a crash reads the text exactly as the first one did.
 */
#pragma once

#include "engine/imports/columns.h"
#include "engine/imports/reading.h"

enum { IMPORT_SAMPLE_ROWS = 1000 };

struct import_plan {
    enum charset charset;
    char delimiter;
    int64_t data_offset; /* of the row after the header */
    int64_t data_line;
    struct import_columns columns;
    struct text_list fields_created;
};

/* Makes the plan from the text, and defines missing fields in the open transaction.
 * Errors: INVALID_REQUEST with `param`, when the text as a whole cannot be imported. */
MUST_CHECK bool import_plan_make(const struct work *work, const struct import_source *source, const json_t *mapping,
                                 const char *param, struct import_plan *ret_plan, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* Makes the plan without defining anything: `fields_created` has the fields that the import would define. The same errors. */
MUST_CHECK bool import_plan_preview(const struct work *work, const struct import_source *source, const json_t *mapping,
                                    const char *param, struct import_plan *ret_plan, struct error *err) NONNULL(1, 2, 4, 5, 6);

char *import_plan_json(struct arena *arena, const struct import_plan *plan) NONNULL(1, 2) RETURNS_NONNULL;
MUST_CHECK bool import_plan_load(struct arena *arena, const char *text, struct import_plan *ret_plan, struct error *err)
    NONNULL(1, 2, 3, 4);
