/*
 * Canceling runs: ends open runs with their steps, counts and events, set-based, in
 * the open transaction of the work. Senders skip messages of canceled runs that
 * they have not leased yet; others are delivered.
 * Payloads that nothing reads any more are erased in the same transaction.
 *
 * A run that a stepper holds is canceled behind its step. Any thread.
 */
#pragma once

#include "engine/core/work.h"

/* The runs to cancel. Exactly one of the ids and the list is set. */
struct runs_to_cancel {
    int64_t automation_id;   /* all runs, and all launches that have not ended */
    int64_t audience_run_id; /* the runs of a launch, and the launch */
    int64_t run_id;
    struct int_list run_ids;
    const char *reason; /* kept with the runs; NULL: none */
};

/* Cancels the open ones of these runs. `ret_canceled` is their number; runs that have ended stay as they are. Two round trips. */
MUST_CHECK bool runs_cancel(const struct work *work, struct runs_to_cancel which, int64_t *ret_canceled, struct error *err)
    NONNULL(1, 3, 4);
