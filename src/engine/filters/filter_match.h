/*
 * Filter match: evaluates one condition on a JSON value, with the operators and
 * the semantics of filters (filter.h), without the database. Automations use it
 * for payloads and contacts alike.
 *
 * The value of the condition may be of a field without a known type. The type is
 * then that which the operator needs, or that of the value that is compared.
 * A text condition on a number or a truth value compares its JSON text. A value
 * of another type than the condition's counts as none; so does null.
 *
 * Nothing here reads a clock. Memory comes from the arena. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "engine/fields/field_registry.h"
#include "template/zone.h"

#include <jansson.h>

/* The texts that a checked condition looks for in others, changed for the comparison. */
struct match_parts {
    struct text_list texts;
    bool is_ascii; /* as the condition has them */
};

struct match_condition {
    const char *path;     /* of the condition, for errors */
    enum field_type type; /* FIELD_NONE: not known */
    bool is_address;      /* the field is an email address, compared by its merge key */
    const char *operator_name;
    const json_t *value;             /* NULL: none */
    const struct match_parts *parts; /* of match_prepare; NULL: they are made for each comparison */
};

/* A day without a time zone is a day of the zone (NULL: UTC). */
struct match_clock {
    int64_t now_us;
    const struct template_zone *zone;
};

/* Checks that the operator exists, fits the type and has a value that it understands.
 * Errors: INVALID_REQUEST at the operator or the value. */
MUST_CHECK bool match_check(struct arena *arena, const struct match_condition *condition, struct error *err) NONNULL(1, 2, 3);

/* Changes the texts that a checked condition looks for, once for all comparisons. NULL: it looks for none. */
const struct match_parts *match_prepare(struct arena *arena, const struct match_condition *condition) NONNULL(1, 2);

/* Whether the condition may compare days, so that match_holds needs the zone. */
bool match_needs_zone(const struct match_condition *condition) NONNULL(1) PURE;

/* Whether a checked condition holds for a value; NULL: the field has no value. */
bool match_holds(struct arena *arena, const struct match_condition *condition, const json_t *actual,
                 const struct match_clock *clock) NONNULL(1, 2, 4);

/* Reads a date: a time with a zone, Unix seconds, or a day, which begins at midnight in the zone. False when it is none. */
bool match_time_us(const json_t *value, const struct template_zone *zone, int64_t *ret_time_us) NONNULL(3);
