/*
 * The plan of an import, what is found out from the beginning
 * of its text and holds to its end: charset, delimiter, what the columns mean
 * and what type their fields have. It is kept with the import, so that a round
 * of work after a crash reads the text exactly as the first did.
 */
#pragma once

#include "engine/imports/columns.h"
#include "engine/imports/reading.h"

enum { IMPORT_SAMPLE_ROWS = 1000 };

struct import_plan {
    enum charset charset;
    char delimiter;
    int64_t data_offset; /* of the row behind the header */
    int64_t data_line;
    struct import_columns columns;
    struct text_list fields_created;
};

/* Looks at the text, and defines the fields that the brand lacks in the open transaction.
 * Errors: INVALID_REQUEST with `param`, for what makes the whole text unusable. */
MUST_CHECK bool import_plan_make(const struct work *work, const struct import_source *source, const json_t *mapping,
                                 const char *param, struct import_plan *ret_plan, struct error *err) NONNULL(1, 2, 4, 5, 6);

char *import_plan_json(struct arena *arena, const struct import_plan *plan) NONNULL(1, 2) RETURNS_NONNULL;
MUST_CHECK bool import_plan_load(struct arena *arena, const char *text, struct import_plan *ret_plan, struct error *err)
    NONNULL(1, 2, 3, 4);
