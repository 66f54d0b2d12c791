/*
 * Delivery workers: the threads that send messages to SMTP relays. Each runs an
 * event loop over its share of the connections. The loop asks its worker for a
 * message when a connection has room, so a message is composed only when it can
 * be sent.
 *
 * The three callbacks of the loop are worker_next_message, worker_before_dot and
 * worker_end_message. Around the final dot of a message they write the journal,
 * which recovery reads after a crash.
 */
#include "sender/message_cache.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    STOP_WAIT_MS = 10 * 1000, /* for final replies, at the end */
    LOST_SESSIONS_MAX = 5,    /* with one message, before it is deferred to a retry */
};
static const int64_t journal_pause_us = US_PER_S;

struct delivery_worker {
    struct sender *sender;
    struct smtp_event_loop *loop;
    struct smtp_events events;
    struct message_cache cache;
    pthread_t thread;
    uint64_t random;
};

/* ---- The next attempt, with the mutex held ---- */

static bool may_send(const struct sender *sender)
{
    int64_t now_us = clock_monotonic_us();
    return !sender->is_stopping && now_us - sender->leases_renewed_us < LEASE_UNRENEWED_MAX_US &&
           now_us >= sender->journal_pause_until_us;
}

static const char *domain_of(const char *email)
{
    const char *at = strrchr(email, '@');
    return at != NULL ? at + 1 : email;
}

/* Whether a connection is free for a message to this address. */
static bool has_connection_for(const struct delivery_worker *worker, const char *email)
{
    return smtp_event_loop_has_room(worker->loop, domain_of(email));
}

static struct attempt *find_single_message(const struct delivery_worker *worker)
{
    for (struct queue_item *item = worker->sender->queue; item != NULL; item = item->next)
        if (item->kind == ITEM_SINGLE_MESSAGE && item->waiting > 0 &&
            has_connection_for(worker, item_single_message(item)->message.rcpt_to))
            return &item->attempts[0];
    return NULL;
}

/* A destination without room is asked for once, however many attempts of the batch it has in a row. */
static struct attempt *find_startable(const struct delivery_worker *worker, struct queued_batch *batch)
{
    struct queue_item *item = &batch->item;
    const char *refused = NULL;
    for (size_t i = item->first_waiting; item->waiting > 0 && i < item->count; i++) {
        struct attempt *attempt = &item->attempts[i];
        const char *email = batch->batch.recipients[i].email;
        if (attempt->state != ATTEMPT_WAITING) {
            item->first_waiting += i == item->first_waiting;
            continue;
        }
        if (refused != NULL && strcmp(domain_of(email), refused) == 0)
            continue;
        if (has_connection_for(worker, email))
            return attempt;
        refused = domain_of(email);
    }
    return NULL;
}

static struct attempt *find_in_batch(const struct delivery_worker *worker, struct queued_batch *batch)
{
    if (batch->is_lease_lost || batch->item.waiting == 0)
        return NULL;
    struct attempt *attempt = find_startable(worker, batch);
    batch_set_blocked(worker->sender, batch, attempt == NULL);
    return attempt;
}

/* A worker stays with the batch whose composer is in its cache. */
static struct attempt *find_in_cached_batch(const struct delivery_worker *worker)
{
    struct queued_batch *batch = queue_first_batch(worker->sender);
    while (batch != NULL && batch->item.serial != worker->cache.serial)
        batch = queue_next_batch(batch);
    return batch != NULL ? find_in_batch(worker, batch) : NULL;
}

static struct attempt *find_in_any_batch(const struct delivery_worker *worker, bool is_urgent)
{
    struct attempt *attempt = NULL;
    for (struct queued_batch *batch = queue_first_batch(worker->sender); batch != NULL; batch = queue_next_batch(batch))
        if (batch->item.route == ROUTE_RELAY && batch->is_urgent == is_urgent && (attempt = find_in_batch(worker, batch)) != NULL)
            return attempt;
    return NULL;
}

static struct attempt *find_attempt(const struct delivery_worker *worker)
{
    if (!may_send(worker->sender))
        return NULL;
    struct attempt *attempt = find_single_message(worker);
    if (attempt == NULL)
        attempt = find_in_any_batch(worker, true);
    if (attempt == NULL)
        attempt = find_in_cached_batch(worker);
    if (attempt == NULL)
        attempt = find_in_any_batch(worker, false);
    return attempt;
}

static struct attempt *take_attempt(struct delivery_worker *worker)
{
    pthread_mutex_lock(&worker->sender->mutex);
    struct attempt *attempt = find_attempt(worker);
    if (attempt != NULL)
        attempt_start(worker->sender, attempt);
    pthread_mutex_unlock(&worker->sender->mutex);
    return attempt;
}

