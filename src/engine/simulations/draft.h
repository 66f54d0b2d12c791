/*
 * Draft: the latest version of an automation, read for simulations. Private to
 * engine/simulations.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/nodes/simulate.h"

struct draft {
    int64_t version_id;
    struct graph *graph;
    const char *time_zone;
};

/* Errors: AUTOMATION_NOT_FOUND. */
MUST_CHECK bool draft_load(const struct work *work, int64_t automation_id, struct draft *ret_draft, struct error *err)
    NONNULL(1, 3, 4);

/* The JSON of a contact as conditions read it, from a row. */
MUST_CHECK bool draft_read_contact(struct arena *arena, const char *text, const json_t **ret_contact, struct error *err)
    NONNULL(1, 2, 3, 4);
