/*
 * Tranches of a gradual send: which recipients senders may have. The recipients
 * get their ordinals when the send begins; a tranche is released by making its
 * ranges, in one transaction with its usage and the time of the next tranche. The
 * job of the send calls delivery_continue until the send has ended or is paused.
 *
 * The guard pauses a gradual send whose messages bounce, or are reported as spam,
 * too often. It counts the messages since the beginning or the last resume.
 *
 * Locks: the statistics, the send, the gradual send, the allowance, the usage.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/sends/gradual.h"
#include "sql/tranches.h"

enum {
    GUARD_LEAST_MESSAGES = 100, /* below this the guard judges nothing */
    GUARD_LEAST_COMPLAINTS = 3, /* so that one report of 100 messages does not stop a send */
    GUARD_BOUNCES_OF_1000 = 50,
    GUARD_COMPLAINTS_OF_1000 = 3,
};

/* The state of a gradual send. */
struct tranches {
    const struct tranches_row *row;
    struct gradual_plan plan;
};

/* Locks a gradual send and reads it. NULL for a send that is not gradual. */
MUST_CHECK bool tranches_hold(const struct work *work, int64_t send_id, const struct tranches **ret_tranches, struct error *err)
    NONNULL(1, 3, 4);

/* Releases the first tranche of a send that begins with `recipients`. Returns the number of recipients in it. */
MUST_CHECK bool tranches_begin(const struct work *work, int64_t send_id, const struct tranches *tranches, int64_t recipients,
                               int64_t *ret_count, struct error *err) NONNULL(1, 3, 5, 6);

/* Checks the guard of a gradual send that has begun, and releases its next tranche if it is due. A tranche that exceeds the plan's
 * allowance pauses the send until there is room. `job_id` is the job that calls; a job that the send does not have any more does
 * nothing. `ret_next_us` is the time of the next call; unset when the job has ended. */
MUST_CHECK bool delivery_continue(const struct work *work, int64_t send_id, int64_t job_id, struct opt_int *ret_next_us,
                                  struct error *err) NONNULL(1, 4, 5);
