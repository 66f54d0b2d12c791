/*
 * Refill thread: keeps the delivery queue filled. It leases a few batches for
 * each route: due retries before ranges, brands in turns. It reads their
 * recipients as they are now. It also starts the recovery of journals that ended
 * processes left, and frees the leases of processes that left none.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/text.h"
#include "sender/lease_expiry.h"
#include "sender/restore_guard.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { IDLE_WAIT_MS = 500, RECONNECT_WAIT_MS = 500, DEFERRED_SENDS_MAX = 64 };
static const int64_t recover_every_us = INT64_C(2) * US_PER_S;
static const int64_t release_strays_every_us = INT64_C(60) * US_PER_S;
static const int64_t defer_send_us = INT64_C(5) * US_PER_S;

struct refill {
    struct sender *sender;
    struct db_conn *conn;
    bool may_hold_strays;   /* this process may have leases of batches that are not in the queue */
    int64_t released_at_us; /* monotonic; the last release of stray leases */
    int64_t last_brand;
    bool took_retries;       /* in the last batch: a range comes next, so that due retries do not hold up first attempts */
    int64_t recovered_at_us; /* monotonic */
    int64_t guarded_at_us;   /* monotonic; the last check of the restore guard */
    struct lease_expiry expiry;
    struct {
        int64_t send_id;
        int64_t until_us; /* monotonic */
    } deferred_sends[DEFERRED_SENDS_MAX];
};

static bool refill_is_stopping(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    bool stopping = sender->is_stopping;
    pthread_mutex_unlock(&sender->mutex);
    return stopping;
}

/* Waits until the queue has room or the database has something new. `database_fd` is -1 without a connection. */
static void wait_until_wanted(struct sender *sender, int database_fd, int wait_ms)
{
    uint64_t count;
    struct pollfd fds[] = { { .fd = sender->refill_fd, .events = POLLIN }, { .fd = database_fd, .events = POLLIN } };
    if (poll(fds, ARRAY_COUNT(fds), wait_ms) > 0 && (fds[0].revents & POLLIN) && read(sender->refill_fd, &count, sizeof(count)) < 0)
        return; /* nothing was there after all */
}

/* ---- Stray leases ---- */

struct queued_leases {
    int64_t *range_sends;
    int64_t *ranges;
    size_t range_count;
    int64_t *retry_sends;
    int64_t *retries;
    size_t retry_count;
};

static void add_leases(struct queued_leases *leases, const struct delivery_batch *batch)
{
    if (batch->from_ordinal > 0) {
        leases->range_sends[leases->range_count] = batch->send_id;
        leases->ranges[leases->range_count++] = batch->from_ordinal;
        return;
    }
    for (size_t i = 0; i < batch->ordinal_count; i++) {
        leases->retry_sends[leases->retry_count] = batch->send_id;
        leases->retries[leases->retry_count++] = batch->ordinals[i];
    }
}

static struct queued_leases leases_of_queue(struct sender *sender, struct arena *arena)
{
    struct queued_leases leases = { .range_count = 0 };
    pthread_mutex_lock(&sender->mutex);
    size_t batches = 0;
    size_t recipients = 0;
    for (const struct queued_batch *queued = queue_first_batch(sender); queued != NULL; queued = queue_next_batch(queued)) {
        batches++;
        recipients += queued->batch.ordinal_count;
    }
    leases.range_sends = arena_array(arena, batches + 1, sizeof(int64_t));
    leases.ranges = arena_array(arena, batches + 1, sizeof(int64_t));
    leases.retry_sends = arena_array(arena, recipients + 1, sizeof(int64_t));
    leases.retries = arena_array(arena, recipients + 1, sizeof(int64_t));
    for (const struct queued_batch *queued = queue_first_batch(sender); queued != NULL; queued = queue_next_batch(queued))
        add_leases(&leases, &queued->batch);
    pthread_mutex_unlock(&sender->mutex);
    return leases;
}

/* After a failure it is unknown what was leased, so every lease without a batch in the queue is released. */
static bool release_stray_leases(struct refill *refill, struct error *err)
{
    struct sender *sender = refill->sender;
    pthread_mutex_lock(&sender->mutex);
    refill->may_hold_strays |= sender->has_dropped_attempts;
    sender->has_dropped_attempts = false;
    pthread_mutex_unlock(&sender->mutex);
    /* A statement of a broken connection may take a lease at any time after the last release. */
    int64_t now_us = clock_monotonic_us();
    if (!refill->may_hold_strays && now_us - refill->released_at_us < release_strays_every_us)
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct queued_leases leases = leases_of_queue(sender, arena);
    struct delivery_keep_only_params params = {
        .owner = sender->config.owner,
        .range_sends = { leases.range_sends, leases.range_count },
        .ranges = { leases.ranges, leases.range_count },
        .retry_sends = { leases.retry_sends, leases.retry_count },
        .retries = { leases.retries, leases.retry_count },
    };
    if (!sql_delivery_keep_only(refill->conn, arena, &params, NULL, err))
        return false;
    refill->may_hold_strays = false;
    refill->released_at_us = now_us;
    return true;
}

