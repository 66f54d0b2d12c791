/*
 * Parked calls: callers that wait for a job without holding a thread or a
 * connection. One thread listens on the channel posthorn_jobs and polls once a
 * second. It reports progress and completes a call when its job has settled,
 * its deadline has passed or its caller has cancelled. A call that waits for
 * something else is queued again once a second.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct api;
struct call_state;
struct db_batch;
struct parked_calls;

struct parked_calls *parked_calls_new(struct api *api) NONNULL(1) RETURNS_NONNULL;

/* Parks a call on a job. Call this before the job is committed, so that its notification cannot be missed. */
void parked_calls_add(struct parked_calls *parked, struct call_state *state, int64_t job_id) NONNULL(1, 2);

/* Adds the statement that records the call of parked_calls_add as a caller of its job, for the transaction that enqueues or joins
 * the job. Callers of other processes see it there, and their leaving does not cancel the job. */
void parked_calls_record(struct parked_calls *parked, const struct call_state *state, struct db_batch *batch) NONNULL(1, 2, 3);

/* Removes a parked call whose transaction failed. */
void parked_calls_remove(struct parked_calls *parked, struct call_state *state) NONNULL(1, 2);

/* Marks the job as committed: from now on the call may be completed. */
void parked_calls_committed(struct parked_calls *parked, struct call_state *state) NONNULL(1, 2);

/* Parks a call that has no job. It is queued again after a second, or at `until_us` (monotonic) if that comes first. */
void parked_calls_add_timed(struct parked_calls *parked, struct call_state *state, int64_t until_us) NONNULL(1, 2);

/* Wakes the thread to look at the parked calls, because one was cancelled. */
void parked_calls_wake(struct parked_calls *parked) NONNULL(1);

/* Completes every parked call and stops the thread. */
void parked_calls_free(struct parked_calls *parked);
