/*
 * Capture worker: the thread that delivers campaigns of the sandbox domain into
 * the capture Maildir. It writes no journal: a message that is delivered again
 * after a crash has the same file name and replaces itself.
 */
#include "sender/message_cache.h"

#include "base/clock.h"

enum { FULL_PAUSE_MS = 1000 };

/* ---- The next attempt ---- */

/* With the mutex held. */
static struct attempt *find_capture_attempt(const struct sender *sender)
{
    for (struct queued_batch *batch = queue_first_batch(sender); batch != NULL; batch = queue_next_batch(batch)) {
        struct queue_item *item = &batch->item;
        if (item->route != ROUTE_CAPTURE || item->waiting == 0 || batch->is_lease_lost)
            continue;
        while (item->attempts[item->first_waiting].state != ATTEMPT_WAITING)
            item->first_waiting++;
        return &item->attempts[item->first_waiting];
    }
    return NULL;
}

/* Waits for an attempt; NULL when the sender stops. */
static struct attempt *wait_for_attempt(struct sender *sender)
{
    struct attempt *attempt = NULL;
    pthread_mutex_lock(&sender->mutex);
    while (!sender->is_stopping && (attempt = find_capture_attempt(sender)) == NULL)
        pthread_cond_wait(&sender->capture_wanted, &sender->mutex);
    if (attempt != NULL)
        attempt_start(sender, attempt);
    pthread_mutex_unlock(&sender->mutex);
    return attempt;
}

/* ---- Delivering it ---- */

static bool capture_message(struct message_cache *cache, struct sender *sender, const struct attempt *attempt, struct error *err)
{
    struct bytes no_signatures;
    struct bytes message;
    if (!message_cache_compose(cache, sender, attempt, &no_signatures, &message, err))
        return false;
    struct work work = sender_work(sender, cache->scratch, NULL);
    const struct delivery_batch *batch = &item_batch(attempt->item)->batch;
    const char *name = delivery_message_name(&work, batch, attempt_index(attempt), cache->scratch);
    return capture_maildir_deliver(sender->config.outbox, name, message.data, message.size, err);
}

/* A message that cannot be composed, or not in the memory of one message, is a result of its recipient. After any other failure
 * the attempt returns to the queue; then this gives false. */
static bool decide_captured(struct sender *sender, struct attempt *attempt, const struct error *why)
{
    bool is_final = why->code == ERR_NONE || why->code == ERR_INVALID_REQUEST || why->code == ERR_PAYLOAD_TOO_LARGE;
    bool is_returned = !is_final;
    struct queued_batch *batch = item_batch(attempt->item);
    pthread_mutex_lock(&sender->mutex);
    struct delivery_result result = batch->batch.results[attempt_index(attempt)];
    result.outcome = why->code == ERR_NONE ? DELIVERY_DELIVERED : DELIVERY_FAILED;
    result.reason = why->code == ERR_NONE ? NULL : arena_dup(batch->item.arena, why->message);
    result.attempts++;
    if (is_returned)
        attempt_return(sender, attempt);
    else
        attempt_decide(sender, attempt, &result);
    pthread_mutex_unlock(&sender->mutex);
    return !is_returned;
}

/* The capture Maildir is at its limit, or its disk is full. */
static void pause_while_full(struct sender *sender)
{
    struct timespec until = clock_deadline(FULL_PAUSE_MS);
    pthread_mutex_lock(&sender->mutex);
    if (!sender->is_stopping)
        pthread_cond_clockwait(&sender->capture_wanted, &sender->mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&sender->mutex);
}

void *capture_worker_run(void *argument)
{
    struct sender *sender = argument;
    struct message_cache cache;
    struct attempt *attempt;
    message_cache_init(&cache, crash_slot_of(sender->slots, SLOT_OF_CAPTURE));
    while ((attempt = wait_for_attempt(sender)) != NULL) {
        struct error err = { .code = ERR_NONE };
        if (!capture_message(&cache, sender, attempt, &err) && err.code != ERR_INVALID_REQUEST)
            sender_log("sender.outbox", &err);
        if (!decide_captured(sender, attempt, &err))
            pause_while_full(sender);
    }
    message_cache_done(&cache);
    return NULL;
}
