/*
 * Feeder: keeps the line filled, a few batches for each way out. Retries that
 * are due go before ranges; brands take turns.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"

#include <stdlib.h>

enum { IDLE_WAIT_MS = 500, RECONNECT_WAIT_MS = 500 };
static const int64_t recover_every_us = INT64_C(2) * US_PER_S;
static const int64_t defer_us = INT64_C(5) * US_PER_S;

struct refill {
    struct sender *sender;
    struct db_conn *conn;
    bool is_unsure; /* something may be leased that is not in the line */
    int64_t last_brand;
    int64_t recovered_at_us;
};

static bool is_stopping(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    bool stopping = sender->is_stopping;
    pthread_mutex_unlock(&sender->mutex);
    return stopping;
}

static void wait_for_room(struct sender *sender, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);
    pthread_mutex_lock(&sender->mutex);
    if (!sender->is_stopping)
        pthread_cond_clockwait(&sender->room, &sender->mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&sender->mutex);
}

/* ---- Leases ---- */

struct held {
    int64_t *range_sends;
    int64_t *ranges;
    size_t range_count;
    int64_t *retry_sends;
    int64_t *retries;
    size_t retry_count;
};

static struct held leases_in_queue(struct sender *sender, struct arena *arena)
{
    struct held held = { .range_count = 0 };
    pthread_mutex_lock(&sender->mutex);
    size_t pieces = 0;
    size_t recipients = 0;
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next) {
        pieces++;
        recipients += piece->batch.ordinal_count;
    }
    held.range_sends = arena_array(arena, pieces + 1, sizeof(int64_t));
    held.ranges = arena_array(arena, pieces + 1, sizeof(int64_t));
    held.retry_sends = arena_array(arena, recipients + 1, sizeof(int64_t));
    held.retries = arena_array(arena, recipients + 1, sizeof(int64_t));
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next) {
        const struct delivery_batch *batch = &piece->batch;
        if (piece->letter != NULL)
            continue;
        if (batch->from_ordinal > 0) {
            held.range_sends[held.range_count] = batch->send_id;
            held.ranges[held.range_count++] = batch->from_ordinal;
            continue;
        }
        for (size_t i = 0; i < batch->ordinal_count; i++) {
            held.retry_sends[held.retry_count] = batch->send_id;
            held.retries[held.retry_count++] = batch->ordinals[i];
        }
    }
    pthread_mutex_unlock(&sender->mutex);
    return held;
}

/* Behind a failure nobody knows what was leased; whatever is not in the line goes back. */
static bool give_back_others(struct refill *refill, struct error *err)
{
    struct sender *sender = refill->sender;
    pthread_mutex_lock(&sender->mutex);
    refill->is_unsure |= sender->has_dropped_leases;
    sender->has_dropped_leases = false;
    pthread_mutex_unlock(&sender->mutex);
    if (!refill->is_unsure)
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct held held = leases_in_queue(sender, arena);
    struct delivery_keep_only_params params = {
        .owner = sender->config.owner,
        .range_sends = { held.range_sends, held.range_count },
        .ranges = { held.ranges, held.range_count },
        .retry_sends = { held.retry_sends, held.retry_count },
        .retries = { held.retries, held.retry_count },
    };
    if (!sql_delivery_keep_only(refill->conn, arena, &params, NULL, err))
        return false;
    refill->is_unsure = false;
    return true;
}

/* ---- Sends that are left alone for a while ---- */

static struct int_list deferred_sends_now(const struct sender *sender, struct arena *arena)
{
    int64_t *ids = arena_array(arena, QUEUE_DEFERRED_SENDS_MAX, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < QUEUE_DEFERRED_SENDS_MAX; i++)
        if (sender->deferred_sends[i].until_us > clock_monotonic_us())
            ids[count++] = sender->deferred_sends[i].send_id;
    return (struct int_list){ ids, count };
}

static void defer_send(struct sender *sender, int64_t send_id)
{
    size_t oldest = 0;
    for (size_t i = 1; i < QUEUE_DEFERRED_SENDS_MAX; i++)
        if (sender->deferred_sends[i].until_us < sender->deferred_sends[oldest].until_us)
            oldest = i;
    sender->deferred_sends[oldest].send_id = send_id;
    sender->deferred_sends[oldest].until_us = clock_monotonic_us() + defer_us;
}

/* ---- Taking ---- */

/* Who may have been mailed already by a process that is gone without a trace, or while another rule held. */
static void hold_uncertain(const struct sender *sender, struct delivery_batch *batch)
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

static bool fetch(struct refill *refill, struct piece *piece, struct error *err)
{
    struct work work = sender_work(refill->sender, piece->arena, refill->conn);
    struct delivery_batch *batch = &piece->batch;
    if (!delivery_fetch(&work, batch, err))
        return false;
    piece->route = batch->send->is_sandbox ? ROUTE_CAPTURE : ROUTE_RELAY;
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    bool is_signed = !batch->send->is_sandbox && !refill->sender->config.leaves_unsigned;
    if (is_signed && !domain_signing_keys(&work, batch->send->domain_id, piece->arena, &piece->keys, err))
        return false;
    hold_uncertain(refill->sender, batch);
    return true;
}

