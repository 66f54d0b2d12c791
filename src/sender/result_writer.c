/*
 * Settler: writes what became of recipients. A batch is settled when all of it
 * is decided, or every half second as far as it is, so that a slow relay does
 * not hide what has happened. It also renews the leases.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

enum { LOOK_EVERY_MS = 250, RELAYS_JSON_MAX_BYTES = 16 * 1024 };
static const int64_t settle_after_us = US_PER_S / 2;
static const int64_t renew_every_us = INT64_C(10) * US_PER_S;

struct result_writer {
    struct sender *sender;
    struct db_conn *conn;
    int64_t renewed_at_us; /* tried, not necessarily with success */
    bool in_trouble[SMTP_MAX_RELAYS];
};

/* ---- One batch ---- */

static bool is_over(const struct sender *sender, const struct piece *piece)
{
    bool nobody_comes = piece->waiting == 0 || piece->is_lost || sender->workers_ended;
    return piece->letter == NULL && nobody_comes && piece->in_progress == 0;
}

static bool is_due(const struct sender *sender, const struct piece *piece)
{
    if (piece->letter != NULL || piece->is_being_written)
        return false;
    if (is_over(sender, piece))
        return true;
    return piece->unwritten > 0 && clock_monotonic_us() - piece->decided_at_us >= settle_after_us;
}

static struct piece *find_due(const struct sender *sender)
{
    struct piece *piece = sender->queue;
    while (piece != NULL && !is_due(sender, piece))
        piece = piece->next;
    return piece;
}

/* The results as they are now: hands go on deciding others meanwhile. */
static struct delivery_batch snapshot(const struct piece *piece, struct arena *arena)
{
    struct delivery_batch batch = piece->batch;
    batch.results = arena_array(arena, batch.count + 1, sizeof(*batch.results));
    for (size_t i = 0; i < batch.count; i++)
        if (piece->attempts[i].state == ATTEMPT_DECIDED)
            batch.results[i] = piece->batch.results[i];
    return batch;
}

static size_t mark_settled(struct piece *piece, const struct delivery_batch *settled)
{
    size_t count = 0;
    for (size_t i = 0; i < settled->count; i++) {
        struct delivery_result *result = &piece->batch.results[i];
        count += settled->results[i].is_settled && !result->is_settled;
        result->is_settled = settled->results[i].is_settled;
    }
    return count;
}

/* Settles one piece that is due; false in ret_found when none is. */
static bool settle_one(struct result_writer *writer, bool *ret_found, struct error *err)
{
    struct sender *sender = writer->sender;
    ARENA_SCOPE arena = arena_new(0);
    pthread_mutex_lock(&sender->mutex);
    struct piece *piece = find_due(sender);
    struct delivery_batch batch = { .count = 0 };
    *ret_found = piece != NULL;
    if (piece != NULL) {
        batch = snapshot(piece, arena);
        piece->is_being_written = true;
    }
    pthread_mutex_unlock(&sender->mutex);
    if (piece == NULL)
        return true;

    struct work work = sender_work(sender, arena, writer->conn);
    bool settled = delivery_settle(&work, &batch, err);
    pthread_mutex_lock(&sender->mutex);
    piece->is_being_written = false;
    piece->batch.is_unsure = batch.is_unsure;
    if (settled)
        piece->unwritten -= mark_settled(piece, &batch);
    else if (!db_error_is_lost(err)) /* one that cannot be settled does not stand before the others */
        queue_move_last(sender, piece);
    piece->decided_at_us = clock_monotonic_us();
    bool over = settled && is_over(sender, piece) && piece->unwritten == 0;
    if (over) {
        sender->has_dropped_leases |= piece->waiting > 0;
        queue_remove(sender, piece);
    }
    pthread_cond_signal(&sender->room);
    pthread_mutex_unlock(&sender->mutex);
    if (over)
        arena_free(piece->arena);
    return settled;
}

/* ---- Leases ---- */

struct leases {
    struct delivery_renew_ranges_params ranges;
    struct delivery_renew_retries_params retries;
};

