/*
 * Holds after a restore: the rows of the restore guard (sender/restore_guard.h).
 * A held send stays as it is and nothing of it is delivered: delivery_begin does
 * not begin it, and no range or retry of it is leased. New sends are not held.
 * Runs of automations whose step was due are held with them (is_held), and are
 * released when all sends are.
 * The operator releases a held send, or cancels it.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/restore_holds.h"

enum { RESTORE_LISTED_MAX = 1000 };

/* Releases a send by its wire id; NULL: all. `ret_count`: the number of released sends. Errors: SEND_NOT_FOUND when this send is
 * not held. */
MUST_CHECK bool restore_release_holds(const struct work *work, const char *send_id, int64_t *ret_count, struct error *err)
    NONNULL(1, 3, 4);

/* Writes {"held", "since", "runs", "sends": […]} with at most RESTORE_LISTED_MAX sends. */
MUST_CHECK bool restore_write_holds(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);
