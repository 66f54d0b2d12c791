/*
 * Delivery of a campaign, a round at a time. A round either begins the send
 * (expands it once into recipients with dense ordinals, cut into ranges) or
 * works on one range: takes it, composes and hands over its messages outside
 * any transaction, then settles all of it in one.
 *
 * A range belongs to the job that took it, so the lease of the job, which runs
 * on the database's clock, is the lease of the range: several jobs may deliver
 * one send, and a job that was interrupted takes its own range again. Nothing
 * is missed, since a range moves forward only together with its results; what
 * is handed over twice after a crash carries the same name and Message-ID.
 *
 * Everything lives in the arena of the round's work.
 */
#pragma once

#include "engine/sends/composer.h"
#include "sql/delivery.h"

enum { DELIVERY_RANGE_SIZE = 500 };

enum delivery_outcome { DELIVERY_DELIVERED, DELIVERY_SKIPPED, DELIVERY_FAILED };

struct delivery_result {
    enum delivery_outcome outcome;
    const char *reason; /* NULL for what was delivered */
};

/* One round of one job. */
struct delivery {
    int64_t send_id;
    int64_t job_id;
    const struct delivery_send_row *send;
    const struct delivery_take_range_row *range; /* NULL: nothing to work on */
    struct composer *composer;
    const struct delivery_recipients_row *recipients;
    struct delivery_result *results; /* of each recipient; those that may not be mailed are marked by the fetch */
    size_t count;
};

/* Reads the send and takes the next range of one that is running. `ret_delivery->send` is NULL when it is gone. */
MUST_CHECK bool delivery_open(const struct work *work, int64_t send_id, int64_t job_id, struct delivery *ret_delivery,
                              struct error *err) NONNULL(1, 4, 5);

/* Whether the send waits for its beginning. */
bool delivery_is_due(const struct delivery *delivery) NONNULL(1) PURE;

/* Reads the recipients of the range as they are now and marks those who have unsubscribed, were deleted or are
 * suppressed. Prepares the composer. */
MUST_CHECK bool delivery_fetch(const struct work *work, struct delivery *delivery, struct error *err) NONNULL(1, 2, 3);

/* The stable name of a recipient's message, for the outbox. */
char *delivery_message_name(const struct work *work, const struct delivery *delivery, size_t index, struct arena *arena)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* Composes the message of one recipient. Errors: INVALID_REQUEST when it cannot be composed for them. */
MUST_CHECK bool delivery_compose(const struct work *work, struct delivery *delivery, size_t index, struct bytes *ret_message,
                                 struct error *err) NONNULL(1, 2, 4, 5);

/* ---- In the settling transaction ---- */

enum delivery_next {
    DELIVERY_ENDED,   /* nothing left for this job */
    DELIVERY_GOES_ON, /* another round */
    DELIVERY_WAITS,   /* the plan has no room: another round later */
};

/* Begins the send unless it was canceled. `ret_ranges` tells how many ranges there are now. */
MUST_CHECK bool delivery_begin(const struct work *work, const struct delivery *delivery, enum delivery_next *ret_next,
                               int64_t *ret_ranges, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Writes what became of the range, or ends the send when no range is open any more. */
MUST_CHECK bool delivery_settle(const struct work *work, const struct delivery *delivery, enum delivery_next *ret_next,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* Ends a send that cannot go on, and gives back what it did not use of the allowance. */
MUST_CHECK bool delivery_give_up(const struct work *work, int64_t send_id, const char *reason, struct error *err) NONNULL(1, 3, 4);
