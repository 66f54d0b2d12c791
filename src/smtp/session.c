#include "smtp/session.h"

#include "smtp/connect.h"
#include "smtp/session_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { IDLE_MS = 15 * 1000, LEAVING_MS = 5 * 1000 };

static_assert((int)SMTP_REPLY_TEXT_BYTES == (int)SMTP_TEXT_MAX_BYTES, "an outcome holds the text of an answer");

void smtp_session_init(struct smtp_session *session, struct smtp_event_loop *loop, uint32_t index)
{
    *session = (struct smtp_session){ .loop = loop, .index = index, .fd = -1 };
    smtp_transaction_init(&session->letters[0]);
    smtp_transaction_init(&session->letters[1]);
    buf_init(&session->commands, 8192);
}

void smtp_session_done(struct smtp_session *session)
{
    smtp_transaction_done(&session->letters[0]);
    smtp_transaction_done(&session->letters[1]);
    buf_done(&session->commands);
}

/* ---- Deadlines ---- */

void smtp_session_renew_deadline(struct smtp_session *session)
{
    const struct smtp_settings *settings = &session->relay->settings;
    const struct smtp_pending_reply *pending_replies = smtp_pending_reply_first(session);
    bool awaits_final =
        pending_replies != NULL && pending_replies->step == SMTP_STEP_FINAL && session->written >= pending_replies->end;
    int64_t ms = (int64_t)(awaits_final ? settings->final_timeout_s : settings->timeout_s) * 1000;
    if (session->phase == SMTP_LEAVING)
        ms = LEAVING_MS;
    else if (pending_replies == NULL && session->out == NULL)
        ms = IDLE_MS;
    smtp_event_loop_set_deadline(session, ms);
}

/* ---- Ends ---- */

static bool is_dot_out(const struct smtp_session *session, const struct smtp_transaction *letter)
{
    return letter == session->sending && session->written >= letter->dot_end;
}

static void close_session(struct smtp_session *session)
{
    smtp_relay_abandon(session->relay, &session->turn);
    smtp_connect_end(session);
    buf_clear(&session->commands);
    session->phase = SMTP_FREE;
    smtp_event_loop_vacate(session);
}

/* How far the envelope had come: the command whose reply is due. */
static enum smtp_stage stage_reached(const struct smtp_session *session)
{
    if (session->phase == SMTP_CONNECTING)
        return SMTP_STAGE_CONNECT;
    for (unsigned i = 0; i < session->pending_count; i++) {
        enum smtp_step step = session->pending_replies[(session->pending_first + i) % SMTP_MAX_PENDING_REPLIES].step;
        if (step != SMTP_STEP_FINAL)
            return smtp_stage_of(step);
    }
    return SMTP_STAGE_MAIL;
}

static void settle_lost(struct smtp_session *session, struct smtp_transaction *letter, const char *why)
{
    if (!letter->is_refused) {
        bool is_uncertain = is_dot_out(session, letter);
        smtp_transaction_decide(letter, SMTP_STAGE_DATA, 0, "", why);
        letter->outcome.end = is_uncertain ? SMTP_UNCERTAIN : SMTP_NOT_SENT;
        if (is_uncertain)
            letter->outcome.stage = SMTP_STAGE_FINAL;
        else if (letter == session->coming)
            letter->outcome.stage = stage_reached(session);
    }
    smtp_event_loop_settle(session, letter);
}

void smtp_session_end(struct smtp_session *session, const char *why)
{
    struct smtp_transaction *sending = session->sending;
    struct smtp_transaction *coming = session->coming;
    if (sending != NULL)
        settle_lost(session, sending, why);
    if (coming != NULL)
        settle_lost(session, coming, why);
    session->sending = session->coming = NULL;
    close_session(session);
}

void smtp_session_fail(struct smtp_session *session, const char *why)
{
    char text[SMTP_TROUBLE_MAX_BYTES];
    snprintf(text, sizeof(text), "%s", why); /* `why` may be of the session */
    /* First, so that the messages are not asked for again for this relay. */
    smtp_relay_failed(session->relay, &session->turn, text);
    smtp_session_end(session, text);
}

void smtp_session_lose(struct smtp_session *session, const char *why)
{
    bool was_asked = session->phase == SMTP_OPEN && (session->pending_count > 0 || session->out != NULL);
    if (was_asked && !session->did_work)
        smtp_session_fail(session, why);
    else
        smtp_session_end(session, why);
}

/* ---- Taking messages ---- */

static void set_idle(struct smtp_session *session, bool is_idle)
{
    if (session->is_idle == is_idle)
        return;
    session->is_idle = is_idle;
    session->loop->idle_count += is_idle ? 1U : -1U;
}

