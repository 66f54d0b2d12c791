/*
 * Bounce rules: patterns of the operator that give reported bounces another
 * class. They hold for the whole installation. report_record applies them to the
 * diagnostics of reports, in the order in which they were made; the first match
 * decides. Replies to the sender are classified without them.
 */
#pragma once

#include "engine/core/work.h"

enum { BOUNCE_RULES_MAX = 200, BOUNCE_PATTERN_MIN_CHARS = 4, BOUNCE_PATTERN_MAX_CHARS = 200 };

/* Makes a rule in the open transaction. The pattern is a plain text; the case of ASCII letters does not count. `class_name` is a
 * name of bounce_class_name. Errors: INVALID_REQUEST (pattern, class). */
MUST_CHECK bool bounce_rule_add(const struct work *work, const char *pattern, const char *class_name, int64_t *ret_id,
                                struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Writes the rules as {"data":[…]}, in the order in which they are tried. */
MUST_CHECK bool bounce_rules_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* Removes a rule in the open transaction. Errors: NOT_FOUND. */
MUST_CHECK bool bounce_rule_remove(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);
