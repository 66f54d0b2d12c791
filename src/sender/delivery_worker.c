/*
 * Hands: the threads that talk to relays. Each runs a loop of sessions, which
 * asks for a message whenever a session has room.
 */
#include "sender/message_cache.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { STOP_WAIT_MS = 10 * 1000, LOSSES_MAX = 5 };
static const int64_t journal_pause_us = US_PER_S;

struct delivery_worker {
    struct sender *sender;
    struct smtp_loop *loop;
    struct smtp_events events;
    struct message_cache cache;
    pthread_t thread;
    uint64_t random;
};

/* Not for secrets: spreads retries (splitmix64). */
static double draw(struct delivery_worker *worker)
{
    uint64_t mixed = worker->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((mixed ^ (mixed >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* ---- What comes next; under the mutex ---- */

static bool may_hand_over(const struct sender *sender)
{
    int64_t now_us = clock_monotonic_us();
    return !sender->is_stopping && now_us - sender->leases_renewed_us < LEASE_UNRENEWED_MAX_US &&
           now_us >= sender->journal_broken_until_us;
}

static const char *domain_of(const char *email)
{
    const char *at = strrchr(email, '@');
    return at != NULL ? at + 1 : email;
}

static struct attempt *find_in(const struct delivery_worker *worker, struct piece *piece)
{
    for (size_t i = piece->first_waiting; piece->waiting > 0 && i < piece->count; i++) {
        struct attempt *attempt = &piece->attempts[i];
        if (attempt->state != ATTEMPT_WAITING) {
            piece->first_waiting += i == piece->first_waiting;
            continue;
        }
        const char *email = piece->letter != NULL ? piece->letter->rcpt_to : piece->batch.recipients[i].email;
        if (smtp_loop_has_room(worker->loop, domain_of(email)))
            return attempt;
    }
    return NULL;
}

/* Letters stand first. A hand stays with its piece, whose composer it has. */
static struct attempt *find_attempt(const struct delivery_worker *worker)
{
    const struct sender *sender = worker->sender;
    struct attempt *attempt = NULL;
    struct piece *own = NULL;
    if (!may_hand_over(sender))
        return NULL;
    for (struct piece *piece = sender->queue; piece != NULL; piece = piece->next) {
        if (piece->letter != NULL && piece->waiting > 0 && (attempt = find_in(worker, piece)) != NULL)
            return attempt;
        if (piece->serial == worker->cache.serial)
            own = piece;
    }
    if (own != NULL && !own->is_lost && (attempt = find_in(worker, own)) != NULL)
        return attempt;
    for (struct piece *piece = sender->queue; piece != NULL && attempt == NULL; piece = piece->next)
        if (piece->route == ROUTE_RELAY && !piece->is_lost)
            attempt = find_in(worker, piece);
    return attempt;
}

static struct attempt *take_attempt(struct delivery_worker *worker)
{
    pthread_mutex_lock(&worker->sender->mutex);
    struct attempt *attempt = find_attempt(worker);
    if (attempt != NULL)
        attempt_start(attempt);
    pthread_mutex_unlock(&worker->sender->mutex);
    return attempt;
}

/* ---- The loop asks ---- */

static void give_letter(const struct attempt *attempt, struct smtp_message *ret_message)
{
    const struct single_message *letter = attempt->piece->letter;
    ret_message->mail_from = letter->mail_from;
    ret_message->rcpt_to = letter->rcpt_to;
    ret_message->needs_smtputf8 = letter->needs_smtputf8;
    ret_message->parts[0] = letter->signatures;
    ret_message->parts[1] = letter->message;
}

static bool give_message(struct delivery_worker *worker, const struct attempt *attempt, struct smtp_message *ret_message,
                         struct error *err)
{
    const struct delivery_batch *batch = &attempt->piece->batch;
    const char *email = batch->recipients[attempt - attempt->piece->attempts].email;
    ret_message->mail_from = batch->send->from_address;
    ret_message->rcpt_to = email;
    const char *reply_to = batch->send->reply_to;
    ret_message->needs_smtputf8 =
        !text_is_ascii(email) || !text_is_ascii(ret_message->mail_from) || (reply_to != NULL && !text_is_ascii(reply_to));
    return message_cache_compose(&worker->cache, worker->sender, attempt, &ret_message->parts[0], &ret_message->parts[1], err);
}

/* A message that cannot be composed is a fact about its recipient. */
static void decide_failed(struct sender *sender, struct attempt *attempt, const struct error *why)
{
    pthread_mutex_lock(&sender->mutex);
    struct delivery_result result = attempt->piece->batch.results[attempt - attempt->piece->attempts];
    result.outcome = DELIVERY_FAILED;
    result.reason = arena_dup(attempt->piece->arena, why->message);
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
        if (attempt->piece->letter != NULL) {
            give_letter(attempt, ret_message);
            return true;
        }
        if (give_message(worker, attempt, ret_message, &err))
            return true;
        if (err.code != ERR_INVALID_REQUEST)
            sender_log("sender.compose", &err);
        decide_failed(worker->sender, attempt, &err);
    }
    return false;
}

/* A process that was frozen may find its ranges taken when it wakes. */
static bool is_still_ours(struct sender *sender, const struct piece *piece)
{
    pthread_mutex_lock(&sender->mutex);
    bool ours = !piece->is_lost && clock_monotonic_us() - sender->leases_renewed_us < LEASE_UNRENEWED_MAX_US;
    pthread_mutex_unlock(&sender->mutex);
    return ours;
}

/* Whose caller has gone got an error, and may try again. */
static bool is_wanted(struct sender *sender, const struct piece *letter)
{
    pthread_mutex_lock(&sender->mutex);
    bool wanted = !letter->is_orphan;
    pthread_mutex_unlock(&sender->mutex);
    return wanted;
}

/* Says it once a pause, however many sessions find out. */
static void pause_for_journal(struct sender *sender)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&sender->mutex);
    bool is_news = now_us >= sender->journal_broken_until_us;
    sender->journal_broken_until_us = now_us + journal_pause_us;
    pthread_mutex_unlock(&sender->mutex);
    if (is_news)
        log_event(LOG_ERROR, "sender.journal", "The journal cannot be written; nothing is handed over meanwhile.");
}

static bool worker_before_dot(void *context, void *tag)
{
    struct sender *sender = ((struct delivery_worker *)context)->sender;
    struct attempt *attempt = tag;
    int64_t ignored;
    if (attempt->piece->letter != NULL)
        return is_wanted(sender, attempt->piece);
    attempt->is_withheld = !is_still_ours(sender, attempt->piece);
    if (attempt->is_withheld)
        return false;
    attempt->is_dot_out = journal_dot(sender->journal, &attempt->key, &ignored);
    attempt->is_withheld = !attempt->is_dot_out;
    if (attempt->is_dot_out)
        return true;
    pause_for_journal(sender);
    return false;
}

static void end_letter(struct sender *sender, struct attempt *attempt, const struct smtp_outcome *outcome)
{
    struct piece *piece = attempt->piece;
    pthread_mutex_lock(&sender->mutex);
    if (outcome->end == SMTP_NOT_SENT && !sender->is_stopping && !piece->is_orphan) {
        attempt_return(sender, attempt);
    } else {
        piece->outcome = *outcome;
        piece->is_letter_done = true;
        pthread_cond_broadcast(&sender->decided);
    }
    bool is_orphan = piece->is_orphan;
    if (is_orphan)
        queue_remove(sender, piece);
    pthread_mutex_unlock(&sender->mutex);
    if (is_orphan)
        arena_free(piece->arena);
}

/* A message that costs one session after the other waits as others do that a relay put off. */
static bool is_worn_out(struct attempt *attempt, const struct smtp_outcome *outcome)
{
    if (outcome->stage > SMTP_STAGE_CONNECT && !attempt->is_withheld)
        attempt->losses++;
    attempt->is_withheld = false;
    return attempt->losses >= LOSSES_MAX;
}

static void worker_message_end(void *context, void *tag, const struct smtp_outcome *outcome)
{
    struct delivery_worker *worker = context;
    struct sender *sender = worker->sender;
    struct attempt *attempt = tag;
    struct piece *piece = attempt->piece;
    int64_t ignored;
    if (piece->letter != NULL) {
        end_letter(sender, attempt, outcome);
        return;
    }
    /* Also that it did not leave after all. */
    bool is_told = outcome->end == SMTP_REPLIED || (outcome->end == SMTP_NOT_SENT && attempt->is_dot_out);
    if (is_told && !journal_reply(sender->journal, &attempt->key, outcome, &ignored))
        log_event(LOG_ERROR, "sender.journal", "A reply could not be written down.");
    attempt->is_dot_out = false;
    pthread_mutex_lock(&sender->mutex);
    if (outcome->end == SMTP_NOT_SENT && !is_worn_out(attempt, outcome)) {
        attempt_return(sender, attempt);
    } else {
        struct delivery_result result =
            retry_policy_result(&sender->config.retry_policy, &piece->batch, (size_t)(attempt - piece->attempts), outcome,
                                clock_now_us(), draw(worker), piece->arena);
        attempt_decide(sender, attempt, &result);
    }
    pthread_mutex_unlock(&sender->mutex);
}

/* ---- Their life ---- */

static void *worker_run(void *argument)
{
    struct delivery_worker *worker = argument;
    smtp_loop_run(worker->loop, STOP_WAIT_MS);
    return NULL;
}

void delivery_workers_start(struct sender *sender)
{
    sender->worker_count = sender->config.relays != NULL ? sender->config.delivery_workers : 0;
    sender->workers = calloc((size_t)sender->worker_count + 1, sizeof(*sender->workers));
    if (sender->workers == NULL)
        abort();
    for (int i = 0; i < sender->worker_count; i++) {
        struct delivery_worker *worker = &sender->workers[i];
        worker->sender = sender;
        worker->events = (struct smtp_events){
            .context = worker, .next = worker_next_message, .before_dot = worker_before_dot, .done = worker_message_end
        };
        random_bytes(&worker->random, sizeof(worker->random));
        message_cache_init(&worker->cache);
        worker->loop = smtp_loop_new(sender->config.relays, sender->worker_count, sender->config.helo_name, &worker->events);
        if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
            abort();
    }
}

void delivery_workers_wake(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++)
        smtp_loop_wake(sender->workers[i].loop);
}

void delivery_workers_stop(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++)
        smtp_loop_stop(sender->workers[i].loop);
    for (int i = 0; i < sender->worker_count; i++)
        pthread_join(sender->workers[i].thread, NULL);
}

void delivery_workers_free(struct sender *sender)
{
    for (int i = 0; i < sender->worker_count; i++) {
        smtp_loop_free(sender->workers[i].loop);
        message_cache_done(&sender->workers[i].cache);
    }
    free(sender->workers);
}
