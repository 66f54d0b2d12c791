/*
 * The hand of the sandbox domain: delivers into the capture outbox. A message
 * delivered again after a crash replaces itself, so no journal is needed.
 */
#include "sender/message_cache.h"

#include "base/clock.h"

enum { FULL_PAUSE_MS = 1000 };

/* Waits for somebody to be taken; NULL at the end. */
static struct attempt *take(struct sender *sender)
{
    struct attempt *attempt = NULL;
    pthread_mutex_lock(&sender->mutex);
    while (attempt == NULL && !sender->is_stopping) {
        for (struct piece *piece = sender->queue; piece != NULL && attempt == NULL; piece = piece->next) {
            if (piece->route != ROUTE_CAPTURE || piece->waiting == 0 || piece->is_lost)
                continue;
            while (piece->attempts[piece->first_waiting].state != ATTEMPT_WAITING)
                piece->first_waiting++;
            attempt = &piece->attempts[piece->first_waiting];
        }
        if (attempt == NULL)
            pthread_cond_wait(&sender->work, &sender->mutex);
    }
    if (attempt != NULL)
        attempt_start(attempt);
    pthread_mutex_unlock(&sender->mutex);
    return attempt;
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

static bool deliver(struct message_cache *cache, struct sender *sender, const struct attempt *attempt, struct error *err)
{
    struct bytes unsigned_mail;
    struct bytes message;
    if (!message_cache_compose(cache, sender, attempt, &unsigned_mail, &message, err))
        return false;
    struct work work = sender_work(sender, cache->scratch, NULL);
    size_t index = (size_t)(attempt - attempt->piece->attempts);
    const char *name = delivery_message_name(&work, &attempt->piece->batch, index, cache->scratch);
    return outbox_deliver(sender->config.outbox, name, message.data, message.size, err);
}

/* A message that cannot be composed is a fact about its recipient; any other trouble passes. */
static bool decide(struct sender *sender, struct attempt *attempt, const struct error *why)
{
    bool stays = why->code != ERR_NONE && why->code != ERR_INVALID_REQUEST;
    pthread_mutex_lock(&sender->mutex);
    struct piece *piece = attempt->piece;
    struct delivery_result result = piece->batch.results[attempt - piece->attempts];
    result.outcome = why->code == ERR_NONE ? DELIVERY_DELIVERED : DELIVERY_FAILED;
    result.reason = why->code == ERR_NONE ? NULL : arena_dup(piece->arena, why->message);
    result.attempts++;
    if (stays)
        attempt_return(sender, attempt);
    else
        attempt_decide(sender, attempt, &result);
    pthread_mutex_unlock(&sender->mutex);
    return !stays;
}

void *capture_worker_run(void *argument)
{
    struct sender *sender = argument;
    struct message_cache cache;
    struct attempt *attempt;
    message_cache_init(&cache);
    while ((attempt = take(sender)) != NULL) {
        struct error err = { .code = ERR_NONE };
        if (!deliver(&cache, sender, attempt, &err) && err.code != ERR_INVALID_REQUEST)
            sender_log("sender.outbox", &err);
        if (!decide(sender, attempt, &err))
            pause_full(sender);
    }
    message_cache_done(&cache);
    return NULL;
}
