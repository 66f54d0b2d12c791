#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdatomic.h>
#include <stdlib.h>

struct piece *piece_new(enum route route)
{
    static atomic_int_fast64_t serials;
    struct arena *arena = arena_new(0);
    struct piece *piece = arena_alloc(arena, sizeof(*piece));
    piece->arena = arena;
    piece->route = route;
    piece->serial = (int64_t)atomic_fetch_add(&serials, 1) + 1;
    return piece;
}

static void make_attempts(struct sender *sender, struct piece *piece)
{
    const struct delivery_batch *batch = &piece->batch;
    piece->attempts = arena_array(piece->arena, piece->count + 1, sizeof(*piece->attempts));
    for (size_t i = 0; i < piece->count; i++) {
        struct attempt *attempt = &piece->attempts[i];
        attempt->piece = piece;
        if (piece->letter == NULL) {
            attempt->key = (struct journal_key){
                .organization_id = batch->organization_id,
                .brand_id = batch->brand_id,
                .send_id = batch->send_id,
                .ordinal = batch->recipients[i].ordinal,
                .attempts = batch->recipients[i].attempts,
            };
            attempt->state = batch->results[i].outcome == DELIVERY_OPEN ? ATTEMPT_WAITING : ATTEMPT_DECIDED;
        }
        if (attempt->state == ATTEMPT_WAITING)
            piece->waiting++;
        else
            piece->unwritten++;
    }
    piece->decided_at_us = clock_monotonic_us();
    piece->journal_file = journal_file(sender->journal);
}

void queue_add(struct sender *sender, struct piece *piece)
{
    piece->count = piece->batch.count;
    make_attempts(sender, piece);
    struct piece **end = &sender->queue;
    while (*end != NULL)
        end = &(*end)->next;
    *end = piece;
}

void queue_add_first(struct sender *sender, struct piece *piece)
{
    piece->count = 1;
    make_attempts(sender, piece);
    piece->next = sender->queue;
    sender->queue = piece;
}

void queue_remove(struct sender *sender, struct piece *piece)
{
    struct piece **at = &sender->queue;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    int64_t oldest = journal_file(sender->journal);
    for (const struct piece *each = sender->queue; each != NULL; each = each->next)
        if (each->journal_file < oldest)
            oldest = each->journal_file;
    journal_forget(sender->journal, oldest);
}

void queue_move_last(struct sender *sender, struct piece *piece)
{
    struct piece **at = &sender->queue;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    while (*at != NULL)
        at = &(*at)->next;
    *at = piece;
    piece->next = NULL;
}

size_t queue_waiting_batches(const struct sender *sender, enum route route)
{
    size_t count = 0;
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next)
        count += piece->route == route && piece->waiting > 0 && piece->letter == NULL;
    return count;
}

size_t queue_decided_batches(const struct sender *sender)
{
    size_t count = 0;
    for (const struct piece *piece = sender->queue; piece != NULL; piece = piece->next)
        count += piece->letter == NULL && piece->waiting == 0 && piece->in_progress == 0;
    return count;
}

void attempt_start(struct attempt *attempt)
{
    attempt->state = ATTEMPT_IN_PROGRESS;
    attempt->piece->waiting--;
    attempt->piece->in_progress++;
}

void attempt_return(struct sender *sender, struct attempt *attempt)
{
    struct piece *piece = attempt->piece;
    size_t index = (size_t)(attempt - piece->attempts);
    attempt->state = ATTEMPT_WAITING;
    piece->in_progress--;
    piece->waiting++;
    if (index < piece->first_waiting)
        piece->first_waiting = index;
    if (sender->is_stopping || piece->is_lost)
        pthread_cond_broadcast(&sender->decided);
}

void attempt_decide(struct sender *sender, struct attempt *attempt, const struct delivery_result *result)
{
    struct piece *piece = attempt->piece;
    attempt->state = ATTEMPT_DECIDED;
    piece->in_progress--;
    if (piece->unwritten++ == 0)
        piece->decided_at_us = clock_monotonic_us();
    piece->batch.results[attempt - piece->attempts] = *result;
    if (piece->waiting == 0)
        pthread_cond_signal(&sender->room);
    if (piece->waiting == 0 && piece->in_progress == 0)
        pthread_cond_broadcast(&sender->decided);
}

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