static struct leases renewals_in_queue(struct sender *sender, struct arena *arena)
{
    pthread_mutex_lock(&sender->mutex);
    size_t room = 1;
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next)
        room++;
    int64_t *brands = arena_array(arena, room, sizeof(*brands));
    int64_t *sends = arena_array(arena, room, sizeof(*sends));
    int64_t *ordinals = arena_array(arena, room, sizeof(*ordinals));
    size_t count = 0;
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next) {
        if (piece->letter != NULL || piece->batch.from_ordinal == 0)
            continue;
        brands[count] = piece->batch.brand_id;
        sends[count] = piece->batch.send_id;
        ordinals[count++] = piece->batch.from_ordinal;
    }
    pthread_mutex_unlock(&sender->mutex);
    return (struct leases){
        .ranges = { { brands, count }, { sends, count }, { ordinals, count }, sender->config.owner, DELIVERY_LEASE_S },
        .retries = { sender->config.owner, DELIVERY_LEASE_S },
    };
}

/* A range that was in the line before and was not renewed has gone to another process, unless it is closed by now. */
static void mark_lost(struct sender *sender, const struct leases *leases, const struct delivery_renew_ranges_row *kept,
                      size_t kept_count)
{
    pthread_mutex_lock(&sender->mutex);
    for (struct piece *piece = sender->queue; piece != NULL; piece = piece->next) {
        bool asked = false;
        bool renewed = false;
        for (size_t i = 0; i < leases->ranges.send_ids.count; i++)
            asked |= leases->ranges.send_ids.items[i] == piece->batch.send_id &&
                     leases->ranges.from_ordinals.items[i] == piece->batch.from_ordinal;
        for (size_t i = 0; i < kept_count; i++)
            renewed |= kept[i].send_id == piece->batch.send_id && kept[i].from_ordinal == piece->batch.from_ordinal;
        piece->is_lost |= asked && !renewed;
    }
    pthread_mutex_unlock(&sender->mutex);
}

/* ---- How the relays do ---- */

static struct text_list relay_names(const struct sender *sender, struct arena *arena)
{
    size_t count = sender->config.relays != NULL ? smtp_relays_count(sender->config.relays) : 0;
    const char **names = arena_array(arena, count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        struct smtp_relay_state state;
        smtp_relay_look(sender->config.relays, i, &state);
        names[i] = state.name;
    }
    return (struct text_list){ names, count };
}

static const char *relays_json(const struct sender *sender, size_t count, struct arena *arena)
{
    struct buf *out = buf_in_arena(arena, RELAYS_JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++) {
        struct smtp_relay_state state;
        smtp_relay_look(sender->config.relays, i, &state);
        json_object_begin(&json);
        json_member_text(&json, "relay", state.name);
        json_member_int(&json, "connections", state.connections);
        json_member_int(&json, "open", state.open);
        json_member_int(&json, "accepted", state.accepted);
        json_member_int(&json, "refused", state.refused);
        json_member_bool(&json, "resting", state.is_resting);
        if (state.trouble[0] != '\0')
            json_member_text(&json, "trouble", state.trouble);
        json_object_end(&json);
    }
    json_array_end(&json);
    return arena_dup(arena, buf_text(out));
}

/* Says once that a relay is left alone, and once that it is back. */
static void log_relays(struct result_writer *writer)
{
    const struct smtp_relays *relays = writer->sender->config.relays;
    for (size_t i = 0; relays != NULL && i < smtp_relays_count(relays); i++) {
        struct smtp_relay_state state;
        smtp_relay_look(writer->sender->config.relays, i, &state);
        bool in_trouble = state.trouble[0] != '\0';
        if (in_trouble == writer->in_trouble[i])
            continue;
        writer->in_trouble[i] = in_trouble;
        if (in_trouble)
            log_event(LOG_WARNING, "sender.relay", "%s is left alone for a while: %s", state.name, state.trouble);
        else
            log_event(LOG_INFO, "sender.relay", "%s takes mail again.", state.name);
    }
}

static void lose_retries(struct sender *sender)
{
    for (struct piece *piece = sender->queue; piece != NULL; piece = piece->next)
        piece->is_lost |= piece->letter == NULL && piece->batch.from_ordinal == 0;
}

