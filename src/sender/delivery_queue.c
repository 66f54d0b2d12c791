#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Items and their types ---- */

static_assert(offsetof(struct queued_batch, item) == 0, "item_batch casts the header to the batch");
static_assert(offsetof(struct queued_message, item) == 0, "item_single_message casts the header to the message");

static struct queue_item *new_item(size_t size, enum item_kind kind)
{
    static atomic_int_fast64_t serials;
    struct arena *arena = arena_new(0);
    struct queue_item *item = arena_alloc(arena, size);
    item->kind = kind;
    item->route = ROUTE_RELAY;
    item->arena = arena;
    item->serial = (int64_t)atomic_fetch_add(&serials, 1) + 1;
    return item;
}

struct queued_batch *queued_batch_new(void)
{
    return item_batch(new_item(sizeof(struct queued_batch), ITEM_BATCH));
}

struct queued_message *queued_message_new(void)
{
    return item_single_message(new_item(sizeof(struct queued_message), ITEM_SINGLE_MESSAGE));
}

struct queued_batch *item_batch(struct queue_item *item)
{
    if (item->kind != ITEM_BATCH)
        panic("an item of the queue is not a batch");
    return (struct queued_batch *)item;
}

struct queued_message *item_single_message(struct queue_item *item)
{
    if (item->kind != ITEM_SINGLE_MESSAGE)
        panic("an item of the queue is not a single message");
    return (struct queued_message *)item;
}

static struct queued_batch *first_batch_from(struct queue_item *item)
{
    while (item != NULL && item->kind != ITEM_BATCH)
        item = item->next;
    return item != NULL ? item_batch(item) : NULL;
}

struct queued_batch *queue_first_batch(const struct sender *sender)
{
    return first_batch_from(sender->queue);
}

struct queued_batch *queue_next_batch(const struct queued_batch *batch)
{
    return first_batch_from(batch->item.next);
}

/* ---- Adding ---- */

static void make_attempts(struct queue_item *item, size_t count)
{
    item->attempts = arena_array(item->arena, count + 1, sizeof(*item->attempts));
    item->count = count;
    item->waiting = count;
    for (size_t i = 0; i < count; i++)
        item->attempts[i].item = item;
}

/* Recipients whom delivery_fetch has marked, such as the unsubscribed, are decided from the start. */
static void fill_batch_attempts(struct queued_batch *queued)
{
    const struct delivery_batch *batch = &queued->batch;
    for (size_t i = 0; i < batch->count; i++) {
        struct attempt *attempt = &queued->item.attempts[i];
        attempt->key = (struct journal_key){
            .organization_id = batch->organization_id,
            .brand_id = batch->brand_id,
            .send_id = batch->send_id,
            .ordinal = batch->recipients[i].ordinal,
            .attempts = batch->recipients[i].attempts,
        };
        if (batch->results[i].outcome == DELIVERY_OPEN)
            continue;
        attempt->state = ATTEMPT_DECIDED;
        queued->item.waiting--;
        queued->unwritten++;
    }
    queued->unwritten_since_us = clock_monotonic_us();
}

static bool is_urgent(struct queue_item *item)
{
    return item->kind == ITEM_SINGLE_MESSAGE || item_batch(item)->is_urgent;
}

/* Behind all items, or behind all urgent ones. */
static void append_item(struct sender *sender, struct queue_item *item)
{
    struct queue_item **end = &sender->queue;
    while (*end != NULL && (!is_urgent(item) || is_urgent(*end)))
        end = &(*end)->next;
    item->next = *end;
    *end = item;
}

void queue_add_batch(struct sender *sender, struct queued_batch *batch)
{
    make_attempts(&batch->item, batch->batch.count);
    fill_batch_attempts(batch);
    append_item(sender, &batch->item);
}

void queue_add_single_message(struct sender *sender, struct queued_message *message)
{
    make_attempts(&message->item, 1);
    message->item.next = sender->queue;
    sender->queue = &message->item;
}

/* ---- Removing and moving ---- */

static void unlink_item(struct sender *sender, const struct queue_item *item)
{
    struct queue_item **at = &sender->queue;
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
}

/* Whether recovery would need the record of the attempt. A result in the database needs none. */
static bool needs_record(const struct attempt *attempt)
{
    if (journal_mark_file(&attempt->mark) == 0)
        return false;
    return attempt->state != ATTEMPT_DECIDED || attempt->item->kind != ITEM_BATCH ||
           !item_batch(attempt->item)->batch.results[attempt_index(attempt)].is_settled;
}

