/*
 * Private to the validation module: contact changes as JSON, for the payload of
 * the job that saves them.
 */
#pragma once

#include "engine/contacts/contacts.h"

/* Writes the changes as an array. */
void contact_changes_write(const struct contact_change *changes, size_t count, struct json_writer *json) NONNULL(3);

/* Reads the array of contact_changes_write. Texts are borrowed from `array`. */
struct contact_change *contact_changes_read(struct arena *arena, const json_t *array, size_t *ret_count) NONNULL(1, 3);
