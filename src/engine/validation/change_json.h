/*
 * Private to the validation module: contact changes as JSON, for the payload of
 * the job that saves them.
 */
#pragma once

#include "engine/contacts/contacts.h"

/* The changes as an array, which lives as long as the arena and the JSON of the changes. */
const json_t *contact_changes_json(struct arena *arena, const struct contact_change *changes, size_t count)
    NONNULL(1) RETURNS_NONNULL;

/* Reads the array of contact_changes_json. Texts are borrowed from `array`. */
struct contact_change *contact_changes_read(struct arena *arena, const json_t *array, size_t *ret_count) NONNULL(1, 3);