/* The oldest file that an attempt needs, or `current`. */
static int64_t oldest_needed_file(const struct sender *sender, int64_t current)
{
    int64_t oldest = current;
    for (const struct queue_item *item = sender->queue; item != NULL; item = item->next)
        for (size_t i = 0; i < item->count; i++) {
            int64_t file = journal_mark_file(&item->attempts[i].mark);
            if (file < oldest && needs_record(&item->attempts[i]))
                oldest = file;
        }
    return oldest;
}

static void carry_old_records(struct sender *sender)
{
    for (struct queue_item *item = sender->queue; item != NULL; item = item->next)
        for (size_t i = 0; i < item->count; i++)
            if (needs_record(&item->attempts[i]))
                journal_carry(sender->journal, &item->attempts[i].mark);
}

void queue_trim_journal(struct sender *sender)
{
    /* The current file is asked first: records that come later are in it, or in a later one. */
    int64_t current = journal_current_file(sender->journal);
    int64_t oldest = oldest_needed_file(sender, current);
    if (current - oldest + 1 >= JOURNAL_FILES_BEFORE_CARRY) {
        carry_old_records(sender);
        oldest = oldest_needed_file(sender, current);
    }
    journal_remove_before(sender->journal, oldest);
}

void queue_remove(struct sender *sender, struct queue_item *item)
{
    unlink_item(sender, item);
    queue_trim_journal(sender);
}

void queue_move_last(struct sender *sender, struct queued_batch *batch)
{
    unlink_item(sender, &batch->item);
    append_item(sender, &batch->item);
}

/* ---- Counting ---- */

size_t queue_waiting_batches(const struct sender *sender, enum route route)
{
    size_t count = 0;
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        count += batch->item.route == route && batch->item.waiting > 0;
    return count;
}

static size_t decided_batches(const struct sender *sender)
{
    size_t count = 0;
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        count += batch->item.waiting == 0 && batch->item.in_progress == 0;
    return count;
}

static_assert((DELIVERY_CAPTURED | DELIVERY_RELAYED | DELIVERY_URGENT) == DELIVERY_PLACES - 1, "a place is two bits");

static size_t place_of(const struct queued_batch *batch)
{
    size_t route = batch->item.route == ROUTE_RELAY ? DELIVERY_RELAYED : DELIVERY_CAPTURED;
    return route + (batch->is_urgent ? DELIVERY_URGENT : 0);
}

struct place_counts {
    size_t waiting;
    size_t unblocked;
};

static struct place_counts count_place(const struct sender *sender, size_t place)
{
    struct place_counts counts = { .waiting = 0 };
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch)) {
        if (batch->item.waiting == 0 || place_of(batch) != place)
            continue;
        counts.waiting++;
        counts.unblocked += !batch->is_blocked;
    }
    return counts;
}

static bool is_place_open(size_t place, struct place_counts counts)
{
    size_t bound = place & DELIVERY_URGENT ? QUEUE_URGENT_PLACES_MAX : QUEUE_PLACES_MAX;
    return counts.unblocked < bound && counts.waiting < QUEUE_WAITING_MAX;
}

/* Bytes of the batches of a brand, or of all with brand 0. Batches without a waiting attempt count, too. */
static size_t queue_bytes(const struct sender *sender, int64_t brand_id)
{
    size_t bytes = 0;
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        if (brand_id == 0 || batch->batch.brand_id == brand_id)
            bytes += arena_used_bytes(batch->item.arena);
    return bytes;
}

/* Whether a brand has enough batches of a kind, or enough bytes. */
static bool is_brand_full(const struct sender *sender, int64_t brand_id, size_t place, struct place_counts counts)
{
    size_t count = 0;
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        count += batch->item.waiting > 0 && place_of(batch) == place && batch->batch.brand_id == brand_id;
    return count >= (counts.waiting < QUEUE_CROWDED ? QUEUE_OF_BRAND_MAX : 1) ||
           queue_bytes(sender, brand_id) >= QUEUE_OF_BRAND_MAX_BYTES;
}

static bool has_room_at_all(const struct sender *sender)
{
    return decided_batches(sender) < QUEUE_BATCHES_DECIDED_MAX && queue_bytes(sender, 0) < QUEUE_MAX_BYTES;
}

