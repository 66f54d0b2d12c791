/*
 * Private to the filters module: the tree of a filter between reading and
 * compiling, the operators, and the values of conditions.
 */
#pragma once

#include "engine/filters/filter.h"

/* The subject of a condition. */
enum filter_subject {
    SUBJECT_COLUMN,
    SUBJECT_CUSTOM,   /* a custom field */
    SUBJECT_GROUP,    /* a subscription group */
    SUBJECT_AUDIENCE, /* membership */
    SUBJECT_ACTIVITY, /* the number of events of the contact */
};

/* The type of the subject's values. It determines the operators. */
enum filter_type { TYPE_TEXT, TYPE_ADDRESS, TYPE_NUMBER, TYPE_DATE, TYPE_TRUTH, TYPE_MEMBERSHIP, TYPE_COUNT };

struct filter_condition {
    const char *path;
    enum filter_subject subject;
    enum filter_type type; /* for a custom field, set by the compiler */
    const char *column;    /* SQL, for SUBJECT_COLUMN */
    const char *name;      /* the name of the custom field, the group or the event type */
    const char *operator_name;
    const json_t *value;       /* NULL: none */
    int64_t within_days;       /* for SUBJECT_ACTIVITY; 0: no time limit */
    struct int_list audiences; /* for SUBJECT_AUDIENCE; an invalid id is 0 */
    bool is_parameter;         /* made by filter_of_audience: the path is a parameter of the call */
    bool deleted_too;
};

struct filter {
    bool is_group;
    struct filter_condition condition;
    const char *joint; /* for a group: " and " or " or " */
    struct filter *children;
    size_t count;
};

/* ---- Definitions that trees refer to ---- */

struct scope_audience {
    int64_t id;
    bool is_loaded; /* false: no audience of this brand, or beyond a bound */
    bool is_cohort;
    bool is_deleted;
    const char *status;          /* build status of a cohort */
    const struct filter *filter; /* NULL for a cohort */
};

struct filter_scope {
    const struct work *work;
    const json_t *field_types;      /* name → enum field_type */
    struct audience_set *audiences; /* NULL when no filter names an audience */
    size_t definition_bytes;
    bool is_cut; /* audiences beyond FILTER_MAX_AUDIENCES or FILTER_MAX_DEFINITION_BYTES were left out */
    /* Whether the statistics know that the brand has many contacts, and much activity. False when no condition is on activity. */
    bool knows_contacts;
    bool knows_activity;
};

/* NULL when the audience is not loaded. */
const struct scope_audience *filter_scope_find(const struct filter_scope *scope, int64_t audience_id) NONNULL(1) PURE;

/* True when any condition has this subject. */
bool filter_uses(const struct filter *filter, enum filter_subject subject) NONNULL(1) PURE;

/* Suggests the field of a contact that is nearest to a name: a core field, a custom field of `field_types`, or another subject of
 * conditions. Returns false. */
bool filter_suggest_field(struct arena *arena, const json_t *field_types, const char *name, struct error *err) NONNULL(1, 3, 4);

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

/* The operator of this name, without regard to a type; NULL when there is none. */
const struct filter_operator *filter_operator_named(const char *name) NONNULL(1) PURE;

/* Finds the operator of a condition for its type. Errors: INVALID_REQUEST at the operator, with the supported operators. */
MUST_CHECK bool filter_operator_find(const struct filter_condition *condition, struct arena *arena,
                                     const struct filter_operator **ret_operator, struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Values (errors are INVALID_REQUEST at the value, or at its item) ---- */

MUST_CHECK bool filter_value_text(const struct filter_condition *condition, struct arena *arena, const char **ret_text,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* A list: an array, or texts separated by commas. */
MUST_CHECK bool filter_value_texts(const struct filter_condition *condition, struct arena *arena, struct text_list *ret_texts,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* Merge keys of addresses; one, or a list. */
MUST_CHECK bool filter_value_addresses(const struct filter_condition *condition, struct arena *arena, bool many,
                                       struct text_list *ret_keys, struct error *err) NONNULL(1, 2, 4, 5);

/* Numbers as JSON text; a text with a number is accepted, too. `wanted` is their number, 0: a list. Two numbers are a lower and
 * an upper bound. */
MUST_CHECK bool filter_value_numbers(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                                     struct text_list *ret_numbers, struct error *err) NONNULL(1, 2, 4, 5);

/* Whole numbers of at least 0: one or two, as above. */
MUST_CHECK bool filter_value_counts(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                                    int64_t ret_counts[2], struct error *err) NONNULL(1, 2, 4, 5);

MUST_CHECK bool filter_value_boolean(const struct filter_condition *condition, struct arena *arena, bool *ret_value,
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

/* Shifts a day by a number of days. A result outside the years 1 to 9999 gives the day itself. */
struct filter_moment filter_day_shifted(const struct filter_moment *day, int days) NONNULL(1);

/* Reads one date of a value. False when it is none. */
bool filter_moment_read(const json_t *value, struct filter_moment *ret_moment) NONNULL(2);

/* Reads one number of a value: a number, or a text with one. False when it is none. */
bool filter_number_read(const json_t *value, double *ret_number) NONNULL(2);

/* One end of a range of dates. */
struct filter_edge {
    bool set;
    struct filter_moment moment;
    int instant_days;   /* if the moment is a day: the instant is the start of the day plus so many days */
    int64_t instant_us; /* if the moment is a time: the instant is the time plus so much */
    int day_days;       /* the day is the moment's day plus so many days */
};

struct filter_range {
    struct filter_edge from;
    struct filter_edge to; /* exclusive in a range of times */
    bool times_only;
};

/* The range that a condition on a date means. */
MUST_CHECK bool filter_date_range(const struct filter_condition *condition, struct arena *arena, enum filter_verb verb,
                                  int64_t now_us, struct filter_range *ret_range, struct error *err) NONNULL(1, 2, 5, 6);

/* ---- Compiling ---- */

struct filter_compiler {
    const struct filter_scope *scope;
    struct search_sql *sql;
    int depth;        /* nesting level of audiences */
    bool in_audience; /* compiles the filter of a saved audience */
    bool unready_too; /* accepts cohorts that are being built */
};

/* Compiles a tree at the current depth. */
MUST_CHECK bool filter_compile_tree(struct filter_compiler *compiler, const struct filter *filter, struct error *err)
    NONNULL(1, 2, 3);

/* Compiles a condition on a date. */
MUST_CHECK bool filter_compile_date(struct filter_compiler *compiler, const struct filter_condition *condition,
                                    enum filter_verb verb, struct error *err) NONNULL(1, 2, 4);

/* Appends "(OBJECT ARROW NAME)" with the name as a parameter, such as (c.custom_fields ->> $3). */
void filter_add_member(struct search_sql *sql, const char *object, const char *arrow, const char *name) NONNULL(1, 2, 3, 4);

/* Appends the subject: a column, or the text of a custom field or group. */
void filter_add_subject(struct search_sql *sql, const struct filter_condition *condition) NONNULL(1, 2);
