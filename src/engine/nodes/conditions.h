/*
 * Conditions of automations: compare fields of the payload and of the contact.
 * Private to engine/nodes.
 *
 *     payload.order.total       of the event
 *     contact.firstName         a core field
 *     contact.customFields.plan, contact.plan   a custom field
 *     plan                      of the payload if it has that member, else of the contact (as merge fields)
 */
#pragma once

#include "engine/nodes/step.h"

struct template_zone;

/* Checks the conditions of a node. `path` is that of the list. Errors: INVALID_REQUEST with the path of the member. */
MUST_CHECK bool conditions_check(struct arena *arena, const struct condition *conditions, size_t count, const char *path,
                                 struct error *err) NONNULL(1, 4, 5);

/* Whether a field may be read from the payload, and from the contact. */
bool condition_field_reads_payload(const char *field) NONNULL(1) PURE;
bool condition_field_reads_contact(const char *field) NONNULL(1) PURE;

/* The value of a field; NULL: none. */
const json_t *condition_field_value(const struct step_facts *facts, const char *field) NONNULL(1, 2);

/* Whether the conditions hold. `ret_each` gets the result of each; it has `count` items. */
bool conditions_hold(struct arena *arena, const struct step_in *in, enum condition_logic logic, const struct condition *conditions,
                     size_t count, bool *ret_each) NONNULL(1, 2, 6);

/* The result of conditions with these results. */
bool conditions_joined(enum condition_logic logic, const bool *each, size_t count) NONNULL(2) PURE;
