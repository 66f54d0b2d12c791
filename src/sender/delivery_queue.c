#include "sender/delivery_queue.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdatomic.h>
#include <stdlib.h>

struct piece *piece_new(enum way way)
{
    static atomic_int_fast64_t serials;
    struct arena *arena = arena_new(0);
    struct piece *piece = arena_alloc(arena, sizeof(*piece));
    piece->arena = arena;
    piece->way = way;
    piece->serial = (int64_t)atomic_fetch_add(&serials, 1) + 1;
    return piece;
}

static void make_slots(struct sender *sender, struct piece *piece)
{
    const struct delivery_batch *batch = &piece->batch;
    piece->slots = arena_array(piece->arena, piece->count + 1, sizeof(*piece->slots));
    for (size_t i = 0; i < piece->count; i++) {
        struct slot *slot = &piece->slots[i];
        slot->piece = piece;
        if (piece->letter == NULL) {
            slot->key = (struct journal_key){
                .organization_id = batch->organization_id,
                .brand_id = batch->brand_id,
                .send_id = batch->send_id,
                .ordinal = batch->recipients[i].ordinal,
                .attempts = batch->recipients[i].attempts,
            };
            slot->state = batch->results[i].outcome == DELIVERY_OPEN ? SLOT_WAITING : SLOT_DECIDED;
        }
        if (slot->state == SLOT_WAITING)
            piece->waiting++;
        else
            piece->unsettled++;
    }
    piece->decided_at_us = clock_monotonic_us();
    piece->journal_file = journal_file(sender->journal);
}

void line_add(struct sender *sender, struct piece *piece)
{
    piece->count = piece->batch.count;
    make_slots(sender, piece);
    struct piece **end = &sender->line;
    while (*end != NULL)
        end = &(*end)->next;
    *end = piece;
}

void line_add_first(struct sender *sender, struct piece *piece)
{
    piece->count = 1;
    make_slots(sender, piece);
    piece->next = sender->line;
    sender->line = piece;
}

void line_remove(struct sender *sender, struct piece *piece)
{
    struct piece **at = &sender->line;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    int64_t oldest = journal_file(sender->journal);
    for (const struct piece *each = sender->line; each != NULL; each = each->next)
        if (each->journal_file < oldest)
            oldest = each->journal_file;
    journal_forget(sender->journal, oldest);
}

void line_put_last(struct sender *sender, struct piece *piece)
{
    struct piece **at = &sender->line;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    while (*at != NULL)
        at = &(*at)->next;
    *at = piece;
    piece->next = NULL;
}

size_t line_waiting(const struct sender *sender, enum way way)
{
    size_t count = 0;
    for (const struct piece *piece = sender->line; piece != NULL; piece = piece->next)
        count += piece->way == way && piece->waiting > 0 && piece->letter == NULL;
    return count;
}

size_t line_decided(const struct sender *sender)
{
    size_t count = 0;
    for (const struct piece *piece = sender->line; piece != NULL; piece = piece->next)
        count += piece->letter == NULL && piece->waiting == 0 && piece->in_hand == 0;
    return count;
}

void slot_take(struct slot *slot)
{
    slot->state = SLOT_IN_HAND;
    slot->piece->waiting--;
    slot->piece->in_hand++;
}

void slot_give_back(struct sender *sender, struct slot *slot)
{
    struct piece *piece = slot->piece;
    size_t index = (size_t)(slot - piece->slots);
    slot->state = SLOT_WAITING;
    piece->in_hand--;
    piece->waiting++;
    if (index < piece->first_waiting)
        piece->first_waiting = index;
    if (sender->is_stopping || piece->is_lost)
        pthread_cond_broadcast(&sender->decided);
}

void slot_decide(struct sender *sender, struct slot *slot, const struct delivery_result *result)
{
    struct piece *piece = slot->piece;
    slot->state = SLOT_DECIDED;
    piece->in_hand--;
    if (piece->unsettled++ == 0)
        piece->decided_at_us = clock_monotonic_us();
    piece->batch.results[slot - piece->slots] = *result;
    if (piece->waiting == 0)
        pthread_cond_signal(&sender->room);
    if (piece->waiting == 0 && piece->in_hand == 0)
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