/* ---- The loop asks for a message ---- */

static void give_single_message(const struct single_message *message, struct smtp_message *ret_message)
{
    ret_message->mail_from = message->mail_from;
    ret_message->return_path = message->return_path;
    ret_message->rcpt_to = message->rcpt_to;
    ret_message->needs_smtputf8 = message->needs_smtputf8;
    ret_message->parts[0] = message->signatures;
    ret_message->parts[1] = message->message;
}

static bool compose_for_recipient(struct delivery_worker *worker, const struct attempt *attempt, struct smtp_message *ret_message,
                                  struct error *err)
{
    const struct delivery_batch *batch = &item_batch(attempt->item)->batch;
    const char *email = batch->recipients[attempt_index(attempt)].email;
    const char *reply_to = batch->send->reply_to;
    ret_message->mail_from = batch->send->from_address;
    ret_message->rcpt_to = email;
    ret_message->needs_smtputf8 =
        !text_is_ascii(email) || !text_is_ascii(ret_message->mail_from) || (reply_to != NULL && !text_is_ascii(reply_to));
    if (!message_cache_compose(&worker->cache, worker->sender, attempt, &ret_message->parts[0], &ret_message->parts[1], err))
        return false;
    struct work work = sender_work(worker->sender, worker->cache.scratch, NULL);
    ret_message->return_path = delivery_return_path(&work, batch, attempt_index(attempt));
    return true;
}

/* A message that cannot be composed is a result of its recipient. The other recipients go on. */
static void decide_not_composed(struct sender *sender, struct attempt *attempt, const struct error *why)
{
    struct queued_batch *batch = item_batch(attempt->item);
    pthread_mutex_lock(&sender->mutex);
    struct delivery_result result = batch->batch.results[attempt_index(attempt)];
    result.outcome = DELIVERY_FAILED;
    result.reason = arena_dup(batch->item.arena, why->message);
    attempt_decide(sender, attempt, &result);
    pthread_mutex_unlock(&sender->mutex);
}

static bool worker_next_message(void *context, struct smtp_message *ret_message)
{
    struct delivery_worker *worker = context;
    struct attempt *attempt;
    while ((attempt = take_attempt(worker)) != NULL) {
        struct error err = { .code = ERR_NONE };
        ret_message->tag = attempt;
        if (attempt->item->kind == ITEM_SINGLE_MESSAGE) {
            give_single_message(&item_single_message(attempt->item)->message, ret_message);
            return true;
        }
        if (compose_for_recipient(worker, attempt, ret_message, &err))
            return true;
        if (err.code != ERR_INVALID_REQUEST)
            sender_log("sender.compose", &err);
        decide_not_composed(worker->sender, attempt, &err);
    }
    return false;
}

/* ---- The final dot is about to be sent ---- */

/* A process that was suspended may have lost its leases when it wakes. */
static bool is_still_leased(struct sender *sender, const struct queued_batch *batch)
{
    pthread_mutex_lock(&sender->mutex);
    bool leased = !batch->is_lease_lost && clock_monotonic_us() - sender->leases_renewed_us < LEASE_UNRENEWED_MAX_US;
    pthread_mutex_unlock(&sender->mutex);
    return leased;
}

/* Stops sending for a while, and logs it once however many sessions fail. */
static void pause_for_journal(struct sender *sender)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&sender->mutex);
    bool is_first = now_us >= sender->journal_pause_until_us;
    sender->journal_pause_until_us = now_us + journal_pause_us;
    queue_trim_journal(sender);
    pthread_mutex_unlock(&sender->mutex);
    if (is_first)
        log_event(LOG_ERROR, "sender.journal", "The journal cannot be written. Nothing is sent to relays meanwhile.");
}

/* Without a dot record the dot must not leave: recovery would send the message again and not mark it uncertain. */
static bool journal_batch_dot(struct sender *sender, struct attempt *attempt)
{
    attempt->is_withheld = !is_still_leased(sender, item_batch(attempt->item));
    if (attempt->is_withheld)
        return false;
    attempt->is_dot_in_journal = journal_add_dot(sender->journal, &attempt->key, &attempt->mark);
    attempt->is_withheld = !attempt->is_dot_in_journal;
    if (attempt->is_dot_in_journal)
        return true;
    pause_for_journal(sender);
    return false;
}

static bool worker_before_dot(void *context, void *tag)
{
    struct delivery_worker *worker = context;
    struct attempt *attempt = tag;
    if (attempt->item->kind == ITEM_SINGLE_MESSAGE)
        return single_message_is_wanted(worker->sender, item_single_message(attempt->item));
    return journal_batch_dot(worker->sender, attempt);
}

