/*
 * Result writer: the thread that writes results, retries and events of
 * recipients into the database, one batch in a transaction. It writes a batch
 * when all of it is decided, and what is decided of it every half second, so that
 * a slow relay does not hide the results of others. It also renews the leases
 * and publishes the state of the relays.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

enum { WAIT_MS = 250, RELAYS_JSON_MAX_BYTES = 16 * 1024, LAST_FAILURES_MAX = 3 };
static const int64_t write_after_us = US_PER_S / 2;
static const int64_t renew_every_us = INT64_C(10) * US_PER_S;

struct result_writer {
    struct sender *sender;
    struct db_conn *conn;
    int64_t renew_tried_at_us; /* monotonic */
    bool is_relay_failing[SMTP_MAX_RELAYS];
};

/* ---- Which batch to write, with the mutex held ---- */

/* Whether no attempt of the batch can change any more. */
static bool is_batch_over(const struct sender *sender, const struct queued_batch *batch)
{
    bool none_starts = batch->item.waiting == 0 || batch->is_lease_lost || sender->workers_ended;
    return none_starts && batch->item.in_progress == 0;
}

static bool is_batch_due(const struct sender *sender, const struct queued_batch *batch)
{
    if (batch->is_being_written)
        return false;
    if (is_batch_over(sender, batch))
        return true;
    return batch->unwritten > 0 && clock_monotonic_us() - batch->unwritten_since_us >= write_after_us;
}

static struct queued_batch *find_due_batch(const struct sender *sender)
{
    struct queued_batch *batch = queue_first_batch(sender);
    while (batch != NULL && !is_batch_due(sender, batch))
        batch = queue_next_batch(batch);
    return batch;
}

/* ---- Writing a batch ---- */

/* Results that are decided by now. Workers decide others while these are written. */
static struct delivery_batch copy_decided(const struct queued_batch *queued, struct arena *arena)
{
    struct delivery_batch batch = queued->batch;
    batch.results = arena_array(arena, batch.count + 1, sizeof(*batch.results));
    for (size_t i = 0; i < batch.count; i++)
        if (queued->item.attempts[i].state == ATTEMPT_DECIDED)
            batch.results[i] = queued->batch.results[i];
    return batch;
}

static struct queued_batch *take_due_batch(struct sender *sender, struct arena *arena, struct delivery_batch *ret_decided)
{
    pthread_mutex_lock(&sender->mutex);
    struct queued_batch *queued = find_due_batch(sender);
    if (queued != NULL) {
        *ret_decided = copy_decided(queued, arena);
        queued->is_being_written = true;
    }
    pthread_mutex_unlock(&sender->mutex);
    return queued;
}

/* Gives the number of results that were written now. */
static size_t mark_written(struct queued_batch *queued, const struct delivery_batch *written)
{
    size_t count = 0;
    for (size_t i = 0; i < written->count; i++) {
        struct delivery_result *result = &queued->batch.results[i];
        count += written->results[i].is_settled && !result->is_settled;
        result->is_settled = written->results[i].is_settled;
    }
    return count;
}

/* Returns a batch to the queue after the try to write it, or frees it when it is over. `why`: the error, if it was not written. */
static void finish_batch(struct sender *sender, struct queued_batch *queued, const struct delivery_batch *decided, bool is_written,
                         const struct error *why)
{
    pthread_mutex_lock(&sender->mutex);
    queued->is_being_written = false;
    queued->batch.is_unsure = decided->is_unsure;
    if (is_written)
        queued->unwritten -= mark_written(queued, decided);
    else if (!db_error_is_lost(why)) /* a batch that fails must not block the others */
        queue_move_last(sender, queued);
    queued->unwritten_since_us = clock_monotonic_us();
    bool is_over = is_written && is_batch_over(sender, queued) && queued->unwritten == 0;
    if (is_over) {
        sender->has_dropped_attempts |= queued->item.waiting > 0 || queued->batch.is_part;
        queue_remove(sender, &queued->item);
    }
    refill_wake(sender);
    pthread_mutex_unlock(&sender->mutex);
    if (is_over)
        arena_free(queued->item.arena);
}

/* False in ret_found when no batch is due. */
static bool write_due_batch(struct result_writer *writer, bool *ret_found, struct error *err)
{
    struct sender *sender = writer->sender;
    ARENA_SCOPE arena = arena_new(0);
    struct delivery_batch decided = { .count = 0 };
    struct queued_batch *queued = take_due_batch(sender, arena, &decided);
    *ret_found = queued != NULL;
    if (queued == NULL)
        return true;
    struct work work = sender_work(sender, arena, writer->conn);
    bool is_written = delivery_settle(&work, &decided, err);
    finish_batch(sender, queued, &decided, is_written, err);
    return is_written;
}

