/*
 * Body throttle: bounds the bytes a second that a server reads of request
 * bodies whose reading would slow others down.
 *
 * - Bodies of refused requests. They are read and dropped, because many clients
 *   read no answer before they have sent everything. All of them share one
 *   allowance, so clients with a wrong key cannot keep the threads busy.
 * - Large bodies of an organization while other organizations are active. Each
 *   such organization has an allowance of its own.
 *
 * An allowance holds for a short interval. A connection that finds its allowance
 * used up is suspended, and a thread resumes it in a later interval, in the order
 * of the suspensions. Meanwhile the client's bytes wait in the socket.
 *
 * Thread-safe. A suspended connection does not end before it is resumed, so its
 * pause may be stored here.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct body_throttle;
struct MHD_Connection;

/* The allowance of dropped bodies; others have the number of their organization. */
enum { BODY_THROTTLE_DROPPED = 0 };

/* A place in the list of suspended connections. The request of the connection owns it. */
struct body_pause {
    struct MHD_Connection *mhd;
    struct body_pause *next;
};

/* Starts the thread. Errors: INTERNAL_ERROR. */
MUST_CHECK bool body_throttle_new(struct body_throttle **ret_throttle, struct error *err) NONNULL(1, 2);

/* Notes that `bytes` of this connection were read. They count for the allowance `key`. True when the allowance is used up, so that
 * the connection was suspended. On the thread of the connection, in the callback of the request. */
MUST_CHECK bool body_throttle_note(struct body_throttle *throttle, struct body_pause *pause, struct MHD_Connection *mhd,
                                   int64_t key, size_t bytes) NONNULL(1, 2, 3);

/* Resumes every connection, and suspends none from now on. */
void body_throttle_end(struct body_throttle *throttle) NONNULL(1);

/* Joins the thread. NULL is allowed. */
void body_throttle_free(struct body_throttle *throttle);
