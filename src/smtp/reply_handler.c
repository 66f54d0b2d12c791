#include "smtp/session_private.h"

#include "smtp/connect.h"

#include <assert.h>
#include <string.h>

enum { READ_BYTES = 8192, CODE_CLOSING = 421, CODE_GO_AHEAD = 354 };

/* ---- Replies ---- */

enum smtp_stage smtp_stage_of(enum smtp_step step)
{
    switch (step) {
    case SMTP_STEP_RSET:
    case SMTP_STEP_MAIL:
    case SMTP_STEP_QUIT:
        return SMTP_STAGE_MAIL;
    case SMTP_STEP_RCPT:
        return SMTP_STAGE_RCPT;
    case SMTP_STEP_DATA:
        return SMTP_STAGE_DATA;
    case SMTP_STEP_FINAL:
        return SMTP_STAGE_FINAL;
    }
    return SMTP_STAGE_MAIL;
}

static void decide(struct smtp_transaction *letter, enum smtp_stage stage, const struct smtp_reply *answer)
{
    smtp_transaction_decide(letter, stage, answer->code, answer->enhanced, answer->text);
    letter->is_refused = answer->code >= 400;
}

/* The envelope came to nothing; the relay decided that. */
static void settle_refused(struct smtp_session *session)
{
    struct smtp_transaction *letter = session->coming;
    assert(letter != NULL);
    session->coming = NULL;
    session->must_reset = true;
    session->did_work = true;
    smtp_relay_worked(session->relay, &session->turn, false);
    smtp_event_loop_settle(session, letter);
    smtp_session_rest(session);
}

/* Whether MAIL was refused for this sender or this size, which says nothing about the relay (RFC 3463 §3.2, §3.4). */
static bool is_about_message(const struct smtp_reply *answer)
{
    const char *detail = answer->enhanced[0] != '\0' ? answer->enhanced + 1 : NULL;
    if (detail == NULL)
        return answer->code == 501 || answer->code == 552 || answer->code == 553;
    return strcmp(detail, ".1.7") == 0 || strcmp(detail, ".1.8") == 0 || strcmp(detail, ".3.4") == 0;
}

/* An envelope's command was refused. With PIPELINING the replies to the rest of it are still to come. */
static void refuse(struct smtp_session *session, enum smtp_stage stage, const struct smtp_reply *answer)
{
    decide(session->coming, stage, answer);
    if (stage == SMTP_STAGE_MAIL && !is_about_message(answer)) {
        char why[SMTP_TROUBLE_MAX_BYTES];
        smtp_reply_describe(answer, "it refused the sender", why, sizeof(why));
        smtp_relay_failed(session->relay, &session->turn, why);
    }
    if (!session->extensions.pipelining)
        settle_refused(session);
}

static void on_final(struct smtp_session *session, const struct smtp_reply *answer)
{
    struct smtp_transaction *letter = session->sending;
    session->sending = NULL;
    session->did_work = true;
    decide(letter, SMTP_STAGE_FINAL, answer);
    smtp_relay_worked(session->relay, &session->turn, answer->code < 300);
    smtp_event_loop_settle(session, letter);
    if (session->loop->is_stopping)
        return smtp_session_end(session, "the sender stops");
    if (session->is_last) {
        session->phase = SMTP_LEAVING;
        smtp_session_renew_deadline(session);
    } else if (session->coming == NULL) {
        smtp_session_rest(session);
    }
}

/* The replies to MAIL, RCPT and DATA. */
static void on_envelope(struct smtp_session *session, enum smtp_step step, const struct smtp_reply *answer)
{
    bool is_refused = session->coming->is_refused;
    if (answer->code >= 400 && !is_refused)
        refuse(session, smtp_stage_of(step), answer);
    bool ends = step == SMTP_STEP_DATA && session->extensions.pipelining;
    if (session->coming == NULL || session->coming->is_refused) {
        /* To be let in after a refusal (RFC 2920 §3.1) leaves only the way out: any end of the data would be a message. */
        if (ends && answer->code == CODE_GO_AHEAD) {
            smtp_relay_worked(session->relay, &session->turn, false);
            return smtp_session_end(session, "the relay wanted the body of a message it had refused");
        }
        if (ends)
            settle_refused(session);
        return;
    }
    if (step == SMTP_STEP_DATA)
        smtp_write_body(session);
    else if (!session->extensions.pipelining)
        smtp_write_envelope(session);
}

