/*
 * Delivery of campaigns: the queue tables and their rules. The workers that
 * transmit messages are in src/sender.
 *
 * A send begins once. It is expanded into recipients with consecutive ordinals,
 * which are divided into ranges. A sender process leases ranges and appends a
 * result for each recipient. The position of a range only moves forward. A
 * recipient with a temporary failure (soft bounce), or with an unknown outcome,
 * goes to the retry queue instead. A recipient has a result, or a queued retry,
 * or neither; never both. The send ends when every recipient has a result.
 *
 * A batch is a unit of leased work: a range, or retries of one send. The batch
 * and its contents are allocated in the arena of the work that leased it.
 */
#pragma once

#include "engine/compose/composer.h"
#include "engine/domains/signing.h"
#include "engine/payloads/payloads.h"
#include "sql/carriers.h"
#include "sql/delivery.h"

enum {
    DELIVERY_RANGE_SIZE = 500,
    DELIVERY_RETRIES_MAX = 200, /* of a batch */
    DELIVERY_LEASE_S = 60,
    DELIVERY_FETCH_MAX_BYTES = 3 * 1024 * 1024, /* custom fields of a batch, and its payloads; a recipient with more is alone */
};

/* ---- Beginning ---- */

/* Whether this installation tracks mail. Of which mail is decided by the brand. */
bool delivery_can_track(const struct work *work) NONNULL(1);

/* The public URL with click.DOMAIN in place of its host; NULL without a public URL. */
const char *delivery_click_url(const struct work *work, const char *domain) NONNULL(1, 2);

/* The base URL of the tracked links of a send; NULL: nothing is tracked. */
const char *delivery_tracking_url(const struct work *work, const struct delivery_send_row *send) NONNULL(1, 2);

/* Begins the send, in the transaction that completes the campaign's job, unless the send was canceled or has ended.
 * `ret_begun` is false when the plan's allowance is too small now, and the send is paused, or when the send is held after a restore
 * (engine/core/restore_holds.h). Retry later. */
MUST_CHECK bool delivery_begin(const struct work *work, int64_t send_id, bool *ret_begun, struct error *err) NONNULL(1, 3, 4);

/* Ends a send that cannot continue, and returns the unused allowance. */
MUST_CHECK bool delivery_give_up(const struct work *work, int64_t send_id, const char *reason, struct error *err) NONNULL(1, 3, 4);

/* ---- Leasing ---- */

enum delivery_outcome {
    DELIVERY_OPEN,      /* no outcome yet */
    DELIVERY_DELIVERED, /* accepted by the relay, or captured */
    DELIVERY_BOUNCED,   /* permanently rejected; reason: hard, block, refused, expired */
    DELIVERY_SKIPPED,   /* must not be mailed */
    DELIVERY_FAILED,    /* could not be composed */
    DELIVERY_HELD,      /* may have arrived; not sent again */
    DELIVERY_LATER,     /* soft bounce: retry at due_us */
};

struct delivery_result {
    enum delivery_outcome outcome;
    bool is_settled;    /* written to the database */
    bool uncertain;     /* an attempt may have arrived without a confirmation */
    bool mailbox_full;  /* expired, and the last reply says that the mailbox is full */
    const char *reason; /* NULL when delivered */
    const char *reply;  /* the relay's last reply; NULL without one */
    const char *relay;  /* NULL without one */
    int64_t attempts;   /* including this one */
    int64_t due_us;     /* DELIVERY_LATER */
};

struct delivery_batch {
    const char *owner; /* the process that leased it */
    int64_t organization_id;
    int64_t brand_id;
    int64_t send_id;
    int64_t from_ordinal;    /* first ordinal of the range; 0: retries; for results: the first of ordinals of one or more ranges */
    const int64_t *ordinals; /* ascending */
    size_t ordinal_count;
    struct opt_int date_us; /* the date of the messages of a range */
    bool is_fresh;          /* the range was never leased before */
    bool has_crashed;       /* a process may have ended while it read this range; always true for retries */
    bool is_part;           /* a part of a range or of its retries: settling it does not close the range */
    bool is_unsure;         /* another process, or an earlier try, may have settled some recipients */
    bool is_for_results;    /* nothing is composed: no fields are read, and the design need not be usable */
    bool is_carrier;        /* of an automation; known before the send is read */
    bool is_abandoned;      /* a former owner disappeared without releasing its lease; what it sent is unknown */
    const struct delivery_send_row *send;
    struct composer_design design;
    const struct delivery_recipients_row *recipients; /* recipients without an outcome */
    struct delivery_result *results;                  /* one for each; delivery_fetch marks those to skip */
    const struct carrier_messages_row *messages;      /* of a carrier: one for each; NULL: no carrier */
    const struct seal_ring *payload_keys;             /* NULL: no recipient has a payload */
    size_t count;
};

