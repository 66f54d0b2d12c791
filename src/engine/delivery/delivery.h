/*
 * Delivery of campaigns, the part that is rules and rows; who hands messages
 * over is in src/sender.
 *
 * A send begins once: it is expanded into recipients with dense ordinals, cut
 * into ranges. A process that sends leases ranges, which only move forward, and
 * appends a result for each recipient. Whoever is to be tried again later, or
 * whose fate is unknown, stands in a small queue of retries instead. A recipient
 * has a result, or waits for a retry, or neither; never both. A send ends with
 * the last of them.
 *
 * A batch is what was leased together: a range, or retries of one send. It and
 * all it holds live in the arena of the work it was taken with.
 */
#pragma once

#include "engine/domains/signing.h"
#include "engine/compose/composer.h"
#include "sql/delivery.h"

enum {
    DELIVERY_RANGE_SIZE = 500,
    DELIVERY_RETRIES_MAX = 200, /* of a batch */
    DELIVERY_LEASE_S = 60,
};

/* ---- Beginning ---- */

/* In the settling transaction of the campaign's job: begins the send unless it was canceled or ended. False in `ret_begun` when
 * the plan has no room for it yet; then it is paused and wants another try later. */
MUST_CHECK bool delivery_begin(const struct work *work, int64_t send_id, bool *ret_begun, struct error *err) NONNULL(1, 3, 4);

/* Ends a send that cannot go on, and gives back what it did not use of the allowance. */
MUST_CHECK bool delivery_give_up(const struct work *work, int64_t send_id, const char *reason, struct error *err) NONNULL(1, 3, 4);

/* ---- Taking ---- */

enum delivery_outcome {
    DELIVERY_OPEN,      /* nothing is decided */
    DELIVERY_DELIVERED, /* the relay took it, or the outbox */
    DELIVERY_BOUNCED,   /* refused for good; reason: hard, block, refused, expired */
    DELIVERY_SKIPPED,   /* may not be mailed */
    DELIVERY_FAILED,    /* could not be composed */
    DELIVERY_HELD,      /* may have arrived, and is not sent again */
    DELIVERY_LATER,     /* another try at due_us */
};

struct delivery_result {
    enum delivery_outcome outcome;
    bool is_settled;    /* written */
    bool uncertain;     /* an attempt may have arrived without our knowing */
    const char *reason; /* NULL for what was delivered */
    const char *reply;  /* the last words of the relay; NULL without */
    const char *relay;  /* NULL without */
    int64_t attempts;   /* this one included */
    int64_t due_us;     /* DELIVERY_LATER */
};

struct delivery_batch {
    const char *owner; /* the process that leased it */
    int64_t organization_id;
    int64_t brand_id;
    int64_t send_id;
    int64_t from_ordinal; /* of the range; 0: retries */
    const int64_t *ordinals;
    size_t ordinal_count;
    struct opt_int date_us; /* of the messages of a range */
    bool is_fresh;          /* nobody has worked on the range before */
    bool is_part;           /* of ranges: settled without closing one */
    bool is_unsure;         /* somebody may have settled some of it meanwhile, or an earlier try of ours has */
    bool is_abandoned;      /* leased before by a process that is gone without a trace */
    const struct delivery_send_row *send;
    struct composer_design design;
    const struct delivery_recipients_row *recipients; /* those whose fate is open */
    struct delivery_result *results;                  /* of each; those who may not be mailed are marked by the fetch */
    size_t count;
};

/* What a process wants to send. */
struct delivery_wish {
    const char *owner;
    int64_t after_brand; /* the brand served last */
    bool to_outbox;
    bool to_relay;
    struct int_list put_off; /* sends to be left alone for now */
};

/* Leases the next range. NULL send in the batch: its rows are not fetched yet. */
MUST_CHECK bool delivery_take_range(const struct work *work, const struct delivery_wish *wish, struct delivery_batch *ret_batch,
                                    bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Leases retries that are due. */
MUST_CHECK bool delivery_take_retries(const struct work *work, const struct delivery_wish *wish, struct delivery_batch *ret_batch,
                                      bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Reads the send and the recipients of a batch as they are now, and marks those who have unsubscribed, were deleted or are
 * suppressed. Errors: INTERNAL_ERROR, INVALID_REQUEST when the design cannot be used any more. */
MUST_CHECK bool delivery_fetch(const struct work *work, struct delivery_batch *batch, struct error *err) NONNULL(1, 2, 3);

/* Prepares composing for one thread: `work` needs an arena, no connection. */
MUST_CHECK bool delivery_composer(const struct work *work, const struct delivery_batch *batch, struct composer **ret_composer,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* Composes the message of one recipient; composing it again gives the same bytes. The arena is a scratch.
 * Errors: INVALID_REQUEST when it cannot be composed for them. */
MUST_CHECK bool delivery_compose(const struct work *work, const struct delivery_batch *batch, size_t index,
                                 struct composer *composer, struct bytes *ret_message, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* The stable name of a recipient's message, for the outbox. */
char *delivery_message_name(const struct work *work, const struct delivery_batch *batch, size_t index, struct arena *arena)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* ---- Settling ---- */

/* Writes the results that are decided and not settled, in one transaction: results, retries, events, figures, suppressions;
 * closes the range when nothing of it is open, and ends the send with its last. What somebody else has written meanwhile stays.
 * On success they are marked as settled. */
MUST_CHECK bool delivery_settle(const struct work *work, struct delivery_batch *batch, struct error *err) NONNULL(1, 2, 3);
