/*
 * The hand of the sandbox domain: delivers into the capture outbox. A message
 * delivered again after a crash replaces itself, so no journal is needed.
 */
#include "sender/message_cache.h"

#include "base/clock.h"

enum { FULL_PAUSE_MS = 1000 };

/* Waits for somebody to be taken; NULL at the end. */
static struct slot *take(struct sender *sender)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&sender->mutex);
    while (slot == NULL && !sender->is_stopping) {
        for (struct piece *piece = sender->line; piece != NULL && slot == NULL; piece = piece->next) {
            if (piece->way != WAY_OUTBOX || piece->waiting == 0 || piece->is_lost)
                continue;
            while (piece->slots[piece->first_waiting].state != SLOT_WAITING)
                piece->first_waiting++;
            slot = &piece->slots[piece->first_waiting];
        }
        if (slot == NULL)
            pthread_cond_wait(&sender->work, &sender->mutex);
    }
    if (slot != NULL)
        slot_take(slot);
    pthread_mutex_unlock(&sender->mutex);
    return slot;
}

/* The outbox is full, or its disk is: everything waits. */
static void pause_full(struct sender *sender)
{
    struct timespec until = clock_deadline(FULL_PAUSE_MS);
    pthread_mutex_lock(&sender->mutex);
    if (!sender->is_stopping)
        pthread_cond_clockwait(&sender->work, &sender->mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&sender->mutex);
}

static bool deliver(struct composing *composing, struct sender *sender, const struct slot *slot, struct error *err)
{
    struct bytes unsigned_mail;
    struct bytes message;
    if (!composing_write(composing, sender, slot, &unsigned_mail, &message, err))
        return false;
    struct work work = sender_work(sender, composing->scratch, NULL);
    size_t index = (size_t)(slot - slot->piece->slots);
    const char *name = delivery_message_name(&work, &slot->piece->batch, index, composing->scratch);
    return capture_maildir_deliver(sender->config.outbox, name, message.data, message.size, err);
}

/* A message that cannot be composed is a fact about its recipient; any other trouble passes. */
static bool decide(struct sender *sender, struct slot *slot, const struct error *why)
{
    bool stays = why->code != ERR_NONE && why->code != ERR_INVALID_REQUEST;
    pthread_mutex_lock(&sender->mutex);
    struct piece *piece = slot->piece;
    struct delivery_result result = piece->batch.results[slot - piece->slots];
    result.outcome = why->code == ERR_NONE ? DELIVERY_DELIVERED : DELIVERY_FAILED;
    result.reason = why->code == ERR_NONE ? NULL : arena_dup(piece->arena, why->message);
    result.attempts++;
    if (stays)
        slot_give_back(sender, slot);
    else
        slot_decide(sender, slot, &result);
    pthread_mutex_unlock(&sender->mutex);
    return !stays;
}

void *outbox_thread(void *argument)
{
    struct sender *sender = argument;
    struct composing composing;
    struct slot *slot;
    composing_begin(&composing);
    while ((slot = take(sender)) != NULL) {
        struct error err = { .code = ERR_NONE };
        if (!deliver(&composing, sender, slot, &err) && err.code != ERR_INVALID_REQUEST)
            sender_log("sender.outbox", &err);
        if (!decide(sender, slot, &err))
            pause_full(sender);
    }
    composing_end(&composing);
    return NULL;
}