/* ---- Deferred sends ---- */

static struct int_list deferred_sends_now(const struct refill *refill, struct arena *arena)
{
    int64_t *ids = arena_array(arena, DEFERRED_SENDS_MAX, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < DEFERRED_SENDS_MAX; i++)
        if (refill->deferred_sends[i].until_us > clock_monotonic_us())
            ids[count++] = refill->deferred_sends[i].send_id;
    return (struct int_list){ ids, count };
}

/* Nothing of this send is leased for a while. Overwrites the oldest entry. */
static void defer_send(struct refill *refill, int64_t send_id)
{
    size_t oldest = 0;
    for (size_t i = 1; i < DEFERRED_SENDS_MAX; i++)
        if (refill->deferred_sends[i].until_us < refill->deferred_sends[oldest].until_us)
            oldest = i;
    refill->deferred_sends[oldest].send_id = send_id;
    refill->deferred_sends[oldest].until_us = clock_monotonic_us() + defer_send_us;
}

/* ---- Leasing a batch ---- */

/* A recipient is uncertain here when its process ended without a journal, or when --uncertain was not hold at its last attempt. */
static void hold_uncertain_recipients(const struct sender *sender, struct delivery_batch *batch)
{
    if (!sender->config.retry_policy.hold_uncertain || batch->send->is_sandbox)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->results[i].outcome != DELIVERY_OPEN || !batch->results[i].uncertain)
            continue;
        batch->results[i].outcome = DELIVERY_HELD;
        batch->results[i].reason = "the final reply never came";
    }
}

struct fetching {
    struct refill *refill;
    struct queued_batch *queued;
};

static bool fetch_batch(void *context, struct error *err)
{
    struct refill *refill = ((const struct fetching *)context)->refill;
    struct queued_batch *queued = ((const struct fetching *)context)->queued;
    struct work work = sender_work(refill->sender, queued->item.arena, refill->conn);
    struct delivery_batch *batch = &queued->batch;
    if (!delivery_fetch(&work, batch, err))
        return false;
    queued->item.route = batch->send->is_sandbox ? ROUTE_CAPTURE : ROUTE_RELAY;
    queued->is_urgent = delivery_is_urgent(batch->send);
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    bool is_signed = !batch->send->is_sandbox && !refill->sender->config.leaves_unsigned;
    if (is_signed && !domain_signing_keys(&work, batch->send->domain_id, work.arena, &queued->keys, err))
        return false;
    hold_uncertain_recipients(refill->sender, batch);
    return true;
}

/* Reads the recipients of a batch. The crash slot names its range meanwhile; that of retries is the range of the first one. */
static bool read_batch(struct refill *refill, struct queued_batch *queued, struct error *err)
{
    const struct delivery_batch *batch = &queued->batch;
    int64_t first = batch->ordinals[0];
    struct crash_slot *slot = crash_slot_of(refill->sender->slots, SLOT_OF_REFILL);
    crash_slot_fill(slot, CRASH_SLOT_RANGE, batch->brand_id, batch->send_id, first);
    struct fetching fetching = { refill, queued };
    bool done = guard_run(fetch_batch, &fetching, "batch of recipients", err);
    crash_slot_empty(slot);
    struct delivery_forget_crashes_params forget = { .brand_id = batch->brand_id, .send_id = batch->send_id, .ordinal = first };
    return done && (!batch->has_crashed || sql_delivery_forget_crashes(refill->conn, queued->item.arena, &forget, NULL, err));
}

static void enqueue_batch(struct refill *refill, struct queued_batch *queued)
{
    struct sender *sender = refill->sender;
    refill->last_brand = queued->batch.brand_id;
    refill->took_retries = queued->batch.from_ordinal == 0;
    pthread_mutex_lock(&sender->mutex);
    queue_add_batch(sender, queued);
    bool is_decided = queued->item.waiting == 0;
    bool is_for_relay = queued->item.route == ROUTE_RELAY;
    pthread_cond_broadcast(&sender->capture_wanted);
    if (is_decided)
        pthread_cond_broadcast(&sender->results_ready);
    pthread_mutex_unlock(&sender->mutex);
    if (is_for_relay)
        delivery_workers_wake(sender);
}

static bool set_aside_batch(struct refill *refill, const struct delivery_batch *batch, const char *reason, struct error *err)
{
    struct set_aside aside = {
        .owner = refill->sender->config.owner,
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .ordinals = { batch->ordinals, batch->ordinal_count },
        .reason = reason,
    };
    return set_aside_recipients(refill->sender, refill->conn, &aside, err);
}

/* Defers a send whose batch could not be read, so that others go on. An error that will not pass ends the send; a batch that is too
 * large is set aside. A carrier does not end: its batch is set aside. */
