/*
 * Hit rules of the operator (posthorn admin hit-rule). Every change commits with
 * an audit row.
 */
#pragma once

#include "engine/hits/hit_overrides.h"

/* Each writes the rules that hold afterwards. Errors: INVALID_REQUEST, NOT_FOUND. */
MUST_CHECK bool operator_set_hit_rule(const struct work *work, const char *subject, const char *decision, struct json_writer *json,
                                      struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_remove_hit_rule(const struct work *work, const char *subject, const char *kind, struct json_writer *json,
                                         struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The same for the operator's own words and ranges; `fact` is agent or network. */
MUST_CHECK bool operator_add_hit_match(const struct work *work, const char *fact, const char *text, const char *actor,
                                       struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);
MUST_CHECK bool operator_remove_hit_match(const struct work *work, const char *fact, const char *text, struct json_writer *json,
                                          struct error *err) NONNULL(1, 2, 3, 4, 5);
