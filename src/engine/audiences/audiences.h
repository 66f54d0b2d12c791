/*
 * Audiences: saved sets of contacts, to search in and to send to. An audience
 * is a filter, always true to the contacts of the moment, or a cohort, whose
 * members were frozen from events by a build (build.c).
 *
 * A deleted audience is gone from every list; sends that wait for their time
 * and audiences whose conditions name it still reach it. Audiences of another
 * brand are not found. Rows live in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/audiences.h"

#include <jansson.h>

enum {
    AUDIENCE_NAME_MAX_CHARS = 120,
    AUDIENCE_BUILD_STEP_EVENTS = 20000, /* read in one transaction of a build */
};

/* What an answer adds to the row. */
struct audience_parts {
    struct opt_int count;
    bool build;
};

/* ---- Reading ---- */

/* An audience and, when wanted, how many members it has now. Errors: AUDIENCE_NOT_FOUND. */
MUST_CHECK bool audience_get(const struct work *work, int64_t id, bool counted, struct audience_row **ret_audience,
                             struct opt_int *ret_count, struct error *err) NONNULL(1, 4, 5, 6);

/* A page, newest first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool audience_list(const struct work *work, bool counted, bool with_builds, int64_t limit, const char *cursor,
                              struct json_writer *json, struct error *err) NONNULL(1, 6, 7);

/* ---- Changing ---- */

/* Saves conditions as an audience; the conditions are checked as a search checks them.
 * Errors: INVALID_REQUEST with the exact path, AUDIENCE_NOT_FOUND for one that they name. */
MUST_CHECK bool audience_create(const struct work *work, const char *name, const json_t *filters,
                                struct audience_row **ret_audience, struct opt_int *ret_count, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);

/* Changes what is not NULL. Errors: as audience_create; a cohort has no conditions to change. */
MUST_CHECK bool audience_update(const struct work *work, int64_t id, const char *name, const json_t *filters,
                                struct audience_row **ret_audience, struct opt_int *ret_count, struct error *err)
    NONNULL(1, 5, 6, 7);

/* False in ret_deleted when there was none. */
MUST_CHECK bool audience_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);

/* A copy of the conditions; of a cohort, of the question it was made from, and then a build must follow
 * (audience_needs_build). `name` NULL: "Copy of …". Errors: AUDIENCE_NOT_FOUND. */
MUST_CHECK bool audience_duplicate(const struct work *work, int64_t id, const char *name, struct audience_row **ret_audience,
                                   struct opt_int *ret_count, struct error *err) NONNULL(1, 4, 5, 6);

/* ---- Cohorts (build.c) ---- */

/* Which events make a cohort. */
struct audience_selection {
    const char *name; /* NULL: made from the events */
    struct text_list event_types;
    struct opt_int from_us;
    struct opt_int to_us; /* unset: now */
    int64_t send_id;      /* 0: any */
    int64_t email_id;     /* 0: any */
    struct text_list automation_ids;
    struct text_list audience_ids; /* wire ids: only members of one of these */
    const char *recipient;         /* NULL: any */
};

/* Writes a cohort whose build waits; the caller enqueues the job and names it with audience_set_job.
 * Errors: INVALID_REQUEST, AUDIENCE_NOT_FOUND. */
MUST_CHECK bool audience_create_cohort(const struct work *work, const struct audience_selection *selection,
                                       struct audience_row **ret_audience, struct error *err) NONNULL(1, 2, 3, 4);

/* Whether the caller must enqueue a build of it. */
bool audience_needs_build(const struct audience_row *audience) NONNULL(1) PURE;

/* One step of a build, in the open transaction: reads up to AUDIENCE_BUILD_STEP_EVENTS. `ret_done` when it was the last. */
MUST_CHECK bool audience_build_step(const struct work *work, int64_t id, bool *ret_done, struct error *err) NONNULL(1, 3, 4);

/* A build that cannot go on. */
MUST_CHECK bool audience_build_fail(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* ---- Wire shape (audiences_json.c) ---- */

/* The resource "audience". */
void audience_write(const struct work *work, const struct audience_row *audience, struct audience_parts parts,
                    struct json_writer *json) NONNULL(1, 2, 4);
