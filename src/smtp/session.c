#include "smtp/session.h"

#include "smtp/connect.h"
#include "smtp/session_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { IDLE_MS = 15 * 1000, LEAVING_MS = 5 * 1000 };

static_assert((int)SMTP_REPLY_TEXT_BYTES == (int)SMTP_TEXT_MAX_BYTES, "an outcome holds the text of a reply");

void smtp_session_init(struct smtp_session *session, struct smtp_event_loop *loop, uint32_t index)
{
    *session = (struct smtp_session){ .loop = loop, .index = index, .fd = -1 };
    smtp_transaction_init(&session->transactions[0]);
    smtp_transaction_init(&session->transactions[1]);
    buf_init(&session->commands, 8192);
}

void smtp_session_done(struct smtp_session *session)
{
    smtp_transaction_done(&session->transactions[0]);
    smtp_transaction_done(&session->transactions[1]);
    buf_done(&session->commands);
}

/* ---- Deadlines ---- */

void smtp_session_renew_deadline(struct smtp_session *session)
{
    const struct smtp_settings *settings = &session->relay->settings;
    const struct smtp_pending_reply *pending = smtp_pending_reply_first(session);
    bool awaits_final = pending != NULL && pending->step == SMTP_STEP_FINAL && session->written >= pending->end;
    int64_t ms = (int64_t)(awaits_final ? settings->final_timeout_s : settings->timeout_s) * 1000;
    if (session->phase == SMTP_LEAVING)
        ms = LEAVING_MS;
    else if (pending == NULL && session->out == NULL)
        ms = IDLE_MS;
    smtp_event_loop_set_deadline(session, ms);
}

/* ---- Ending ---- */

static bool is_dot_out(const struct smtp_session *session, const struct smtp_transaction *transaction)
{
    return transaction == session->sending && session->written >= transaction->dot_end;
}

static void close_session(struct smtp_session *session)
{
    smtp_relay_abandon(session->relay, &session->permit);
    smtp_connect_end(session);
    buf_clear(&session->commands);
    session->phase = SMTP_FREE;
    smtp_event_loop_vacate(session);
}

/* The stage of the envelope: its first command without a reply. */
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

static void settle_lost(struct smtp_session *session, struct smtp_transaction *transaction, const char *why)
{
    if (!transaction->is_refused) {
        bool is_uncertain = is_dot_out(session, transaction);
        smtp_transaction_decide(transaction, SMTP_STAGE_DATA, 0, "", why);
        transaction->outcome.end = is_uncertain ? SMTP_UNCERTAIN : SMTP_NOT_SENT;
        if (is_uncertain)
            transaction->outcome.stage = SMTP_STAGE_FINAL;
        else if (transaction == session->upcoming)
            transaction->outcome.stage = stage_reached(session);
    }
    smtp_event_loop_settle(session, transaction);
}

void smtp_session_end(struct smtp_session *session, const char *why)
{
    struct smtp_transaction *sending = session->sending;
    struct smtp_transaction *upcoming = session->upcoming;
    if (sending != NULL)
        settle_lost(session, sending, why);
    if (upcoming != NULL)
        settle_lost(session, upcoming, why);
    session->sending = session->upcoming = NULL;
    close_session(session);
}

void smtp_session_fail(struct smtp_session *session, const char *why)
{
    char text[SMTP_TROUBLE_MAX_BYTES];
    snprintf(text, sizeof(text), "%s", why); /* `why` may belong to the session */
    /* Before the end of the session, which gives the messages back: this relay must not get them again. */
    smtp_relay_failed(session->relay, &session->permit, text);
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

void smtp_session_become_idle(struct smtp_session *session)
{
    if (session->begun >= session->relay->settings.messages)
        return smtp_write_quit(session);
    set_idle(session, true);
    smtp_session_renew_deadline(session);
}

/* Refuses a message that this relay cannot carry, as the relay would (RFC 6531 §3.7.4.2). */
static bool can_carry(const struct smtp_session *session, struct smtp_transaction *transaction)
{
    if (!transaction->needs_smtputf8 || session->extensions.smtputf8)
        return true;
    smtp_transaction_decide(transaction, SMTP_STAGE_RCPT, 553, "5.6.7",
                            "The relay does not support SMTPUTF8, which this address needs");
    return false;
}

bool smtp_session_take(struct smtp_session *session)
{
    enum { MOST_REFUSED_IN_A_ROW = 32 };
    struct smtp_event_loop *loop = session->loop;
    struct smtp_transaction *transaction =
        session->sending == &session->transactions[0] ? &session->transactions[1] : &session->transactions[0];
    if (session->begun >= session->relay->settings.messages || !smtp_relay_begin(session->relay, &session->permit))
        return false;
    for (int i = 0; i < MOST_REFUSED_IN_A_ROW; i++) {
        struct smtp_message message = { .tag = NULL };
        if (!smtp_event_loop_next(loop, session->relay, &message))
            break;
        bool is_possible = smtp_transaction_fill(transaction, &message, session->relay->settings.reports);
        transaction->destination = smtp_destination_key(session->relay, smtp_transaction_domain(transaction),
                                                        strlen(smtp_transaction_domain(transaction)));
        is_possible = is_possible && (session->phase == SMTP_FREE || can_carry(session, transaction));
        if (is_possible) {
            session->upcoming = transaction;
            session->next_step = SMTP_STEP_MAIL;
            session->begun++;
            return true;
        }
        smtp_event_loop_settle(session, transaction);
    }
    smtp_relay_abandon(session->relay, &session->permit);
    return false;
}

bool smtp_session_start(struct smtp_session *session, struct smtp_relay *relay)
{
    session->relay = relay;
    session->permit = (struct smtp_permit){ .failure_epoch = 0 };
    session->sending = session->upcoming = NULL;
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
    if (can_carry(session, session->upcoming))
        return smtp_write_envelope(session);
    smtp_event_loop_settle(session, session->upcoming);
    session->upcoming = NULL;
    smtp_relay_abandon(session->relay, &session->permit);
    smtp_session_become_idle(session);
}

void smtp_session_unreachable(struct smtp_session *session, const char *why)
{
    smtp_session_fail(session, why);
}

/* ---- Events of the loop ---- */

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
        return smtp_session_fail(session, "it did not reply in time");
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
    if (session->is_idle) { /* a courtesy; the reply is not read */
        size_t moved;
        (void)smtp_connect_write(session, "QUIT\r\n", strlen("QUIT\r\n"), &moved);
    }
    if (!waits || now)
        return smtp_session_end(session, why);
    struct smtp_transaction *upcoming = session->upcoming;
    if (upcoming == NULL)
        return;
    settle_lost(session, upcoming, why);
    session->upcoming = NULL;
}
