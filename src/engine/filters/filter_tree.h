/*
 * Inside the room: the tree of a filter between its reading and its compiling,
 * the operators, and the values of conditions.
 */
#pragma once

#include "engine/filters/filter.h"

/* What a condition is about. */
enum filter_subject {
    SUBJECT_COLUMN,
    SUBJECT_CUSTOM,   /* a custom field */
    SUBJECT_GROUP,    /* a subscription group */
    SUBJECT_AUDIENCE, /* membership */
    SUBJECT_ACTIVITY, /* how often something happened to the contact */
};

/* What its values are, which decides its operators. */
enum filter_type { TYPE_TEXT, TYPE_ADDRESS, TYPE_NUMBER, TYPE_DATE, TYPE_TRUTH, TYPE_MEMBERSHIP, TYPE_COUNT };

struct filter_condition {
    const char *path;
    enum filter_subject subject;
    enum filter_type type; /* of a custom field: known when it is compiled */
    const char *column;    /* SQL, of SUBJECT_COLUMN */
    const char *name;      /* of the custom field, the group or the event type */
    const char *operator_name;
    const json_t *value;       /* NULL: none */
    int64_t within_days;       /* of SUBJECT_ACTIVITY; 0: ever */
    struct int_list audiences; /* of SUBJECT_AUDIENCE; 0 for what is no id */
    bool is_parameter;         /* made by filter_of_audience: the path is a parameter of the call */
    bool deleted_too;
};

struct filter {
    bool is_group;
    struct filter_condition condition;
    const char *joint; /* of a group: " and " or " or " */
    struct filter *children;
    size_t count;
};

/* ---- What trees name ---- */

struct scope_audience {
    const struct scope_audience *next;
    int64_t id;
    bool is_cohort;
    bool is_deleted;
    const char *status;          /* materialization of a cohort */
    const struct filter *filter; /* NULL of a cohort */
};

struct filter_scope {
    const struct work *work;
    const json_t *field_types; /* name → enum field_type */
    const struct scope_audience *audiences;
};

/* NULL when there is none. */
const struct scope_audience *filter_scope_find(const struct filter_scope *scope, int64_t audience_id) NONNULL(1) PURE;

/* Whether a condition is on a custom field. */
bool filter_uses_custom_fields(const struct filter *filter) NONNULL(1) PURE;

/* ---- Operators ---- */

enum filter_verb {
    VERB_EQUALS,
    VERB_CONTAINS,
    VERB_CONTAINS_ANY,
    VERB_STARTS_WITH,
    VERB_ENDS_WITH,
    VERB_IN,
    VERB_EXISTS,
    VERB_FILLED,
    VERB_GREATER,
    VERB_AT_LEAST,
    VERB_LESS,
    VERB_AT_MOST,
    VERB_BETWEEN,
    VERB_BEFORE,
    VERB_AFTER,
    VERB_LAST_DAYS,
    VERB_NEXT_DAYS,
    VERB_TRUE,
    VERB_FALSE,
};

struct filter_operator {
    const char *name;
    enum filter_verb verb;
    bool negated;
    unsigned types; /* bits of enum filter_type */
};

/* The operator that a condition names, of its type. Errors: INVALID_REQUEST at its operator, naming those there are. */
MUST_CHECK bool filter_operator_find(const struct filter_condition *condition, struct arena *arena,
                                     const struct filter_operator **ret_operator, struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Values: errors are INVALID_REQUEST at the value, or at its item ---- */

MUST_CHECK bool filter_value_text(const struct filter_condition *condition, struct arena *arena, const char **ret_text,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* A list: an array, or texts separated by commas. */
MUST_CHECK bool filter_value_texts(const struct filter_condition *condition, struct arena *arena, struct text_list *ret_texts,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* Addresses as their merge keys; one, or a list. */
MUST_CHECK bool filter_value_addresses(const struct filter_condition *condition, struct arena *arena, bool many,
                                       struct text_list *ret_keys, struct error *err) NONNULL(1, 2, 4, 5);

/* Numbers, also as text, as JSON text: `wanted` of them, or a list when that is 0. Two are a lower and an upper bound. */
MUST_CHECK bool filter_value_numbers(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                                     struct text_list *ret_numbers, struct error *err) NONNULL(1, 2, 4, 5);

/* Whole numbers from 0: one or two, as above. */
MUST_CHECK bool filter_value_counts(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                                    int64_t ret_counts[2], struct error *err) NONNULL(1, 2, 4, 5);

MUST_CHECK bool filter_value_truth(const struct filter_condition *condition, struct arena *arena, bool *ret_truth,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* 1 to FILTER_MAX_DAYS. */
MUST_CHECK bool filter_value_days(const struct filter_condition *condition, struct arena *arena, int64_t *ret_days,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* A whole day without a zone, or a time in milliseconds. */
enum { FILTER_DAY_CHARS = 10 };
struct filter_moment {
    bool is_day;
    char day[FILTER_DAY_CHARS + 1]; /* 2026-11-21 */
    int64_t time_us;
};
MUST_CHECK bool filter_value_moments(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                                     struct filter_moment ret_moments[2], struct error *err) NONNULL(1, 2, 4, 5);

/* A day some days later or earlier; stays in the years 1 to 9999. */
struct filter_moment filter_day_shifted(const struct filter_moment *day, int days) NONNULL(1);

/* ---- Compiling ---- */

struct filter_compiler {
    const struct filter_scope *scope;
    struct search_sql *sql;
    int depth;        /* of audiences around */
    bool in_audience; /* inside of a saved one */
    bool unready_too; /* cohorts may still be building */
};

/* filter_compile, from some depth on. */
MUST_CHECK bool filter_compile_tree(struct filter_compiler *compiler, const struct filter *filter, struct error *err)
    NONNULL(1, 2, 3);

/* A condition on a date. */
MUST_CHECK bool filter_compile_date(struct filter_compiler *compiler, const struct filter_condition *condition,
                                    enum filter_verb verb, struct error *err) NONNULL(1, 2, 4);

/* The text of a custom field or group, or a column. */
void filter_add_subject(struct search_sql *sql, const struct filter_condition *condition) NONNULL(1, 2);