static void add(struct refill *refill, struct piece *piece)
{
    struct sender *sender = refill->sender;
    refill->last_brand = piece->batch.brand_id;
    pthread_mutex_lock(&sender->mutex);
    queue_add(sender, piece);
    bool is_decided = piece->waiting == 0;
    pthread_cond_broadcast(&sender->work);
    if (is_decided)
        pthread_cond_broadcast(&sender->decided);
    pthread_mutex_unlock(&sender->mutex);
    if (piece->route == ROUTE_RELAY)
        delivery_workers_wake(sender);
}

/* What cannot be sent now waits, what never can be ends its send; either way others go on. */
static bool handle_failure(struct refill *refill, const struct delivery_batch *batch, const struct error *why, struct error *err)
{
    refill->is_unsure = true;
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    sender_log("sender.fetch", why);
    defer_send(refill->sender, batch->send_id);
    if (error_info(why->code)->retryable || db_error_is_retryable(why))
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(refill->sender, arena, refill->conn);
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    const char *reason = arena_printf(arena, "Delivery stopped: %s", why->message);
    return delivery_give_up(&work, batch->send_id, reason, err);
}

static bool take_one(struct refill *refill, const struct delivery_wish *wish, bool *ret_found, struct error *err)
{
    struct piece *piece = piece_new(ROUTE_RELAY);
    struct work work = sender_work(refill->sender, piece->arena, refill->conn);
    struct error why = { .code = ERR_NONE };
    refill->is_unsure = true;
    bool took = delivery_take_retries(&work, wish, &piece->batch, ret_found, err) &&
                (*ret_found || delivery_take_range(&work, wish, &piece->batch, ret_found, err));
    if (!took || !*ret_found) {
        refill->is_unsure = !took;
        arena_free(piece->arena);
        return took;
    }
    bool fetched = fetch(refill, piece, &why);
    bool handled = fetched || handle_failure(refill, &piece->batch, &why, err);
    if (fetched) {
        add(refill, piece);
        refill->is_unsure = false;
    } else {
        arena_free(piece->arena);
    }
    return handled;
}

static bool recover(struct refill *refill, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    bool found = refill->recovered_at_us == 0 || now_us - refill->recovered_at_us > recover_every_us;
    while (found && !is_stopping(refill->sender)) {
        if (!recover_one(refill->sender, refill->conn, &found, err))
            return false;
        refill->recovered_at_us = now_us;
    }
    return true;
}

/* One look for something to send; waits when there is nothing, or no room for it. */
static bool feed(struct refill *refill, struct error *err)
{
    struct sender *sender = refill->sender;
    ARENA_SCOPE arena = arena_new(0);
    struct delivery_wish wish = { .owner = sender->config.owner, .after_brand = refill->last_brand };
    if (!recover(refill, err) || !give_back_others(refill, err))
        return false;
    pthread_mutex_lock(&sender->mutex);
    bool has_room = queue_decided_batches(sender) < QUEUE_BATCHES_DECIDED_MAX;
    wish.to_outbox = has_room && queue_waiting_batches(sender, ROUTE_CAPTURE) < QUEUE_BATCHES_WAITING_MAX;
    wish.to_relay =
        has_room && sender->config.relays != NULL && queue_waiting_batches(sender, ROUTE_RELAY) < QUEUE_BATCHES_WAITING_MAX;
    wish.put_off = deferred_sends_now(sender, arena);
    bool is_idle = sender->queue == NULL;
    pthread_mutex_unlock(&sender->mutex);
    bool found = false;
    bool wants = wish.to_outbox || wish.to_relay;
    if (wants && !take_one(refill, &wish, &found, err))
        return false;
    if (found)
        return true;
    /* Full, or the line holds work that may make room at any moment: a notification would wake too late. */
    if (!wants || !is_idle) {
        wait_for_room(sender, IDLE_WAIT_MS);
        return true;
    }
    struct db_notice notice;
    bool got;
    return db_notice_take(refill->conn, arena, IDLE_WAIT_MS, &got, &notice, err);
}

static bool connect_refill(struct refill *refill, struct error *err)
{
    return refill->conn != NULL || (installation_connect(refill->sender->config.installation, &refill->conn, err) &&
                                    db_listen(refill->conn, "posthorn_send", err));
}

void *refill_run(void *argument)
{
    struct refill refill = { .sender = argument };
    while (!is_stopping(refill.sender)) {
        struct error err = { .code = ERR_NONE };
        if (connect_refill(&refill, &err) && feed(&refill, &err))
            continue;
        sender_log("sender.feeder", &err);
        db_disconnect(refill.conn);
        refill.conn = NULL;
        wait_for_room(refill.sender, RECONNECT_WAIT_MS);
    }
    db_disconnect(refill.conn);
    return NULL;
}