void smtp_session_rest(struct smtp_session *session)
{
    if (session->begun >= session->relay->settings.messages)
        return smtp_write_quit(session);
    set_idle(session, true);
    smtp_session_renew_deadline(session);
}

/* What this relay cannot be given is decided here, as it would (RFC 6531 §3.7.4.2). */
static bool can_carry(const struct smtp_session *session, struct smtp_transaction *letter)
{
    if (!letter->needs_smtputf8 || session->extensions.smtputf8)
        return true;
    smtp_transaction_decide(letter, SMTP_STAGE_RCPT, 553, "5.6.7", "The relay has no SMTPUTF8, which this address needs");
    return false;
}

bool smtp_session_take(struct smtp_session *session)
{
    enum { MOST_REFUSED_IN_A_ROW = 32 };
    struct smtp_event_loop *loop = session->loop;
    struct smtp_transaction *letter = session->sending == &session->letters[0] ? &session->letters[1] : &session->letters[0];
    if (session->begun >= session->relay->settings.messages || !smtp_relay_begin(session->relay, &session->turn))
        return false;
    for (int i = 0; i < MOST_REFUSED_IN_A_ROW; i++) {
        struct smtp_message message = { .tag = NULL };
        if (!smtp_event_loop_next(loop, session->relay, &message))
            break;
        bool is_possible = smtp_transaction_fill(letter, &message);
        letter->destination =
            smtp_destination_key(session->relay, smtp_transaction_domain(letter), strlen(smtp_transaction_domain(letter)));
        is_possible = is_possible && (session->phase == SMTP_FREE || can_carry(session, letter));
        if (is_possible) {
            session->coming = letter;
            session->next_step = SMTP_STEP_MAIL;
            session->begun++;
            return true;
        }
        smtp_event_loop_settle(session, letter);
    }
    smtp_relay_abandon(session->relay, &session->turn);
    return false;
}

bool smtp_session_start(struct smtp_session *session, struct smtp_relay *relay)
{
    session->relay = relay;
    session->turn = (struct smtp_turn){ .failure_epoch = 0 };
    session->sending = session->coming = NULL;
    session->must_reset = session->is_last = session->is_idle = session->did_work = false;
    session->begun = 0;
    session->pending_count = 0;
    session->out = NULL;
    session->written = 0;
    session->is_watched = session->watches_writing = false;
    if (!smtp_session_take(session))
        return false;
    session->phase = SMTP_CONNECTING;
    smtp_event_loop_set_deadline(session, (int64_t)relay->settings.timeout_s * 1000);
    smtp_connect_begin(session);
    return true;
}

void smtp_session_offer(struct smtp_session *session)
{
    if (!smtp_session_take(session))
        return;
    set_idle(session, false);
    smtp_write_envelope(session);
}

void smtp_session_connected(struct smtp_session *session)
{
    session->phase = SMTP_OPEN;
    smtp_event_loop_watch(session, false);
    if (can_carry(session, session->coming))
        return smtp_write_envelope(session);
    smtp_event_loop_settle(session, session->coming);
    session->coming = NULL;
    smtp_relay_abandon(session->relay, &session->turn);
    smtp_session_rest(session);
}

void smtp_session_unreachable(struct smtp_session *session, const char *why)
{
    smtp_session_fail(session, why);
}

/* ---- What the loop tells ---- */

void smtp_session_ready(struct smtp_session *session, bool can_write)
{
    if (session->phase != SMTP_OPEN && session->phase != SMTP_LEAVING)
        return;
    if (can_write && session->out != NULL)
        smtp_write_more(session);
    if (session->phase != SMTP_FREE)
        smtp_handle_replies(session);
}

void smtp_session_overdue(struct smtp_session *session)
{
    if (session->phase == SMTP_CONNECTING)
        return smtp_session_fail(session, "it did not answer in time");
    if (session->phase == SMTP_LEAVING)
        return smtp_session_end(session, "");
    if (!session->is_idle)
        return smtp_session_fail(session, "it did not reply in time");
    set_idle(session, false);
    smtp_write_quit(session);
}

void smtp_session_stop(struct smtp_session *session, bool now)
{
    static const char why[] = "the sender stops";
    bool waits = session->phase == SMTP_OPEN && session->sending != NULL && is_dot_out(session, session->sending);
    if (session->is_idle) { /* as a courtesy; nobody waits for the reply */
        size_t moved;
        (void)smtp_connect_write(session, "QUIT\r\n", strlen("QUIT\r\n"), &moved);
    }
    if (!waits || now)
        return smtp_session_end(session, why);
    struct smtp_transaction *coming = session->coming;
    if (coming == NULL)
        return;
    settle_lost(session, coming, why);
    session->coming = NULL;
}
