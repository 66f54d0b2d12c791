/*
 * Feeder: keeps the line filled, a few batches for each way out. Retries that
 * are due go before ranges; brands take turns.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"

#include <stdlib.h>

enum { IDLE_WAIT_MS = 500, RECONNECT_WAIT_MS = 500 };
static const int64_t recover_every_us = INT64_C(2) * US_PER_S;
static const int64_t put_off_us = INT64_C(5) * US_PER_S;

struct feeder {
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

static struct held held_in_line(struct sender *sender, struct arena *arena)
{
    struct held held = { .range_count = 0 };
    pthread_mutex_lock(&sender->mutex);
    size_t pieces = 0;
    size_t recipients = 0;
    for (const struct piece *piece = sender->line; piece != NULL; piece = piece->next) {
        pieces++;
        recipients += piece->batch.ordinal_count;
    }
    held.range_sends = arena_array(arena, pieces + 1, sizeof(int64_t));
    held.ranges = arena_array(arena, pieces + 1, sizeof(int64_t));
    held.retry_sends = arena_array(arena, recipients + 1, sizeof(int64_t));
    held.retries = arena_array(arena, recipients + 1, sizeof(int64_t));
    for (const struct piece *piece = sender->line; piece != NULL; piece = piece->next) {
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
static bool give_back_others(struct feeder *feeder, struct error *err)
{
    struct sender *sender = feeder->sender;
    pthread_mutex_lock(&sender->mutex);
    feeder->is_unsure |= sender->has_dropped;
    sender->has_dropped = false;
    pthread_mutex_unlock(&sender->mutex);
    if (!feeder->is_unsure)
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct held held = held_in_line(sender, arena);
    struct delivery_keep_only_params params = {
        .owner = sender->config.owner,
        .range_sends = { held.range_sends, held.range_count },
        .ranges = { held.ranges, held.range_count },
        .retry_sends = { held.retry_sends, held.retry_count },
        .retries = { held.retries, held.retry_count },
    };
    if (!sql_delivery_keep_only(feeder->conn, arena, &params, NULL, err))
        return false;
    feeder->is_unsure = false;
    return true;
}

/* ---- Sends that are left alone for a while ---- */

static struct int_list put_off_now(const struct sender *sender, struct arena *arena)
{
    int64_t *ids = arena_array(arena, LINE_PUT_OFF_MAX, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < LINE_PUT_OFF_MAX; i++)
        if (sender->put_off[i].until_us > clock_monotonic_us())
            ids[count++] = sender->put_off[i].send_id;
    return (struct int_list){ ids, count };
}

static void put_off(struct sender *sender, int64_t send_id)
{
    size_t oldest = 0;
    for (size_t i = 1; i < LINE_PUT_OFF_MAX; i++)
        if (sender->put_off[i].until_us < sender->put_off[oldest].until_us)
            oldest = i;
    sender->put_off[oldest].send_id = send_id;
    sender->put_off[oldest].until_us = clock_monotonic_us() + put_off_us;
}

/* ---- Taking ---- */

/* Who may have been mailed already by a process that is gone without a trace, or while another rule held. */
static void hold_uncertain(const struct sender *sender, struct delivery_batch *batch)
{
    if (!sender->config.rules.hold_uncertain || batch->send->is_sandbox)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->results[i].outcome != DELIVERY_OPEN || !batch->results[i].uncertain)
            continue;
        batch->results[i].outcome = DELIVERY_HELD;
        batch->results[i].reason = "the final reply never came";
    }
}

static bool fetch(struct feeder *feeder, struct piece *piece, struct error *err)
{
    struct work work = sender_work(feeder->sender, piece->arena, feeder->conn);
    struct delivery_batch *batch = &piece->batch;
    if (!delivery_fetch(&work, batch, err))
        return false;
    piece->way = batch->send->is_sandbox ? WAY_OUTBOX : WAY_RELAY;
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    bool is_signed = !batch->send->is_sandbox && !feeder->sender->config.leaves_unsigned;
    if (is_signed && !domain_signing_keys(&work, batch->send->domain_id, piece->arena, &piece->keys, err))
        return false;
    hold_uncertain(feeder->sender, batch);
    return true;
}