static bool renew(struct result_writer *writer, struct error *err)
{
    struct sender *sender = writer->sender;
    int64_t now_us = clock_monotonic_us();
    if (writer->renewed_at_us != 0 && now_us - writer->renewed_at_us < renew_every_us)
        return true;
    writer->renewed_at_us = now_us;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(sender, arena, writer->conn);
    struct leases leases = renewals_in_queue(sender, arena);
    struct text_list relays = relay_names(sender, arena);
    struct delivery_sender_seen_params seen = {
        .owner = sender->config.owner,
        .relays = relays,
        .state = relays_json(sender, relays.count, arena),
        .now = work.now_us,
    };
    struct db_batch *batch = db_batch_new(writer->conn, arena);
    size_t renewed = db_batch_add(batch, &delivery_renew_ranges_statement, &leases.ranges);
    db_batch_add(batch, &delivery_renew_retries_statement, &leases.retries);
    db_batch_add(batch, &delivery_reclaim_retries_statement, NULL);
    db_batch_add(batch, &delivery_sender_seen_statement, &seen);
    db_batch_add(batch, &delivery_senders_forget_statement, NULL);
    if (!db_batch_run(batch, err))
        return false;
    const struct db_rows *rows = db_batch_rows(batch, renewed);
    mark_lost(sender, &leases, rows->rows, rows->count);
    pthread_mutex_lock(&sender->mutex);
    now_us = clock_monotonic_us();
    if (now_us - sender->leases_renewed_us >=
        LEASE_UNRENEWED_MAX_US) /* others may have taken retries meanwhile; of ranges mark_lost knows */
        lose_retries(sender);
    sender->leases_renewed_us = now_us;
    pthread_mutex_unlock(&sender->mutex);
    return true;
}

/* ---- The thread ---- */

/* Waits for something to settle, or, behind a failure, for better times. */
static void wait_a_little(struct sender *sender, bool behind_failure)
{
    struct timespec until = clock_deadline(LOOK_EVERY_MS);
    pthread_mutex_lock(&sender->mutex);
    if (behind_failure || (find_due(sender) == NULL && !sender->workers_ended))
        pthread_cond_clockwait(&sender->decided, &sender->mutex, CLOCK_MONOTONIC, &until);
    bool any_waits = queue_waiting_batches(sender, ROUTE_RELAY) > 0;
    pthread_mutex_unlock(&sender->mutex);
    /* The pauses of the journal and of leases that were not renewed end without a word. */
    if (any_waits)
        delivery_workers_wake(sender);
}

static bool is_last_round(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    bool last = sender->workers_ended;
    pthread_mutex_unlock(&sender->mutex);
    return last;
}

static bool work_once(struct result_writer *writer, bool *ret_found, struct error *err)
{
    if (writer->conn == NULL && !installation_connect(writer->sender->config.installation, &writer->conn, err))
        return false;
    return renew(writer, err) && settle_one(writer, ret_found, err);
}

/* The leases of a process that ends go back at once, and its journal is of no use any more. */
static void release(struct result_writer *writer)
{
    struct sender *sender = writer->sender;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct delivery_release_params params = { .owner = sender->config.owner };
    bool released = sender->queue == NULL && writer->conn != NULL && sql_delivery_release(writer->conn, arena, &params, NULL, &err);
    if (!released)
        sender_log("sender.release", &err);
    sender->is_released = released;
}

void *result_writer_run(void *argument)
{
    struct result_writer writer = { .sender = argument };
    int failures_at_end = 0;
    for (;;) {
        struct error err = { .code = ERR_NONE };
        bool found = false;
        bool last = is_last_round(writer.sender);
        log_relays(&writer);
        bool worked = work_once(&writer, &found, &err);
        if (!worked) {
            sender_log("sender.settler", &err);
            db_disconnect(writer.conn);
            writer.conn = NULL;
            failures_at_end += last;
        }
        if (last && ((worked && !found) || failures_at_end > 3))
            break;
        if (!worked || !found)
            wait_a_little(writer.sender, !worked);
    }
    release(&writer);
    db_disconnect(writer.conn);
    return NULL;
}
