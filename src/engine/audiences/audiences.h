/*
 * Audiences: saved sets of contacts, for searches and sends. An audience is a
 * filter (dynamic segment), evaluated at each use, or a cohort (static segment),
 * whose members a build selects once from events (build.c).
 *
 * A deleted audience is not listed any more (soft delete); accepted sends and
 * audiences that refer to it still use it. Audiences of another brand are not
 * found. Rows are allocated in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/audiences.h"

#include <jansson.h>

enum {
    AUDIENCE_NAME_MAX_CHARS = 120,
    AUDIENCE_BUILD_STEP_EVENTS = 20000, /* read in one transaction of a build */
};

/* Optional members of the wire shape. */
struct audience_parts {
    struct opt_int count;
    struct opt_int ignoring_case; /* members when the case of texts is ignored; set when few match exactly and these are more */
    bool build;
};

/* ---- Reading ---- */

/* Reads an audience; with `counted`, also its current number of members. Errors: AUDIENCE_NOT_FOUND. */
MUST_CHECK bool audience_get(const struct work *work, int64_t id, bool counted, struct audience_row **ret_audience,
                             struct opt_int *ret_count, struct error *err) NONNULL(1, 4, 5, 6);

/* Writes a page, newest first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool audience_list(const struct work *work, bool counted, bool with_builds, int64_t limit, const char *cursor,
                              struct json_writer *json, struct error *err) NONNULL(1, 6, 7);

/* Writes a page of names with the number of members now, and how many of them a send reaches. The object stays open. Round trips
 * as filter_resolve, and two more. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool audience_describe(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                                  struct error *err) NONNULL(1, 4, 5);

/* ---- Changing ---- */

/* Saves filters as an audience. They are checked like the filters of a search.
 * Errors: INVALID_REQUEST with the exact path, AUDIENCE_NOT_FOUND for an audience that they refer to. */
MUST_CHECK bool audience_create(const struct work *work, const char *name, const json_t *filters,
                                struct audience_row **ret_audience, struct audience_parts *ret_parts, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);

/* Changes the members that are not NULL. Errors: as audience_create; INVALID_REQUEST for the filters of a cohort. */
MUST_CHECK bool audience_update(const struct work *work, int64_t id, const char *name, const json_t *filters,
                                struct audience_row **ret_audience, struct opt_int *ret_count, struct error *err)
    NONNULL(1, 5, 6, 7);

/* `ret_deleted` is false when the brand has no such audience. */
MUST_CHECK bool audience_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);

/* Copies an audience: its filters, or the selection of a cohort, which then needs a build (audience_needs_build). `name` NULL:
 * "Copy of …". Errors: AUDIENCE_NOT_FOUND. */
MUST_CHECK bool audience_duplicate(const struct work *work, int64_t id, const char *name, struct audience_row **ret_audience,
                                   struct opt_int *ret_count, struct error *err) NONNULL(1, 4, 5, 6);

/* ---- Cohorts (build.c) ---- */

/* The events that select the members of a cohort. */
struct audience_selection {
    const char *name; /* NULL: made from the events */
    struct text_list event_types;
    struct opt_int from_us;
    struct opt_int to_us;            /* unset: now */
    int64_t send_id;                 /* 0: any */
    int64_t email_id;                /* 0: any */
    struct text_list automation_ids; /* wire ids; none: any */
    struct text_list audience_ids;   /* wire ids: only members of one of these; none: any */
    const char *recipient;           /* NULL: any */
};

/* Writes a cohort with a pending build. The caller enqueues the job and stores it with audience_set_job.
 * Errors: INVALID_REQUEST, AUDIENCE_NOT_FOUND, SEND_NOT_FOUND, EMAIL_NOT_FOUND, AUTOMATION_NOT_FOUND. */
MUST_CHECK bool audience_create_cohort(const struct work *work, const struct audience_selection *selection,
                                       struct audience_row **ret_audience, struct error *err) NONNULL(1, 2, 3, 4);

/* True when the caller must enqueue a build. */
bool audience_needs_build(const struct audience_row *audience) NONNULL(1) PURE;

/* Executes one step of a build in the open transaction: reads up to AUDIENCE_BUILD_STEP_EVENTS. `ret_done`: it was the last step.
 */
MUST_CHECK bool audience_build_step(const struct work *work, int64_t id, bool *ret_done, struct error *err) NONNULL(1, 3, 4);

/* Marks a build as failed. */
MUST_CHECK bool audience_build_fail(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* ---- Wire shape (audiences_json.c) ---- */

/* The resource "audience". */
void audience_write(const struct work *work, const struct audience_row *audience, struct audience_parts parts,
                    struct json_writer *json) NONNULL(1, 2, 4);
