/*
 * Filters of templates: one table for the compiler, which finds a filter by name,
 * and the evaluator, which applies it by number. The numbers are stored in blobs:
 * append to the enum, never reorder it.
 */
#pragma once

#include "base/error.h"
#include "template/value.h"

enum template_filter {
    TEMPLATE_FILTER_DEFAULT = 0,
    TEMPLATE_FILTER_ESCAPE = 1,
    TEMPLATE_FILTER_UPCASE = 2,
    TEMPLATE_FILTER_DOWNCASE = 3,
    TEMPLATE_FILTER_CAPITALIZE = 4,
    TEMPLATE_FILTER_ESCAPE_ONCE = 5,
    TEMPLATE_FILTER_NEWLINE_TO_BR = 6, /* never in a blob: it selects the escape */
    TEMPLATE_FILTER_URL_ENCODE = 7,
    TEMPLATE_FILTER_STRIP = 8,
    TEMPLATE_FILTER_LSTRIP = 9,
    TEMPLATE_FILTER_RSTRIP = 10,
    TEMPLATE_FILTER_STRIP_HTML = 11,
    TEMPLATE_FILTER_STRIP_NEWLINES = 12,
    TEMPLATE_FILTER_TRUNCATE = 13,
    TEMPLATE_FILTER_TRUNCATEWORDS = 14,
    TEMPLATE_FILTER_APPEND = 15,
    TEMPLATE_FILTER_PREPEND = 16,
    TEMPLATE_FILTER_REPLACE = 17,
    TEMPLATE_FILTER_REMOVE = 18,
    TEMPLATE_FILTER_SPLIT = 19,
    TEMPLATE_FILTER_SLICE = 20,
    TEMPLATE_FILTER_SIZE = 21,
    TEMPLATE_FILTER_FIRST = 22,
    TEMPLATE_FILTER_LAST = 23,
    TEMPLATE_FILTER_JOIN = 24,
    TEMPLATE_FILTER_REVERSE = 25,
    TEMPLATE_FILTER_SORT = 26,
    TEMPLATE_FILTER_UNIQ = 27,
    TEMPLATE_FILTER_MAP = 28,
    TEMPLATE_FILTER_ABS = 29,
    TEMPLATE_FILTER_CEIL = 30,
    TEMPLATE_FILTER_FLOOR = 31,
    TEMPLATE_FILTER_ROUND = 32,
    TEMPLATE_FILTER_PLUS = 33,
    TEMPLATE_FILTER_MINUS = 34,
    TEMPLATE_FILTER_TIMES = 35,
    TEMPLATE_FILTER_DIVIDED_BY = 36,
    TEMPLATE_FILTER_MODULO = 37,
    TEMPLATE_FILTER_AT_LEAST = 38,
    TEMPLATE_FILTER_AT_MOST = 39,
    TEMPLATE_FILTER_DATE = 40,
    TEMPLATE_FILTER_MONEY = 41,
    TEMPLATE_FILTER_COUNT,
};

/* Replaces *value by the result. Fails with INVALID_REQUEST when the scratch limit is reached. */
typedef bool template_filter_apply(struct template_scratch *scratch, struct template_value *value,
                                   const struct template_value *arguments, size_t count, struct error *err);

struct template_filter_info {
    const char *name;
    unsigned min_arguments;
    unsigned max_arguments;
    template_filter_apply *apply;
    const char *example; /* an example with arguments; NULL when none are needed */
};

/* A row of the table; `filter` is below TEMPLATE_FILTER_COUNT. */
const struct template_filter_info *template_filter_info(unsigned filter) RETURNS_NONNULL;

/* The number of a filter by its name; TEMPLATE_FILTER_COUNT for an unknown name. */
unsigned template_filter_find(const char *name, size_t size) NONNULL(1) PURE;

/* The filter with the most similar name, as a suggestion; NULL without one. */
const char *template_filter_similar(const char *name, size_t size) NONNULL(1) PURE;

/* filter_text.c */
template_filter_apply template_filter_upcase, template_filter_downcase, template_filter_capitalize, template_filter_escape_once,
    template_filter_url_encode, template_filter_strip, template_filter_lstrip, template_filter_rstrip, template_filter_strip_html,
    template_filter_strip_newlines, template_filter_truncate, template_filter_truncatewords, template_filter_append,
    template_filter_prepend, template_filter_replace, template_filter_remove;

/* filter_list.c */
template_filter_apply template_filter_split, template_filter_slice, template_filter_size, template_filter_first,
    template_filter_last, template_filter_join, template_filter_reverse, template_filter_sort, template_filter_uniq,
    template_filter_map;

/* filter_number.c */
template_filter_apply template_filter_abs, template_filter_ceil, template_filter_floor, template_filter_round, template_filter_plus,
    template_filter_minus, template_filter_times, template_filter_divided_by, template_filter_modulo, template_filter_at_least,
    template_filter_at_most;

/* date.c, money.c */
template_filter_apply template_filter_date, template_filter_money;
