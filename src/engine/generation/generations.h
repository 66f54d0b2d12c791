/*
 * Generations: the runs that make a design of a brief, or edit one by a prompt.
 *
 * A call begins a run and enqueues its job in one transaction; the design is
 * `generating` from then on. The job settles version, state, charge and run
 * together. A run that fails leaves a design that has a version as it was; one
 * without a version becomes `failed` (D-151).
 *
 * Rows are allocated in the arena of the work.
 */
#pragma once

#include "designer/document.h"
#include "engine/core/work.h"
#include "engine/emails/emails.h"

struct generation_begin {
    const char *title;        /* shown until the design is ready (D-139) */
    const char *subject_line; /* NULL: none */
    struct email_folder folder;
};

/* Inserts a design in the state `generating` and its run. Errors: EMAIL_GROUP_NOT_FOUND. */
MUST_CHECK bool generation_begin_design(const struct work *work, const struct generation_begin *begin, int64_t *ret_email_id,
                                        int64_t *ret_run_id, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Locks a design, makes it `generating` and inserts the run of an edit.
 * Errors: EMAIL_NOT_FOUND, EMAIL_IN_PROGRESS, EMAIL_NOT_READY. */
MUST_CHECK bool generation_begin_edit(const struct work *work, int64_t email_id, int64_t *ret_run_id, struct error *err)
    NONNULL(1, 3, 4);

/* The job of a run is known after it is enqueued. */
MUST_CHECK bool generation_set_job(const struct work *work, int64_t run_id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* What a run made. */
struct generation_result {
    struct email_content content; /* compiled */
    const char *document_json;    /* canonical; NULL: an imported design was edited */
    const char *changes_json;     /* NULL: the version was made as a whole */
    const char *made_by;
    const char *subject_line; /* NULL: none */
    const char *title;        /* NULL: unchanged */
    int64_t block_serial;
    struct text_list warnings;
    struct opt_int tokens_in;
    struct opt_int tokens_out;
};

/* Appends the version and ends the run. False without an error in `*ret_is_current`: the run was ended already.
 * The caller charges in the same transaction. */
MUST_CHECK bool generation_complete(const struct work *work, int64_t run_id, const struct generation_result *result,
                                    struct email_find_row **ret_email, bool *ret_is_current, struct error *err)
    NONNULL(1, 3, 4, 5, 6);

/* Ends the run without a version. `why` is told to callers. */
MUST_CHECK bool generation_fail(const struct work *work, int64_t run_id, const struct error *why, struct error *err)
    NONNULL(1, 3, 4);
