/*
 * Single messages: test messages, mailed unsubscribe links and the messages of
 * placement tests, whose jobs wait.
 * They are sent before any batch. No journal record is written for them: after a
 * crash only their jobs may send them again.
 */
#include "sender/delivery_queue.h"

#include "base/clock.h"

enum { RELAY_RETRY_AFTER_S = 60 };

/* ---- For callers ---- */

/* A copy of everything, since a worker may still read the message when its caller has gone. */
static struct queued_message *copy_message(const struct single_message *given)
{
    struct queued_message *queued = queued_message_new();
    struct arena *arena = queued->item.arena;
    const struct bytes *from[] = { &given->signatures, &given->message };
    struct bytes *to[] = { &queued->message.signatures, &queued->message.message };
    queued->message = *given;
    queued->message.mail_from = arena_dup(arena, given->mail_from);
    queued->message.rcpt_to = arena_dup(arena, given->rcpt_to);
    if (given->return_path != NULL)
        queued->message.return_path = arena_dup(arena, given->return_path);
    for (size_t i = 0; i < ARRAY_COUNT(from); i++)
        if (from[i]->size > 0)
            to[i]->data = (const unsigned char *)arena_dup_bytes(arena, from[i]->data, from[i]->size);
    return queued;
}

static bool wait_until_done(struct sender *sender, const struct queued_message *message, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);
    int status = 0;
    while (!message->is_done && !sender->is_stopping && status == 0)
        status = pthread_cond_clockwait(&sender->results_ready, &sender->mutex, CLOCK_MONOTONIC, &until);
    return message->is_done;
}

static bool check_outcome(const struct smtp_outcome *outcome, struct error *err)
{
    if (outcome->end == SMTP_REPLIED && outcome->code >= 200 && outcome->code < 300)
        return true;
    if (outcome->end == SMTP_REPLIED && outcome->code >= 500)
        return fail(err, ERR_INVALID_REQUEST, "to", "The relay refused this message: %d %s %s", outcome->code, outcome->enhanced,
                    outcome->text);
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The relay did not take this message: %s", outcome->text);
    err->retry_after_s = RELAY_RETRY_AFTER_S;
    return false;
}

bool sender_deliver(struct sender *sender, const struct single_message *message, int wait_ms, bool *ret_is_uncertain,
                    struct error *err)
{
    struct queued_message *queued = copy_message(message);
    struct smtp_outcome outcome = { .end = SMTP_NOT_SENT, .text = "No relay could be reached in time." };
    pthread_mutex_lock(&sender->mutex);
    queue_add_single_message(sender, queued);
    pthread_mutex_unlock(&sender->mutex);
    delivery_workers_wake(sender);

    pthread_mutex_lock(&sender->mutex);
    bool done = wait_until_done(sender, queued, wait_ms);
    /* A message in progress is freed by the worker that ends it. */
    bool is_left_behind = !done && queued->item.in_progress > 0;
    queued->is_caller_gone = is_left_behind;
    if (done)
        outcome = queued->outcome;
    if (!is_left_behind)
        queue_remove(sender, &queued->item);
    pthread_mutex_unlock(&sender->mutex);
    if (!is_left_behind)
        arena_free(queued->item.arena);
    if (ret_is_uncertain != NULL)
        *ret_is_uncertain = is_left_behind || outcome.end == SMTP_UNCERTAIN;
    return check_outcome(&outcome, err);
}
