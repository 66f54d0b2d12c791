/*
 * The filters of templates: one table for the compiler, which knows them by
 * name, and the evaluator, which applies them by number. Numbers are stored in
 * blobs: append to the enum, never reorder.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "mail/template.h"

enum template_filter {
    TEMPLATE_FILTER_DEFAULT = 0,
    TEMPLATE_FILTER_ESCAPE = 1,
    TEMPLATE_FILTER_UPCASE = 2,
    TEMPLATE_FILTER_DOWNCASE = 3,
    TEMPLATE_FILTER_CAPITALIZE = 4,
    TEMPLATE_FILTER_COUNT,
};

/* Where filters put new text, and how much more of it one evaluation may make. */
struct template_scratch {
    struct arena *arena;
    size_t left_bytes;
};

struct template_filter_info {
    const char *name;
    unsigned min_arguments;
    unsigned max_arguments;
    /* Replaces *value by the result. Fails with INVALID_REQUEST when the scratch is used up. */
    bool (*apply)(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                  size_t count, struct error *err);
};

/* A row of the table; `filter` is below TEMPLATE_FILTER_COUNT. */
const struct template_filter_info *template_filter_info(unsigned filter) RETURNS_NONNULL;

/* The number of a filter by its name; TEMPLATE_FILTER_COUNT when there is none. */
unsigned template_filter_find(const char *name, size_t size) NONNULL(1) PURE;

/* What a slot shows of a value: nothing for nil, "true" or "false". */
void template_value_as_text(struct template_value *value) NONNULL(1);
