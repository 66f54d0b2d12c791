/*
 * Bounce rules, for the operator (posthorn admin bounce-rule). Every change
 * commits with an audit row.
 */
#pragma once

#include "engine/reports/bounce_rules.h"

/* Makes a rule and writes it. Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_add_bounce_rule(const struct work *work, const char *pattern, const char *class_name,
                                         struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Removes the rule with the number `id`. Errors: INVALID_REQUEST, NOT_FOUND. */
MUST_CHECK bool operator_remove_bounce_rule(const struct work *work, const char *id, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);
