/*
 * Automations: a graph of nodes that runs once for each recipient. Each change of
 * the graph makes a version, which never changes; the published version runs until
 * another is published. Deleted automations are not found any more, and their
 * versions stay for their runs.
 *
 * Functions that change run in the open transaction of the work. Rows belong to the
 * arena of the work.
 */
#pragma once

#include "engine/automations/blocker_list.h"
#include "engine/core/work.h"
#include "sql/automations.h"

#include <jansson.h>

enum {
    AUTOMATION_VERSIONS_SHOWN = 100,
    AUTOMATIONS_MAX_PER_BRAND = 10000, /* without deleted ones */
};

/* ---- Reading ---- */

struct automation_parts {
    bool graph;
    bool versions;
};

/* Writes a page of automations, the last changed first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool automation_list(const struct work *work, struct automation_parts parts, int64_t limit, const char *cursor,
                                struct json_writer *json, struct error *err) NONNULL(1, 5, 6);

/* One automation. Errors: AUTOMATION_NOT_FOUND. */
MUST_CHECK bool automation_get(const struct work *work, int64_t id, struct automation_parts parts,
                               struct automation_row **ret_automation, struct error *err) NONNULL(1, 4, 5);

/* The resource "automation", with the parts that the row has. `warnings` of a publication; NULL: none. */
void automation_write(const struct work *work, const struct automation_row *automation, const struct blockers *warnings,
                      struct json_writer *json) NONNULL(1, 2, 4);

/* ---- Changing ---- */

/* What a caller wants to change. */
struct automation_edit {
    const char *name;          /* NULL: unchanged; of a new one: Untitled */
    const char *description;   /* NULL: unchanged; "" removes it */
    const json_t *nodes;       /* NULL: unchanged */
    const json_t *connections; /* NULL: unchanged */
    struct opt_bool published;
    struct opt_bool paused;
    struct opt_bool stop_in_flight;
    bool is_dry_run; /* check only, and write the report */
};

/* An automation after a change. */
struct automation_saved {
    struct automation_row *row;      /* NULL: it was a dry run, whose report is written */
    const struct blockers *warnings; /* of a publication; NULL: none */
};

/* Creates a draft with version 1. The report of a dry run is written to `json`.
 * Errors: INVALID_REQUEST, AUTOMATION_GRAPH_INVALID. */
MUST_CHECK bool automation_create(const struct work *work, const struct automation_edit *edit, struct json_writer *json,
                                  struct automation_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Changes an automation: all of the edit, or nothing. A changed graph is a new version, which runs when it is published.
 * Errors: as automation_create; AUTOMATION_NOT_FOUND, PUBLISH_VALIDATION_FAILED, AUTOMATION_NOT_PUBLISHED. */
MUST_CHECK bool automation_update(const struct work *work, int64_t id, const struct automation_edit *edit, struct json_writer *json,
                                  struct automation_saved *ret_saved, struct error *err) NONNULL(1, 3, 4, 5, 6);

/* Deletes an automation, and cancels its runs. `ret_deleted` is false when the brand has no such automation. */
MUST_CHECK bool automation_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);
