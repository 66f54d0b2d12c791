/*
 * Inside the room: changes of contacts as JSON, to be kept with the job that
 * saves them.
 */
#pragma once

#include "engine/contacts/contacts.h"

/* Writes the changes as an array. */
void contact_changes_write(const struct contact_change *changes, size_t count, struct json_writer *json) NONNULL(3);

/* Reads what contact_changes_write wrote; texts live as long as `array`. */
struct contact_change *contact_changes_read(struct arena *arena, const json_t *array, size_t *ret_count) NONNULL(1, 3);
