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

/* Makes the texts of checked conditions, an item for each. */
const struct match_parts *const *conditions_prepare(struct arena *arena, const struct condition *conditions, size_t count)
    NONNULL(1, 2);

/* Checks the conditions of a node. `path` is that of the list. Errors: INVALID_REQUEST with the path of the member. */
MUST_CHECK bool conditions_check(struct arena *arena, const struct condition *conditions, size_t count, const char *path,
                                 struct error *err) NONNULL(1, 4, 5);

/* Whether a field may be read from the payload, and from the contact. */
bool condition_field_reads_payload(const char *field) NONNULL(1) PURE;
bool condition_field_reads_contact(const char *field) NONNULL(1) PURE;

/* The value of a field; NULL: none. */
const json_t *condition_field_value(const struct step_facts *facts, const char *field) NONNULL(1, 2);

/* The conditions of a node, or of its exit. */
struct condition_list {
    enum condition_logic logic;
    const struct condition *items;
    const struct match_parts *const *parts; /* of conditions_prepare */
    size_t count;
};

/* Whether the conditions hold. Looks at them in their order, until one decides: `ret_each` gets the results of the first
 * `ret_seen` ones; it has an item for each. */
bool conditions_hold(struct arena *arena, const struct step_in *in, const struct condition_list *list, bool *ret_each,
                     size_t *ret_seen) NONNULL(1, 2, 3, 4, 5);

/* The result of conditions with these results. */
bool conditions_joined(enum condition_logic logic, const bool *each, size_t count) NONNULL(2) PURE;
