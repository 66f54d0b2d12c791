/*
 * Comparison of two saved versions of a design: of their documents by block ids,
 * or of what a reader sees in imported HTML.
 */
#pragma once

#include "engine/core/work.h"

enum { EMAIL_COMPARISON_ENTRIES = 100, EMAIL_COMPARISON_TEXT_CHARS = 1000 };

struct email_comparison {
    int64_t email_id;
    int64_t version_id;       /* 0: the latest */
    const char *compare_with; /* the id or the number of the other version, or "previous" */
};

/* Writes the resource "emailComparison". The version with the smaller number is `before`. Lists have at most
 * EMAIL_COMPARISON_ENTRIES entries, and long texts are cut; `hasMore` tells it.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND, EMAIL_NOT_READY. */
MUST_CHECK bool email_compare(const struct work *work, const struct email_comparison *comparison, struct json_writer *json,
                              struct error *err) NONNULL(1, 2, 3, 4);