/* A kind of work, as a bit for the route and one for the class of the message. */
enum delivery_place {
    DELIVERY_CAPTURED = 0, /* to the capture maildir */
    DELIVERY_RELAYED = 2,
    DELIVERY_URGENT = 1, /* transactional and automation mail; an automation's is urgent in each class */
    DELIVERY_PLACES = 4,
};

/* The work that a sender process can take now. */
struct delivery_lease_request {
    const char *owner;
    int64_t after_brand;     /* the brand served last */
    bool range_first;        /* a range is looked for before retries */
    struct int_list places;  /* the kinds of work that have room; enum delivery_place */
    struct int_list full;    /* brands that have enough in the queue: brand id * DELIVERY_PLACES + place */
    struct int_list put_off; /* sends to exclude for now */
};

/* Leases the next range. The rows of the batch are not fetched yet: its `send` is NULL. */
MUST_CHECK bool delivery_take_range(const struct work *work, const struct delivery_lease_request *request,
                                    struct delivery_batch *ret_batch, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Leases retries that are due. */
MUST_CHECK bool delivery_take_retries(const struct work *work, const struct delivery_lease_request *request,
                                      struct delivery_batch *ret_batch, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Leases a range, or retries that are due. */
MUST_CHECK bool delivery_take_batch(const struct work *work, const struct delivery_lease_request *request,
                                    struct delivery_batch *ret_batch, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Whether the mail of a send goes before that of campaigns. */
bool delivery_is_urgent(const struct delivery_send_row *send) NONNULL(1);

/* Reads the current send and recipients of a batch. When the custom fields or the payloads exceed DELIVERY_FETCH_MAX_BYTES, only
 * the first recipients are read, and the batch becomes a part: the others are leased again after it. Recipients who have
 * unsubscribed, were deleted or are suppressed get the outcome DELIVERY_SKIPPED; mail that is not marketing ignores that they have
 * unsubscribed. Errors: INTERNAL_ERROR, INVALID_REQUEST when the design cannot be used any more. */
MUST_CHECK bool delivery_fetch(const struct work *work, struct delivery_batch *batch, struct error *err) NONNULL(1, 2, 3);

/* Makes the composer of one thread. `work` needs an arena, but no connection. */
MUST_CHECK bool delivery_composer(const struct work *work, const struct delivery_batch *batch, struct composer **ret_composer,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* Composes the message of one recipient. Composing it again gives the same bytes. The arena of `work` is scratch memory.
 * Errors: INVALID_REQUEST when it cannot be composed for this recipient. */
MUST_CHECK bool delivery_compose(const struct work *work, const struct delivery_batch *batch, size_t index,
                                 struct composer *composer, struct bytes *ret_message, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* The return path of a recipient's message, in the arena of `work`; NULL while its domain receives no reports. */
char *delivery_return_path(const struct work *work, const struct delivery_batch *batch, size_t index) NONNULL(1, 2);

/* The stable file name of a recipient's message in the capture maildir. */
char *delivery_message_name(const struct work *work, const struct delivery_batch *batch, size_t index, struct arena *arena)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* ---- Settling ----
 *
 * Locks: the range or the retries, suppressions, send_stats, event_counts, event_rollups, automation_runs, automation_sends,
 * audience_run_nodes, email_usage, trigger_payloads. */

/* Writes the outcomes that are not settled, in one transaction: results, retries, events, statistics and suppressions. The events
 * of a carrier name the message of the run. Runs that wait for a message are woken with its result, and its payload is erased when
 * nothing else reads it. Closes the range when no recipient is open, and ends the send after its last recipient. Results that
 * another process has written stay, and are marked uncertain when this one took over the range and sent as well. Marks the written
 * results as settled. */
MUST_CHECK bool delivery_settle(const struct work *work, struct delivery_batch *batch, struct error *err) NONNULL(1, 2, 3);