static void add(struct feeder *feeder, struct piece *piece)
{
    struct sender *sender = feeder->sender;
    feeder->last_brand = piece->batch.brand_id;
    pthread_mutex_lock(&sender->mutex);
    line_add(sender, piece);
    bool is_decided = piece->waiting == 0;
    pthread_cond_broadcast(&sender->work);
    if (is_decided)
        pthread_cond_broadcast(&sender->decided);
    pthread_mutex_unlock(&sender->mutex);
    if (piece->way == WAY_RELAY)
        hands_wake(sender);
}

/* What cannot be sent now waits, what never can be ends its send; either way others go on. */
static bool handle_failure(struct feeder *feeder, const struct delivery_batch *batch, const struct error *why, struct error *err)
{
    feeder->is_unsure = true;
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    sender_log("sender.fetch", why);
    put_off(feeder->sender, batch->send_id);
    if (error_info(why->code)->retryable || db_error_is_retryable(why))
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(feeder->sender, arena, feeder->conn);
    work.organization_id = batch->organization_id;
    work.brand_id = batch->brand_id;
    const char *reason = arena_printf(arena, "Delivery stopped: %s", why->message);
    return delivery_give_up(&work, batch->send_id, reason, err);
}

static bool take_one(struct feeder *feeder, const struct delivery_lease_request *wish, bool *ret_found, struct error *err)
{
    struct piece *piece = piece_new(WAY_RELAY);
    struct work work = sender_work(feeder->sender, piece->arena, feeder->conn);
    struct error why = { .code = ERR_NONE };
    feeder->is_unsure = true;
    bool took = delivery_take_retries(&work, wish, &piece->batch, ret_found, err) &&
                (*ret_found || delivery_take_range(&work, wish, &piece->batch, ret_found, err));
    if (!took || !*ret_found) {
        feeder->is_unsure = !took;
        arena_free(piece->arena);
        return took;
    }
    bool fetched = fetch(feeder, piece, &why);
    bool handled = fetched || handle_failure(feeder, &piece->batch, &why, err);
    if (fetched) {
        add(feeder, piece);
        feeder->is_unsure = false;
    } else {
        arena_free(piece->arena);
    }
    return handled;
}

static bool recover(struct feeder *feeder, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    bool found = feeder->recovered_at_us == 0 || now_us - feeder->recovered_at_us > recover_every_us;
    while (found && !is_stopping(feeder->sender)) {
        if (!recover_one(feeder->sender, feeder->conn, &found, err))
            return false;
        feeder->recovered_at_us = now_us;
    }
    return true;
}

/* One look for something to send; waits when there is nothing, or no room for it. */
static bool feed(struct feeder *feeder, struct error *err)
{
    struct sender *sender = feeder->sender;
    ARENA_SCOPE arena = arena_new(0);
    struct delivery_lease_request wish = { .owner = sender->config.owner, .after_brand = feeder->last_brand };
    if (!recover(feeder, err) || !give_back_others(feeder, err))
        return false;
    pthread_mutex_lock(&sender->mutex);
    bool has_room = line_decided(sender) < LINE_BATCHES_DECIDED;
    wish.to_outbox = has_room && line_waiting(sender, WAY_OUTBOX) < LINE_BATCHES_WAITING;
    wish.to_relay = has_room && sender->config.relays != NULL && line_waiting(sender, WAY_RELAY) < LINE_BATCHES_WAITING;
    wish.put_off = put_off_now(sender, arena);
    bool is_idle = sender->line == NULL;
    pthread_mutex_unlock(&sender->mutex);
    bool found = false;
    bool wants = wish.to_outbox || wish.to_relay;
    if (wants && !take_one(feeder, &wish, &found, err))
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
    return db_notice_take(feeder->conn, arena, IDLE_WAIT_MS, &got, &notice, err);
}

static bool connect_feeder(struct feeder *feeder, struct error *err)
{
    return feeder->conn != NULL || (installation_connect(feeder->sender->config.installation, &feeder->conn, err) &&
                                    db_listen(feeder->conn, "posthorn_send", err));
}

void *feeder_thread(void *argument)
{
    struct feeder feeder = { .sender = argument };
    while (!is_stopping(feeder.sender)) {
        struct error err = { .code = ERR_NONE };
        if (connect_feeder(&feeder, &err) && feed(&feeder, &err))
            continue;
        sender_log("sender.feeder", &err);
        db_disconnect(feeder.conn);
        feeder.conn = NULL;
        wait_for_room(feeder.sender, RECONNECT_WAIT_MS);
    }
    db_disconnect(feeder.conn);
    return NULL;
}