/* ---- Leases ---- */

struct renewals {
    struct delivery_renew_ranges_params ranges;
    struct delivery_renew_retries_params retries;
    struct delivery_stopped_sends_params stopped; /* the sends of all batches */
};

static struct renewals renewals_of_queue(struct sender *sender, struct arena *arena)
{
    pthread_mutex_lock(&sender->mutex);
    size_t room = 1;
    for (const struct queued_batch *each = queue_first_batch(sender); each != NULL; each = queue_next_batch(each))
        room++;
    int64_t *brands = arena_array(arena, room, sizeof(*brands));
    int64_t *sends = arena_array(arena, room, sizeof(*sends));
    int64_t *ordinals = arena_array(arena, room, sizeof(*ordinals));
    int64_t *all_brands = arena_array(arena, room, sizeof(*all_brands));
    int64_t *all_sends = arena_array(arena, room, sizeof(*all_sends));
    size_t count = 0;
    size_t all = 0;
    for (const struct queued_batch *each = queue_first_batch(sender); each != NULL; each = queue_next_batch(each)) {
        all_brands[all] = each->batch.brand_id;
        all_sends[all++] = each->batch.send_id;
        if (each->batch.from_ordinal == 0)
            continue;
        brands[count] = each->batch.brand_id;
        sends[count] = each->batch.send_id;
        ordinals[count++] = each->batch.from_ordinal;
    }
    pthread_mutex_unlock(&sender->mutex);
    return (struct renewals){
        .ranges = { { brands, count }, { sends, count }, { ordinals, count }, sender->config.owner, DELIVERY_LEASE_S },
        .retries = { sender->config.owner, DELIVERY_LEASE_S },
        .stopped = { { all_brands, all }, { all_sends, all } },
    };
}

/* A range whose lease was not renewed belongs to another process now, or is closed. Ranges queued since were not asked for. */
static void mark_lost_ranges(struct sender *sender, const struct renewals *asked, const struct delivery_renew_ranges_row *renewed,
                             size_t renewed_count)
{
    for (struct queued_batch *each = queue_first_batch(sender); each != NULL; each = queue_next_batch(each)) {
        bool is_asked = false;
        bool is_renewed = false;
        for (size_t i = 0; i < asked->ranges.send_ids.count; i++)
            is_asked |= asked->ranges.send_ids.items[i] == each->batch.send_id &&
                        asked->ranges.from_ordinals.items[i] == each->batch.from_ordinal;
        for (size_t i = 0; i < renewed_count; i++)
            is_renewed |= renewed[i].send_id == each->batch.send_id && renewed[i].from_ordinal == each->batch.from_ordinal;
        each->is_lease_lost |= is_asked && !is_renewed;
    }
}

static void mark_lost_retries(struct sender *sender)
{
    for (struct queued_batch *each = queue_first_batch(sender); each != NULL; each = queue_next_batch(each))
        each->is_lease_lost |= each->batch.from_ordinal == 0;
}

/* Nothing more of a paused, canceled or given up send leaves. */
static void mark_stopped(struct sender *sender, const struct delivery_stopped_sends_row *stopped, size_t count)
{
    for (struct queued_batch *each = queue_first_batch(sender); each != NULL; each = queue_next_batch(each))
        for (size_t i = 0; i < count; i++)
            each->is_lease_lost |= stopped[i].send_id == each->batch.send_id;
}

/* Retries are lost after a long time without a renewal: another process may have leased them. The statement that renews them
 * returns no rows which would show it, unlike that of ranges. */
static void note_renewal(struct sender *sender, const struct renewals *asked, const struct db_rows *renewed,
                         const struct db_rows *stopped)
{
    pthread_mutex_lock(&sender->mutex);
    mark_stopped(sender, stopped->rows, stopped->count);
    mark_lost_ranges(sender, asked, renewed->rows, renewed->count);
    int64_t now_us = clock_monotonic_us();
    if (now_us - sender->leases_renewed_us >= LEASE_UNRENEWED_MAX_US)
        mark_lost_retries(sender);
    sender->leases_renewed_us = now_us;
    pthread_mutex_unlock(&sender->mutex);
}

