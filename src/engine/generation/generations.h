/*
 * Generations: the runs that make a design of a brief, or edit one by a prompt.
 *
 * A call begins a run and enqueues its job in one transaction; the design is
 * `generating` from then on. The job settles version, state, charge and run
 * together. A run that fails leaves a design that has a version as it was; one
 * without a version becomes `failed` (D-151).
 *
 * Rows are allocated in the arena of the work. The row of the design is locked
 * before that of its run.
 */
#pragma once

#include "designer/document.h"
#include "engine/core/work.h"
#include "engine/emails/emails.h"
#include "sql/generations.h"

enum { GENERATION_TITLE_MAX_CHARS = 60, GENERATION_WARNINGS_MAX = 60, GENERATION_WARNING_MAX_CHARS = 500 };

/* The title of a design until it is ready: the beginning of its prompt, without marks of Markdown (D-139). */
const char *generation_title(struct arena *arena, const char *prompt) NONNULL(1, 2) RETURNS_NONNULL;

struct generation_begin {
    const char *title; /* shown until the design is ready */
    struct email_folder folder;
};

/* Inserts a design in the state `generating` and its run. Errors: INVALID_REQUEST (groupName), EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool generation_begin_design(const struct work *work, const struct generation_begin *begin, int64_t *ret_email_id,
                                        int64_t *ret_run_id, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Locks a design, makes it `generating` and inserts the run of an edit.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY. */
MUST_CHECK bool generation_begin_edit(const struct work *work, int64_t email_id, int64_t *ret_run_id, struct error *err)
    NONNULL(1, 3, 4);

/* Stores the job of a run, and reads the design for the answer of the call. */
MUST_CHECK bool generation_set_job(const struct work *work, int64_t run_id, int64_t job_id, int64_t email_id,
                                   struct email_find_row **ret_email, struct error *err) NONNULL(1, 5, 6);

/* ---- The job ---- */

/* Whether a run goes on, and the design that it is for. Errors: EMAIL_GENERATION_FAILED (there is no such run). */
MUST_CHECK bool generation_is_running(const struct work *work, int64_t run_id, int64_t *ret_email_id, bool *ret_is_running,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* The outcome of a run. */
struct generation_result {
    struct email_version version;
    struct text_list warnings;
    struct opt_int tokens_in; /* of a model */
    struct opt_int tokens_out;
};

/* Appends the version and ends the run. *ret_is_current is false when the run had ended already, and nothing is changed; *ret_email
 * is NULL then. The caller charges in the same transaction. Errors: EMAIL_NOT_FOUND (the design was deleted meanwhile). */
MUST_CHECK bool generation_complete(const struct work *work, int64_t run_id, const struct generation_result *result,
                                    struct email_find_row **ret_email, bool *ret_is_current, struct error *err)
    NONNULL(1, 3, 4, 5, 6);

/* Ends the run without a version; no error when it had ended already. Callers see the message of `why`. */
MUST_CHECK bool generation_fail(const struct work *work, int64_t run_id, const struct error *why, struct error *err)
    NONNULL(1, 3, 4);

/* ---- Reading ---- */

/* A run of a design, or its last one when `run_id` is 0. NULL in *ret_run: there is none. */
MUST_CHECK bool generation_get(const struct work *work, int64_t email_id, int64_t run_id, struct generation_find_row **ret_run,
                               struct error *err) NONNULL(1, 4, 5);

bool generation_run_has_ended(const struct generation_find_row *run) NONNULL(1);

/* The run as the resource "email" shows it. */
struct email_run generation_shown(const struct work *work, const struct generation_find_row *run) NONNULL(1, 2);
