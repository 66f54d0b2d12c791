/*
 * Dropped bodies: bounds the bytes a second that a server reads only to drop
 * them.
 *
 * The body of a refused request is read, because many clients read no answer
 * before they have sent everything. Without a bound, clients with a wrong key
 * could keep the threads of all connections busy. So all dropped bodies share one
 * allowance for each interval. A connection that finds it used up is suspended,
 * and a thread resumes it in a later interval, in the order of the suspensions.
 *
 * Thread-safe. A suspended connection does not end before it is resumed, so it
 * may be stored here.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct dropped_bodies;
struct MHD_Connection;

/* Starts the thread. `max_suspended`: the most connections of the server. Errors: INTERNAL_ERROR. */
MUST_CHECK bool dropped_bodies_new(size_t max_suspended, struct dropped_bodies **ret_bodies, struct error *err) NONNULL(2, 3);

/* Notes that `bytes` of this connection were dropped. True when the allowance is used up, so that the connection was suspended. On
 * the thread of the connection, in the callback of the request. */
MUST_CHECK bool dropped_bodies_note(struct dropped_bodies *bodies, struct MHD_Connection *mhd, size_t bytes) NONNULL(1, 2);

/* Resumes every connection, and suspends none from now on. */
void dropped_bodies_end_bound(struct dropped_bodies *bodies) NONNULL(1);

/* Joins the thread. NULL is allowed. */
void dropped_bodies_free(struct dropped_bodies *bodies);