/* Whether a command can be answered so. */
static bool is_fitting(enum smtp_step step, int code)
{
    if (code >= 400)
        return step != SMTP_STEP_RSET;
    return (code == CODE_GO_AHEAD) == (step == SMTP_STEP_DATA) && (code < 300 || code == CODE_GO_AHEAD);
}

/* 421: the relay closes. That is a reply to the message when its recipient or content was before it, else to nobody's. */
static void on_closing(struct smtp_session *session, const struct smtp_reply *answer)
{
    const struct smtp_pending_reply *pending_replies = smtp_pending_reply_first(session);
    char why[SMTP_TROUBLE_MAX_BYTES];
    smtp_reply_describe(answer, "it closed the session", why, sizeof(why));
    if (pending_replies == NULL || session->phase == SMTP_LEAVING) /* an idle session ends like that everywhere */
        return smtp_session_end(session, why);
    bool is_written = session->written >= pending_replies->end;
    if (pending_replies->step == SMTP_STEP_FINAL && session->sending != NULL) {
        decide(session->sending, SMTP_STAGE_FINAL, answer);
    } else if (is_written && session->coming != NULL && !session->coming->is_refused &&
               (pending_replies->step == SMTP_STEP_RCPT || pending_replies->step == SMTP_STEP_DATA)) {
        decide(session->coming, smtp_stage_of(pending_replies->step), answer);
    }
    smtp_session_fail(session, why);
}

/* A reply before its command was written: a relay may give up a body half-way; anything else is nonsense. */
static void on_early(struct smtp_session *session, const struct smtp_pending_reply *pending_replies,
                     const struct smtp_reply *answer)
{
    if (pending_replies->step == SMTP_STEP_FINAL && answer->code >= 400) {
        decide(session->sending, SMTP_STAGE_FINAL, answer);
        session->did_work = true;
        smtp_relay_worked(session->relay, &session->turn, false);
        return smtp_session_end(session, "the relay wanted no more of the message");
    }
    smtp_session_lose(session, "the relay answered before it was asked");
}

static void on_answer(struct smtp_session *session, const struct smtp_reply *answer)
{
    const struct smtp_pending_reply *first = smtp_pending_reply_first(session);
    if (answer->code == CODE_CLOSING)
        return on_closing(session, answer);
    if (first == NULL)
        return smtp_session_end(session, "the relay spoke without being asked");
    struct smtp_pending_reply pending_replies = *first;
    if (session->written < pending_replies.end)
        return on_early(session, &pending_replies, answer);
    if (pending_replies.step == SMTP_STEP_QUIT)
        return smtp_session_end(session, "");
    if (!is_fitting(pending_replies.step, answer->code))
        return smtp_session_lose(session, "the relay's reply does not fit the command");
    smtp_pending_reply_drop_first(session);
    smtp_session_renew_deadline(session);
    if (pending_replies.step == SMTP_STEP_FINAL)
        return on_final(session, answer);
    if (pending_replies.step != SMTP_STEP_RSET)
        return on_envelope(session, pending_replies.step, answer);
    if (!session->extensions.pipelining)
        smtp_write_envelope(session);
}

/* ---- Reading ---- */

/* False: the session is over. */
static bool hear(struct smtp_session *session, const char *bytes, size_t size)
{
    while (size > 0) {
        switch (smtp_reply_parse(&session->reader, &bytes, &size)) {
        case SMTP_REPLY_INCOMPLETE:
            return true;
        case SMTP_REPLY_MALFORMED:
            smtp_session_lose(session, "the relay's reply is malformed");
            return false;
        case SMTP_REPLY_READY:
            on_answer(session, &session->reader.answer);
            break;
        }
        if (session->phase == SMTP_FREE)
            return false;
    }
    return true;
}

/* Reads what there is. A plain socket tells again when there is more; what TLS has decrypted must be fetched. */
void smtp_handle_replies(struct smtp_session *session)
{
    char bytes[READ_BYTES];
    size_t size = 0;
    for (;;) {
        enum smtp_wire wire = smtp_connect_read(session, bytes, sizeof(bytes), &size);
        if (wire == SMTP_WIRE_BUSY)
            return;
        if (wire == SMTP_WIRE_LOST)
            return smtp_session_lose(session, "the relay closed the connection");
        if (!hear(session, bytes, size) || (!session->is_encrypted && size < sizeof(bytes)))
            return;
    }
}