void queue_find_room(const struct sender *sender, bool has_relays, struct arena *arena, struct delivery_lease_request *request)
{
    struct place_counts counts[DELIVERY_PLACES];
    int64_t *places = arena_array(arena, DELIVERY_PLACES, sizeof(*places));
    bool has_room = has_room_at_all(sender);
    size_t batches = 0;
    request->places = (struct int_list){ places, 0 };
    for (size_t place = 0; place < DELIVERY_PLACES; place++) {
        counts[place] = count_place(sender, place);
        if (has_room && (has_relays || !(place & DELIVERY_RELAYED)) && is_place_open(place, counts[place]))
            places[request->places.count++] = (int64_t)place;
    }
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        batches++;
    int64_t *full = arena_array(arena, batches + 1, sizeof(*full));
    request->full = (struct int_list){ full, 0 };
    for (const struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch))
        if (is_brand_full(sender, batch->batch.brand_id, place_of(batch), counts[place_of(batch)]))
            full[request->full.count++] = batch->batch.brand_id * DELIVERY_PLACES + (int64_t)place_of(batch);
}

/* ---- Attempts ---- */

size_t attempt_index(const struct attempt *attempt)
{
    return (size_t)(attempt - attempt->item->attempts);
}

void refill_wake(struct sender *sender)
{
    uint64_t one = 1;
    ssize_t written = write(sender->refill_fd, &one, sizeof(one));
    (void)written; /* a full counter wakes as well */
}

void batch_set_blocked(struct sender *sender, struct queued_batch *batch, bool is_blocked)
{
    if (is_blocked && !batch->is_blocked)
        refill_wake(sender);
    batch->is_blocked = is_blocked;
}

void attempt_start(struct sender *sender, struct attempt *attempt)
{
    attempt->state = ATTEMPT_IN_PROGRESS;
    attempt->item->in_progress++;
    if (--attempt->item->waiting == 0 && attempt->item->kind == ITEM_BATCH)
        refill_wake(sender);
}

void attempt_return(struct sender *sender, struct attempt *attempt)
{
    struct queue_item *item = attempt->item;
    size_t index = attempt_index(attempt);
    attempt->state = ATTEMPT_WAITING;
    item->in_progress--;
    item->waiting++;
    if (index < item->first_waiting)
        item->first_waiting = index;
    bool is_dropped = item->kind == ITEM_BATCH && item_batch(item)->is_lease_lost;
    if (sender->is_stopping || is_dropped)
        pthread_cond_broadcast(&sender->results_ready);
}

void attempt_decide(struct sender *sender, struct attempt *attempt, const struct delivery_result *result)
{
    struct queued_batch *batch = item_batch(attempt->item);
    attempt->state = ATTEMPT_DECIDED;
    batch->item.in_progress--;
    if (batch->unwritten++ == 0)
        batch->unwritten_since_us = clock_monotonic_us();
    batch->batch.results[attempt_index(attempt)] = *result;
    if (batch->item.waiting == 0 && batch->item.in_progress == 0)
        pthread_cond_broadcast(&sender->results_ready);
}

/* ---- Single messages ---- */

bool single_message_is_wanted(struct sender *sender, const struct queued_message *message)
{
    pthread_mutex_lock(&sender->mutex);
    bool wanted = !message->is_caller_gone;
    pthread_mutex_unlock(&sender->mutex);
    return wanted;
}

void single_message_end(struct sender *sender, struct queued_message *message, const struct smtp_outcome *outcome)
{
    pthread_mutex_lock(&sender->mutex);
    bool is_caller_gone = message->is_caller_gone;
    if (outcome->end == SMTP_NOT_SENT && !sender->is_stopping && !is_caller_gone) {
        attempt_return(sender, &message->item.attempts[0]);
    } else {
        message->outcome = *outcome;
        message->is_done = true;
        pthread_cond_broadcast(&sender->results_ready);
    }
    if (is_caller_gone)
        queue_remove(sender, &message->item);
    pthread_mutex_unlock(&sender->mutex);
    if (is_caller_gone)
        arena_free(message->item.arena);
}

/* ---- For every thread ---- */

struct work sender_work(const struct sender *sender, struct arena *arena, struct db_conn *conn)
{
    return (struct work){ .engine = sender->engine, .arena = arena, .conn = conn, .now_us = clock_now_us() };
}

void sender_log(const char *event, const struct error *err)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, event);
    log_error_members(&line, err);
    log_end(&line);
}
