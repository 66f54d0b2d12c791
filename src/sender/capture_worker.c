/*
 * Capture worker: the thread that delivers campaigns of the sandbox domain into
 * the capture Maildir. It writes no journal: a message that is delivered again
 * after a crash has the same file name and replaces itself. A message for which
 * the Maildir has no room is deferred to a retry, as by a relay that is full.
 */
#include "sender/message_cache.h"

#include "base/clock.h"

enum { FAILURE_PAUSE_MS = 1000 };
static const int64_t log_full_every_us = INT64_C(60) * US_PER_S;

struct capture_worker {
    struct sender *sender;
    struct message_cache cache;
    int64_t full_logged_us; /* monotonic; 0: never */
};

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

static bool capture_message(struct capture_worker *worker, const struct attempt *attempt, bool *ret_is_full, struct error *err)
{
    struct bytes no_signatures;
    struct message_cache *cache = &worker->cache;
    struct captured_message captured;
    *ret_is_full = false;
    if (!message_cache_compose(cache, worker->sender, attempt, &no_signatures, &captured.text, err))
        return false;
    struct work work = sender_work(worker->sender, cache->scratch, NULL);
    const struct delivery_batch *batch = &item_batch(attempt->item)->batch;
    captured.id = delivery_message_name(&work, batch, attempt_index(attempt), cache->scratch);
    captured.owner = work_id(&work, ID_ORG, batch->organization_id);
    return capture_maildir_deliver(worker->sender->config.outbox, &captured, ret_is_full, err);
}

/* The result of a relay that says the same. */
static struct delivery_result defer_full(const struct sender *sender, struct queued_batch *batch, size_t index,
                                         const struct error *why)
{
    struct smtp_outcome full = { .end = SMTP_REPLIED, .stage = SMTP_STAGE_FINAL, .code = 452, .enhanced = "4.3.1" };
    double jitter = 0.5; /* the retries burden no other server */
    snprintf(full.text, sizeof(full.text), "%.*s", SMTP_TEXT_MAX_BYTES - 1, why->message);
    return retry_policy_result(&sender->config.retry_policy, &batch->batch, index, &full, clock_now_us(), jitter,
                               batch->item.arena);
}

/* A message that cannot be composed, or not in the memory of one message, is a result of its recipient. After a failure that holds
 * for all messages the attempt returns to the queue; then this gives false. */
static bool decide_captured(struct sender *sender, struct attempt *attempt, bool is_full, const struct error *why)
{
    bool is_final = why->code == ERR_NONE || why->code == ERR_INVALID_REQUEST || why->code == ERR_PAYLOAD_TOO_LARGE;
    bool is_returned = !is_final && !is_full;
    struct queued_batch *batch = item_batch(attempt->item);
    size_t index = attempt_index(attempt);
    pthread_mutex_lock(&sender->mutex);
    struct delivery_result result = batch->batch.results[index];
    result.outcome = why->code == ERR_NONE ? DELIVERY_DELIVERED : DELIVERY_FAILED;
    result.reason = is_final && why->code != ERR_NONE ? arena_dup(batch->item.arena, why->message) : NULL;
    result.attempts++;
    if (is_full)
        result = defer_full(sender, batch, index, why);
    if (is_returned)
        attempt_return(sender, attempt);
    else
        attempt_decide(sender, attempt, &result);
    pthread_mutex_unlock(&sender->mutex);
    return !is_returned;
}

/* A campaign has many messages that find no room, so they are logged once a minute. */
static void log_failure(struct capture_worker *worker, bool is_full, const struct error *why)
{
    int64_t now_us = clock_monotonic_us();
    if (is_full && worker->full_logged_us != 0 && now_us - worker->full_logged_us < log_full_every_us)
        return;
    if (is_full)
        worker->full_logged_us = now_us;
    sender_log("sender.outbox", why);
}

/* The disk is full or fails. */
static void pause_after_failure(struct sender *sender)
{
    struct timespec until = clock_deadline(FAILURE_PAUSE_MS);
    pthread_mutex_lock(&sender->mutex);
    if (!sender->is_stopping)
        pthread_cond_clockwait(&sender->capture_wanted, &sender->mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&sender->mutex);
}

void *capture_worker_run(void *argument)
{
    struct capture_worker worker = { .sender = argument };
    struct attempt *attempt;
    message_cache_init(&worker.cache, crash_slot_of(worker.sender->slots, SLOT_OF_CAPTURE));
    while ((attempt = wait_for_attempt(worker.sender)) != NULL) {
        struct error err = { .code = ERR_NONE };
        bool is_full;
        if (!capture_message(&worker, attempt, &is_full, &err) && err.code != ERR_INVALID_REQUEST)
            log_failure(&worker, is_full, &err);
        if (!decide_captured(worker.sender, attempt, is_full, &err))
            pause_after_failure(worker.sender);
    }
    message_cache_done(&worker.cache);
    return NULL;
}
