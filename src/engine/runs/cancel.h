/*
 * Canceling runs: ends open runs with their steps, counts and events, set-based, in
 * the open transaction of the work. Messages that were handed over are delivered.
 * Payloads that nothing reads any more are erased in the same transaction.
 *
 * A run that a stepper holds is canceled behind its step. Any thread.
 */
#pragma once

#include "engine/core/work.h"

/* The runs to cancel. Exactly one member is set; the others are 0. */
struct runs_to_cancel {
    int64_t automation_id;   /* all runs, and all launches that have not ended */
    int64_t audience_run_id; /* the runs of a launch, and the launch */
    int64_t run_id;
};

/* Cancels the open ones of these runs. `ret_canceled` is their number; runs that have ended stay as they are. Two round trips. */
MUST_CHECK bool runs_cancel(const struct work *work, struct runs_to_cancel which, int64_t *ret_canceled, struct error *err)
    NONNULL(1, 3, 4);
