#include "sender/sender.h"

#include "base/clock.h"
#include "sender/delivery_queue.h"

#include <stdlib.h>
#include <string.h>

/* Every database has a token key of its own. */
static struct journal_place place_of(const struct sender_config *config)
{
    const struct engine *engine = installation_engine(config->installation);
    unsigned char hash[SECRET_HASH_BYTES];
    struct journal_place place = { .data_dir = config->data_dir };
    sha256(engine->token_key, sizeof(engine->token_key), hash);
    memcpy(&place.installation, hash, sizeof(place.installation));
    return place;
}

bool sender_start(const struct sender_config *config, struct sender **ret_sender, struct error *err)
{
    struct journal *journal;
    struct journal_place place = place_of(config);
    if (!journal_open(&place, config->owner, &journal, err))
        return false;
    struct sender *sender = calloc(1, sizeof(*sender));
    if (sender == NULL)
        abort();
    sender->config = *config;
    sender->engine = installation_engine(config->installation);
    sender->place = place;
    sender->journal = journal;
    sender->leases_renewed_us = clock_monotonic_us();
    pthread_mutex_init(&sender->mutex, NULL);
    pthread_cond_init(&sender->room, NULL);
    pthread_cond_init(&sender->decided, NULL);
    pthread_cond_init(&sender->work, NULL);
    delivery_workers_start(sender);
    if (pthread_create(&sender->capture_worker_thread, NULL, capture_worker_run, sender) != 0 ||
        pthread_create(&sender->result_writer_thread, NULL, result_writer_run, sender) != 0 ||
        pthread_create(&sender->refill_thread, NULL, refill_run, sender) != 0)
        abort();
    *ret_sender = sender;
    return true;
}

static void wake_all(struct sender *sender)
{
    pthread_cond_broadcast(&sender->room);
    pthread_cond_broadcast(&sender->decided);
    pthread_cond_broadcast(&sender->work);
}

void sender_stop(struct sender *sender)
{
    if (sender == NULL)
        return;
    pthread_mutex_lock(&sender->mutex);
    sender->is_stopping = true;
    wake_all(sender);
    pthread_mutex_unlock(&sender->mutex);
    pthread_join(sender->refill_thread, NULL);
    pthread_join(sender->capture_worker_thread, NULL);
    delivery_workers_stop(sender);
    pthread_mutex_lock(&sender->mutex);
    sender->workers_ended = true;
    wake_all(sender);
    pthread_mutex_unlock(&sender->mutex);
    pthread_join(sender->result_writer_thread, NULL);
    delivery_workers_free(sender);
    if (sender->is_released)
        journal_remove(sender->journal);
    else
        journal_close(sender->journal);
    pthread_cond_destroy(&sender->room);
    pthread_cond_destroy(&sender->decided);
    pthread_cond_destroy(&sender->work);
    pthread_mutex_destroy(&sender->mutex);
    while (sender->queue != NULL) { /* what the database would not take; the journal tells it to the next process */
        struct piece *piece = sender->queue;
        sender->queue = piece->next;
        arena_free(piece->arena);
    }
    free(sender);
}

void sender_wake(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    pthread_cond_signal(&sender->room);
    pthread_mutex_unlock(&sender->mutex);
}

bool sender_has_relay(const struct sender *sender)
{
    return sender->config.relays != NULL;
}

bool sender_signs(const struct sender *sender)
{
    return !sender->config.leaves_unsigned;
}

/* ---- Letters ---- */

static bool wait_for_letter(struct sender *sender, const struct piece *piece, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);
    int status = 0;
    while (!piece->is_letter_done && !sender->is_stopping && status == 0)
        status = pthread_cond_clockwait(&sender->decided, &sender->mutex, CLOCK_MONOTONIC, &until);
    return piece->is_letter_done;
}

static bool judge_letter(const struct smtp_outcome *outcome, struct error *err)
{
    static const int relay_wait_s = 60;
    if (outcome->end == SMTP_REPLIED && outcome->code >= 200 && outcome->code < 300)
        return true;
    if (outcome->end == SMTP_REPLIED && outcome->code >= 500)
        return fail(err, ERR_INVALID_REQUEST, "to", "The relay refused this message: %d %s %s", outcome->code, outcome->enhanced,
                    outcome->text);
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The relay did not take this message: %s", outcome->text);
    err->retry_after_s = relay_wait_s;
    return false;
}

/* Its own: the caller may be gone while a hand reads it. */
static const struct single_message *letter_copy(struct arena *arena, const struct single_message *letter)
{
    struct single_message *copy = arena_alloc(arena, sizeof(*copy));
    const struct bytes *given[] = { &letter->signatures, &letter->message };
    struct bytes *kept[] = { &copy->signatures, &copy->message };
    *copy = *letter;
    copy->mail_from = arena_dup(arena, letter->mail_from);
    copy->rcpt_to = arena_dup(arena, letter->rcpt_to);
    for (size_t i = 0; i < ARRAY_COUNT(given); i++)
        if (given[i]->size > 0)
            *kept[i] =
                (struct bytes){ (const unsigned char *)arena_dup_bytes(arena, given[i]->data, given[i]->size), given[i]->size };
    return copy;
}

bool sender_deliver(struct sender *sender, const struct single_message *letter, int wait_ms, struct error *err)
{
    struct piece *piece = piece_new(ROUTE_RELAY);
    struct smtp_outcome outcome = { .end = SMTP_NOT_SENT, .text = "No relay could be reached in time." };
    piece->letter = letter_copy(piece->arena, letter);
    pthread_mutex_lock(&sender->mutex);
    queue_add_first(sender, piece);
    pthread_mutex_unlock(&sender->mutex);
    delivery_workers_wake(sender);

    pthread_mutex_lock(&sender->mutex);
    bool done = wait_for_letter(sender, piece, wait_ms);
    /* In hand, whoever ends it frees it. */
    piece->is_orphan = !done && piece->in_progress > 0;
    bool is_orphan = piece->is_orphan;
    if (done)
        outcome = piece->outcome;
    if (!is_orphan)
        queue_remove(sender, piece);
    pthread_mutex_unlock(&sender->mutex);
    if (!is_orphan)
        arena_free(piece->arena);
    return judge_letter(&outcome, err);
}