static bool handle_fetch_failure(struct refill *refill, const struct delivery_batch *batch, const struct error *why,
                                 struct error *err)
{
    refill->may_hold_strays = true;
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    sender_log("sender.fetch", why);
    if (why->code == ERR_PAYLOAD_TOO_LARGE)
        return set_aside_batch(refill, batch, "the recipients of this range need more memory than one batch may use", err);
    defer_send(refill, batch->send_id);
    if (error_info(why->code)->retryable || db_error_is_retryable(why))
        return true;
    if (batch->is_carrier)
        return set_aside_batch(refill, batch, why->message, err);
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(refill->sender, arena, refill->conn);
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    const char *reason = arena_printf(arena, "Delivery stopped: %s", why->message);
    return delivery_give_up(&work, batch->send_id, reason, err);
}

static bool lease_batch(struct refill *refill, const struct delivery_lease_request *request, bool *ret_found, struct error *err)
{
    struct queued_batch *queued = queued_batch_new();
    struct work work = sender_work(refill->sender, queued->item.arena, refill->conn);
    struct error why = { .code = ERR_NONE };
    refill->may_hold_strays = true;
    bool took = delivery_take_batch(&work, request, &queued->batch, ret_found, err);
    if (!took || !*ret_found) {
        refill->may_hold_strays = !took;
        arena_free(queued->item.arena);
        return took;
    }
    if (read_batch(refill, queued, &why)) {
        /* Retries that were not read have a lease of this process, and no batch. */
        refill->may_hold_strays = queued->batch.is_part && queued->batch.from_ordinal == 0;
        enqueue_batch(refill, queued);
        return true;
    }
    bool handled = handle_fetch_failure(refill, &queued->batch, &why, err);
    arena_free(queued->item.arena);
    return handled;
}

/* ---- The thread ---- */

/* Reads the journals that ended processes left, and frees the leases of those without a journal: every two seconds. */
static bool recover_leases(struct refill *refill, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (refill->recovered_at_us != 0 && now_us - refill->recovered_at_us <= recover_every_us)
        return true;
    for (bool found = true; found && !refill_is_stopping(refill->sender);)
        if (!recover_journal(refill->sender, refill->conn, &found, err))
            return false;
    if (!lease_expiry_pass(&refill->expiry, &refill->sender->journal_location, refill->conn, err))
        return false;
    refill->recovered_at_us = now_us;
    return true;
}

/* The first check was made before the threads were started. */
static bool guard_restore_again(struct refill *refill, struct arena *arena, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (refill->guarded_at_us != 0 && now_us - refill->guarded_at_us < RESTORE_MOVE_US)
        return true;
    bool is_first = refill->guarded_at_us == 0;
    refill->guarded_at_us = now_us;
    struct work work = sender_work(refill->sender, arena, refill->conn);
    return is_first || restore_guard_pass(&work, refill->sender->config.data_dir, err);
}

/* With the mutex held. */
static struct delivery_lease_request make_request(const struct refill *refill, struct arena *arena)
{
    const struct sender *sender = refill->sender;
    struct delivery_lease_request request = {
        .owner = sender->config.owner,
        .after_brand = refill->last_brand,
        .range_first = refill->took_retries,
        .put_off = deferred_sends_now(refill, arena),
    };
    queue_find_room(sender, sender->config.relays != NULL, arena, &request);
    return request;
}

/* A notification may have come with the reply to a statement; then nothing of it is left in the socket. */
static bool wait_for_work(struct refill *refill, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct db_notice notice;
    bool got;
    if (!db_notice_take(refill->conn, arena, 0, &got, &notice, err))
        return false;
    if (!got)
        wait_until_wanted(refill->sender, db_socket(refill->conn), IDLE_WAIT_MS);
    return true;
}

/* Leases a batch, or waits when the queue is full or the database has nothing to send. */
static bool refill_once(struct refill *refill, struct error *err)
{
    struct sender *sender = refill->sender;
    ARENA_SCOPE arena = arena_new(0);
    if (!guard_restore_again(refill, arena, err) || !recover_leases(refill, err) || !release_stray_leases(refill, err))
        return false;
    pthread_mutex_lock(&sender->mutex);
    struct delivery_lease_request request = make_request(refill, arena);
    pthread_mutex_unlock(&sender->mutex);
    bool found = false;
    if (request.places.count > 0 && !lease_batch(refill, &request, &found, err))
        return false;
    return found || wait_for_work(refill, err);
}

static bool refill_connect(struct refill *refill, struct error *err)
{
    return refill->conn != NULL || (installation_connect(refill->sender->config.installation, &refill->conn, err) &&
                                    db_listen(refill->conn, "posthorn_send", err));
}

void *refill_run(void *argument)
{
    struct refill refill = { .sender = argument };
    while (!refill_is_stopping(refill.sender)) {
        struct error err = { .code = ERR_NONE };
        if (refill_connect(&refill, &err) && refill_once(&refill, &err))
            continue;
        sender_log("sender.refill", &err);
        db_disconnect(refill.conn);
        refill.conn = NULL;
        wait_until_wanted(refill.sender, -1, RECONNECT_WAIT_MS);
    }
    db_disconnect(refill.conn);
    lease_expiry_end(&refill.expiry);
    return NULL;
}
