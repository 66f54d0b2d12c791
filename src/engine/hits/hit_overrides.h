/*
 * Hit rules of the operator: they replace the actor of a class of programs or
 * networks (hit_rules.h). They hold for the installation. Each change raises the
 * version of the rules, so the brands judge all their hits again.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/hits/hit_rules.h"

/* The rules of this program with those of the operator, in the arena of the work. */
MUST_CHECK bool hit_rules_load(const struct work *work, struct hit_rules *ret_rules, struct error *err) NONNULL(1, 2, 3);

/* Sets a rule in the open transaction. `subject` is agent:CLASS or network:CLASS, `decision` is KIND=ACTOR with the kind open or
 * click and the actor human, proxy, bot or facts. Errors: INVALID_REQUEST (class, actor). */
MUST_CHECK bool hit_override_set(const struct work *work, const char *subject, const char *decision, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Removes the rule of `subject` for a kind in the open transaction. Errors: INVALID_REQUEST, NOT_FOUND. */
MUST_CHECK bool hit_override_remove(const struct work *work, const char *subject, const char *kind, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Writes the version, the rules of the operator with the words and ranges, and all classes with the actors that hold now. */
MUST_CHECK bool hit_rules_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);