/* ---- State of the relays ---- */

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

/* Logs once that a relay fails, and once that it is back. */
static void log_relay_changes(struct result_writer *writer)
{
    struct smtp_relays *relays = writer->sender->config.relays;
    for (size_t i = 0; relays != NULL && i < smtp_relays_count(relays); i++) {
        struct smtp_relay_state state;
        smtp_relay_look(relays, i, &state);
        bool is_failing = state.trouble[0] != '\0';
        if (is_failing == writer->is_relay_failing[i])
            continue;
        writer->is_relay_failing[i] = is_failing;
        if (is_failing)
            log_event(LOG_WARNING, "sender.relay", "%s failed and gets no messages during its backoff: %s", state.name,
                      state.trouble);
        else
            log_event(LOG_INFO, "sender.relay", "%s takes mail again.", state.name);
    }
}

/* ---- Renewing, every ten seconds ---- */

/* Also publishes the relays. */
static bool renew_leases(struct result_writer *writer, struct error *err)
{
    struct sender *sender = writer->sender;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(sender, arena, writer->conn);
    struct renewals renewals = renewals_of_queue(sender, arena);
    struct text_list relays = relay_names(sender, arena);
    struct delivery_sender_seen_params seen = {
        .owner = sender->config.owner,
        .relays = relays,
        .state = relays_json(sender, relays.count, arena),
        .now = work.now_us,
    };
    struct db_batch *statements = db_batch_new(writer->conn, arena);
    size_t renewed = db_batch_add(statements, &delivery_renew_ranges_statement, &renewals.ranges);
    db_batch_add(statements, &delivery_renew_retries_statement, &renewals.retries);
    size_t stopped = db_batch_add(statements, &delivery_stopped_sends_statement, &renewals.stopped);
    db_batch_add(statements, &delivery_sender_seen_statement, &seen);
    db_batch_add(statements, &delivery_senders_forget_statement, NULL);
    if (!db_batch_run(statements, err))
        return false;
    note_renewal(sender, &renewals, db_batch_rows(statements, renewed), db_batch_rows(statements, stopped));
    return true;
}

static bool renew_when_due(struct result_writer *writer, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (writer->renew_tried_at_us != 0 && now_us - writer->renew_tried_at_us < renew_every_us)
        return true;
    writer->renew_tried_at_us = now_us;
    return renew_leases(writer, err);
}

/* ---- The thread ---- */

/* Waits until a batch is due. After a failure it waits in any case. */
static void wait_for_results(struct sender *sender, bool has_failed)
{
    struct timespec until = clock_deadline(WAIT_MS);
    pthread_mutex_lock(&sender->mutex);
    if (has_failed || (find_due_batch(sender) == NULL && !sender->workers_ended))
        pthread_cond_clockwait(&sender->results_ready, &sender->mutex, CLOCK_MONOTONIC, &until);
    bool any_waits = queue_waiting_batches(sender, ROUTE_RELAY) > 0;
    pthread_mutex_unlock(&sender->mutex);
    /* Nothing else wakes the workers when a journal pause ends, or when leases are renewed after a failure. */
    if (any_waits)
        delivery_workers_wake(sender);
}

static bool have_workers_ended(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    bool ended = sender->workers_ended;
    pthread_mutex_unlock(&sender->mutex);
    return ended;
}

static bool renew_and_write(struct result_writer *writer, bool *ret_found, struct error *err)
{
    if (writer->conn == NULL && !installation_connect(writer->sender->config.installation, &writer->conn, err))
        return false;
    return renew_when_due(writer, err) && write_due_batch(writer, ret_found, err);
}

/* At the end: releases the leases, so that other processes need not wait until they end. Journal files may go only when this
 * succeeded with an empty queue. */
static void release_leases(struct result_writer *writer)
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
    int last_failures = 0;
    for (;;) {
        struct error err = { .code = ERR_NONE };
        bool found = false;
        bool is_last = have_workers_ended(writer.sender);
        log_relay_changes(&writer);
        bool worked = renew_and_write(&writer, &found, &err);
        if (!worked) {
            sender_log("sender.result_writer", &err);
            db_disconnect(writer.conn);
            writer.conn = NULL;
            last_failures += is_last;
        }
        if (is_last && ((worked && !found) || last_failures > LAST_FAILURES_MAX))
            break;
        if (!worked || !found)
            wait_for_results(writer.sender, !worked);
    }
    release_leases(&writer);
    db_disconnect(writer.conn);
    return NULL;
}