/* ---- A message has ended ---- */

/* Also records that a message was not sent after its dot record: the connection was lost before the dot left. */
static void journal_batch_reply(struct sender *sender, struct attempt *attempt, const struct smtp_outcome *outcome)
{
    bool is_recorded = outcome->end == SMTP_REPLIED || (outcome->end == SMTP_NOT_SENT && attempt->is_dot_in_journal);
    if (is_recorded && !journal_add_reply(sender->journal, &attempt->key, outcome, &attempt->mark))
        log_event(LOG_ERROR, "sender.journal", "A reply could not be written to the journal.");
    attempt->is_dot_in_journal = false;
}

/* Whether a message that was not sent is tried again at once. A message that loses one session after the other is deferred to a
 * retry instead, as if the relay had deferred it. */
static bool is_tried_at_once(struct attempt *attempt, const struct smtp_outcome *outcome)
{
    if (outcome->end != SMTP_NOT_SENT)
        return false;
    if (outcome->stage > SMTP_STAGE_CONNECT && !attempt->is_withheld)
        attempt->lost_sessions++;
    attempt->is_withheld = false;
    return attempt->lost_sessions < LOST_SESSIONS_MAX;
}

/* A random number from 0 to 1, which spreads retries (splitmix64). Not for secrets. */
static double random_jitter(struct delivery_worker *worker)
{
    uint64_t mixed = worker->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((mixed ^ (mixed >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

static void end_batch_attempt(struct delivery_worker *worker, struct attempt *attempt, const struct smtp_outcome *outcome)
{
    struct sender *sender = worker->sender;
    struct queued_batch *batch = item_batch(attempt->item);
    journal_batch_reply(sender, attempt, outcome);
    pthread_mutex_lock(&sender->mutex);
    if (is_tried_at_once(attempt, outcome)) {
        attempt_return(sender, attempt);
    } else {
        struct delivery_result result = retry_policy_result(&sender->config.retry_policy, &batch->batch, attempt_index(attempt),
                                                            outcome, clock_now_us(), random_jitter(worker), batch->item.arena);
        attempt_decide(sender, attempt, &result);
    }
    pthread_mutex_unlock(&sender->mutex);
}

static void worker_end_message(void *context, void *tag, const struct smtp_outcome *outcome)
{
    struct delivery_worker *worker = context;
    struct attempt *attempt = tag;
    if (attempt->item->kind == ITEM_SINGLE_MESSAGE)
        single_message_end(worker->sender, item_single_message(attempt->item), outcome);
    else
        end_batch_attempt(worker, attempt, outcome);
}

/* ---- Starting and stopping ---- */

static void *worker_run(void *argument)
{
    struct delivery_worker *worker = argument;
    smtp_event_loop_run(worker->loop, STOP_WAIT_MS);
    return NULL;
}

static void start_worker(struct sender *sender, struct delivery_worker *worker, size_t number)
{
    worker->sender = sender;
    worker->events = (struct smtp_events){
        .context = worker,
        .next = worker_next_message,
        .before_dot = worker_before_dot,
        .done = worker_end_message,
    };
    random_bytes(&worker->random, sizeof(worker->random));
    message_cache_init(&worker->cache, crash_slot_of(sender->slots, SLOT_OF_FIRST_WORKER + number));
    worker->loop = smtp_event_loop_new(sender->config.relays, sender->worker_count, sender->config.helo_name, &worker->events);
    if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
        panic(PANIC_NO_THREAD);
}

void delivery_workers_start(struct sender *sender)
{
    sender->worker_count = sender->config.relays != NULL ? sender->config.delivery_workers : 0;
    sender->workers = calloc((size_t)sender->worker_count + 1, sizeof(*sender->workers));
    if (sender->workers == NULL)
        panic(PANIC_NO_MEMORY);
    for (int i = 0; i < sender->worker_count; i++)
        start_worker(sender, &sender->workers[i], (size_t)i);
}

void delivery_workers_wake(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++)
        smtp_event_loop_wake(sender->workers[i].loop);
}

void delivery_workers_stop(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++)
        smtp_event_loop_stop(sender->workers[i].loop);
    for (int i = 0; i < sender->worker_count; i++)
        pthread_join(sender->workers[i].thread, NULL);
}

void delivery_workers_free(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++) {
        smtp_event_loop_free(sender->workers[i].loop);
        message_cache_done(&sender->workers[i].cache);
    }
    free(sender->workers);
}
