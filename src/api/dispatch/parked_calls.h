/*
 * The waiting room: callers parked on a job, without a thread or a connection
 * of their own. One thread listens for the channel posthorn_jobs (and looks
 * once a second anyway), reports progress, and ends a call when its job has
 * settled, its deadline has passed or its caller is gone. Callers that wait for
 * something else are queued again once a second to see for themselves.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct api;
struct call_state;
struct parked_calls;

struct parked_calls *parked_calls_new(struct api *api) NONNULL(1) RETURNS_NONNULL;

/* Parks a call on a job. Done before the job is committed, so that its notification cannot be missed. */
void parked_calls_add(struct parked_calls *parked, struct call_state *state, int64_t job_id) NONNULL(1, 2);

/* Takes a call out again: its transaction failed after all. */
void parked_calls_remove(struct parked_calls *parked, struct call_state *state) NONNULL(1, 2);

/* The job is committed: the call may now be ended. */
void parked_calls_committed(struct parked_calls *parked, struct call_state *state) NONNULL(1, 2);

/* Parks a call that has no job, to be queued again in a second, or at `until_us` (monotonic) if that comes first. */
void parked_calls_add_timed(struct parked_calls *parked, struct call_state *state, int64_t until_us) NONNULL(1, 2);

/* Looks at the parked calls now: one was cancelled. */
void parked_calls_wake(struct parked_calls *parked) NONNULL(1);

/* Ends every parked call and stops the thread. */
void parked_calls_free(struct parked_calls *parked);
