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

struct hand {
    struct sender *sender;
    struct smtp_event_loop *loop;
    struct smtp_events events;
    struct composing composing;
    pthread_t thread;
    uint64_t random;
};

/* Not for secrets: spreads retries (splitmix64). */
static double draw(struct hand *hand)
{
    uint64_t mixed = hand->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((mixed ^ (mixed >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* ---- What comes next; under the mutex ---- */

static bool may_hand_over(const struct sender *sender)
{
    int64_t now_us = clock_monotonic_us();
    return !sender->is_stopping && now_us - sender->seen_us < LINE_UNSEEN_MAX_US && now_us >= sender->journal_broken_until_us;
}

static const char *domain_of(const char *email)
{
    const char *at = strrchr(email, '@');
    return at != NULL ? at + 1 : email;
}

static struct slot *find_in(const struct hand *hand, struct piece *piece)
{
    for (size_t i = piece->first_waiting; piece->waiting > 0 && i < piece->count; i++) {
        struct slot *slot = &piece->slots[i];
        if (slot->state != SLOT_WAITING) {
            piece->first_waiting += i == piece->first_waiting;
            continue;
        }
        const char *email = piece->letter != NULL ? piece->letter->rcpt_to : piece->batch.recipients[i].email;
        if (smtp_event_loop_has_room(hand->loop, domain_of(email)))
            return slot;
    }
    return NULL;
}

/* Letters stand first. A hand stays with its piece, whose composer it has. */
static struct slot *find_slot(const struct hand *hand)
{
    const struct sender *sender = hand->sender;
    struct slot *slot = NULL;
    struct piece *own = NULL;
    if (!may_hand_over(sender))
        return NULL;
    for (struct piece *piece = sender->line; piece != NULL; piece = piece->next) {
        if (piece->letter != NULL && piece->waiting > 0 && (slot = find_in(hand, piece)) != NULL)
            return slot;
        if (piece->serial == hand->composing.serial)
            own = piece;
    }
    if (own != NULL && !own->is_lost && (slot = find_in(hand, own)) != NULL)
        return slot;
    for (struct piece *piece = sender->line; piece != NULL && slot == NULL; piece = piece->next)
        if (piece->way == WAY_RELAY && !piece->is_lost)
            slot = find_in(hand, piece);
    return slot;
}

static struct slot *take_slot(struct hand *hand)
{
    pthread_mutex_lock(&hand->sender->mutex);
    struct slot *slot = find_slot(hand);
    if (slot != NULL)
        slot_take(slot);
    pthread_mutex_unlock(&hand->sender->mutex);
    return slot;
}

/* ---- The loop asks ---- */

static void give_letter(const struct slot *slot, struct smtp_message *ret_message)
{
    const struct sender_letter *letter = slot->piece->letter;
    ret_message->mail_from = letter->mail_from;
    ret_message->rcpt_to = letter->rcpt_to;
    ret_message->needs_smtputf8 = letter->needs_smtputf8;
    ret_message->parts[0] = letter->signatures;
    ret_message->parts[1] = letter->message;
}

static bool give_message(struct hand *hand, const struct slot *slot, struct smtp_message *ret_message, struct error *err)
{
    const struct delivery_batch *batch = &slot->piece->batch;
    const char *email = batch->recipients[slot - slot->piece->slots].email;
    ret_message->mail_from = batch->send->from_address;
    ret_message->rcpt_to = email;
    const char *reply_to = batch->send->reply_to;
    ret_message->needs_smtputf8 =
        !text_is_ascii(email) || !text_is_ascii(ret_message->mail_from) || (reply_to != NULL && !text_is_ascii(reply_to));
    return composing_write(&hand->composing, hand->sender, slot, &ret_message->parts[0], &ret_message->parts[1], err);
}

/* A message that cannot be composed is a fact about its recipient. */
static void decide_failed(struct sender *sender, struct slot *slot, const struct error *why)
{
    pthread_mutex_lock(&sender->mutex);
    struct delivery_result result = slot->piece->batch.results[slot - slot->piece->slots];
    result.outcome = DELIVERY_FAILED;
    result.reason = arena_dup(slot->piece->arena, why->message);
    slot_decide(sender, slot, &result);
    pthread_mutex_unlock(&sender->mutex);
}

static bool next(void *context, struct smtp_message *ret_message)
{
    struct hand *hand = context;
    struct slot *slot;
    while ((slot = take_slot(hand)) != NULL) {
        struct error err = { .code = ERR_NONE };
        ret_message->tag = slot;
        if (slot->piece->letter != NULL) {
            give_letter(slot, ret_message);
            return true;
        }
        if (give_message(hand, slot, ret_message, &err))
            return true;
        if (err.code != ERR_INVALID_REQUEST)
            sender_log("sender.compose", &err);
        decide_failed(hand->sender, slot, &err);
    }
    return false;
}

/* A process that was frozen may find its ranges taken when it wakes. */
static bool is_still_ours(struct sender *sender, const struct piece *piece)
{
    pthread_mutex_lock(&sender->mutex);
    bool ours = !piece->is_lost && clock_monotonic_us() - sender->seen_us < LINE_UNSEEN_MAX_US;
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

static bool before_dot(void *context, void *tag)
{
    struct sender *sender = ((struct hand *)context)->sender;
    struct slot *slot = tag;
    int64_t ignored;
    if (slot->piece->letter != NULL)
        return is_wanted(sender, slot->piece);
    slot->is_withheld = !is_still_ours(sender, slot->piece);
    if (slot->is_withheld)
        return false;
    slot->is_dot_out = journal_dot(sender->journal, &slot->key, &ignored);
    slot->is_withheld = !slot->is_dot_out;
    if (slot->is_dot_out)
        return true;
    pause_for_journal(sender);
    return false;
}

static void end_letter(struct sender *sender, struct slot *slot, const struct smtp_outcome *outcome)
{
    struct piece *piece = slot->piece;
    pthread_mutex_lock(&sender->mutex);
    if (outcome->end == SMTP_NOT_SENT && !sender->is_stopping && !piece->is_orphan) {
        slot_give_back(sender, slot);
    } else {
        piece->outcome = *outcome;
        piece->is_letter_done = true;
        pthread_cond_broadcast(&sender->decided);
    }
    bool is_orphan = piece->is_orphan;
    if (is_orphan)
        line_remove(sender, piece);
    pthread_mutex_unlock(&sender->mutex);
    if (is_orphan)
        arena_free(piece->arena);
}

/* A message that costs one session after the other waits as others do that a relay put off. */
static bool is_worn_out(struct slot *slot, const struct smtp_outcome *outcome)
{
    if (outcome->stage > SMTP_STAGE_CONNECT && !slot->is_withheld)
        slot->losses++;
    slot->is_withheld = false;
    return slot->losses >= LOSSES_MAX;
}

static void done(void *context, void *tag, const struct smtp_outcome *outcome)
{
    struct hand *hand = context;
    struct sender *sender = hand->sender;
    struct slot *slot = tag;
    struct piece *piece = slot->piece;
    int64_t ignored;
    if (piece->letter != NULL) {
        end_letter(sender, slot, outcome);
        return;
    }
    /* Also that it did not leave after all. */
    bool is_told = outcome->end == SMTP_REPLIED || (outcome->end == SMTP_NOT_SENT && slot->is_dot_out);
    if (is_told && !journal_reply(sender->journal, &slot->key, outcome, &ignored))
        log_event(LOG_ERROR, "sender.journal", "A reply could not be written down.");
    slot->is_dot_out = false;
    pthread_mutex_lock(&sender->mutex);
    if (outcome->end == SMTP_NOT_SENT && !is_worn_out(slot, outcome)) {
        slot_give_back(sender, slot);
    } else {
        struct delivery_result result = decide_result(&sender->config.rules, &piece->batch, (size_t)(slot - piece->slots), outcome,
                                                      clock_now_us(), draw(hand), piece->arena);
        slot_decide(sender, slot, &result);
    }
    pthread_mutex_unlock(&sender->mutex);
}

/* ---- Their life ---- */

static void *run(void *argument)
{
    struct hand *hand = argument;
    smtp_event_loop_run(hand->loop, STOP_WAIT_MS);
    return NULL;
}

void hands_start(struct sender *sender)
{
    sender->hand_count = sender->config.relays != NULL ? sender->config.hands : 0;
    sender->hands = calloc((size_t)sender->hand_count + 1, sizeof(*sender->hands));
    if (sender->hands == NULL)
        abort();
    for (int i = 0; i < sender->hand_count; i++) {
        struct hand *hand = &sender->hands[i];
        hand->sender = sender;
        hand->events = (struct smtp_events){ .context = hand, .next = next, .before_dot = before_dot, .done = done };
        random_bytes(&hand->random, sizeof(hand->random));
        composing_begin(&hand->composing);
        hand->loop = smtp_event_loop_new(sender->config.relays, sender->hand_count, sender->config.helo_name, &hand->events);
        if (pthread_create(&hand->thread, NULL, run, hand) != 0)
            abort();
    }
}

void hands_wake(struct sender *sender)
{
    for (int i = 0; i < sender->hand_count; i++)
        smtp_event_loop_wake(sender->hands[i].loop);
}

void hands_stop(struct sender *sender)
{
    for (int i = 0; i < sender->hand_count; i++)
        smtp_event_loop_stop(sender->hands[i].loop);
    for (int i = 0; i < sender->hand_count; i++)
        pthread_join(sender->hands[i].thread, NULL);
}

void hands_free(struct sender *sender)
{
    for (int i = 0; i < sender->hand_count; i++) {
        smtp_event_loop_free(sender->hands[i].loop);
        composing_end(&sender->hands[i].composing);
    }
    free(sender->hands);
}
