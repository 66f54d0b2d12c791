#include "smtp/session_private.h"

#include "base/panic.h"

#include "smtp/connect.h"

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

static void record_reply(struct smtp_transaction *transaction, enum smtp_stage stage, const struct smtp_reply *reply)
{
    smtp_transaction_decide(transaction, stage, reply->code, reply->enhanced, reply->text);
    transaction->is_refused = reply->code >= 400;
}

/* The relay refused the envelope. */
static void settle_refused(struct smtp_session *session)
{
    struct smtp_transaction *transaction = session->upcoming;
    if (transaction == NULL)
        panic("a reply belongs to no transaction");
    session->upcoming = NULL;
    session->must_reset = true;
    session->did_work = true;
    smtp_relay_worked(session->relay, &session->permit, false);
    smtp_event_loop_settle(session, transaction);
    smtp_session_become_idle(session);
}

/* Whether MAIL was refused for this sender or this size, which is no failure of the relay (RFC 3463 §3.2, §3.4). */
static bool is_about_message(const struct smtp_reply *reply)
{
    const char *detail = reply->enhanced[0] != '\0' ? reply->enhanced + 1 : NULL;
    if (detail == NULL)
        return reply->code == 501 || reply->code == 552 || reply->code == 553;
    return strcmp(detail, ".1.7") == 0 || strcmp(detail, ".1.8") == 0 || strcmp(detail, ".3.4") == 0;
}

/* A command of the envelope was refused. With pipelining the replies to the later commands follow. */
static void on_command_refused(struct smtp_session *session, enum smtp_stage stage, const struct smtp_reply *reply)
{
    record_reply(session->upcoming, stage, reply);
    if (stage == SMTP_STAGE_MAIL && !is_about_message(reply)) {
        char why[SMTP_TROUBLE_MAX_BYTES];
        smtp_reply_describe(reply, "it refused the sender", why, sizeof(why));
        smtp_relay_failed(session->relay, &session->permit, why);
    }
    if (!session->extensions.pipelining)
        settle_refused(session);
}

static void on_final(struct smtp_session *session, const struct smtp_reply *reply)
{
    struct smtp_transaction *transaction = session->sending;
    session->sending = NULL;
    session->did_work = true;
    record_reply(transaction, SMTP_STAGE_FINAL, reply);
    smtp_relay_worked(session->relay, &session->permit, reply->code < 300);
    smtp_event_loop_settle(session, transaction);
    if (session->loop->is_stopping)
        return smtp_session_end(session, "the sender stops");
    if (session->is_last) {
        session->phase = SMTP_LEAVING;
        smtp_session_renew_deadline(session);
    } else if (session->upcoming == NULL) {
        smtp_session_become_idle(session);
    }
}

/* The replies to MAIL, RCPT and DATA. */
static void on_envelope(struct smtp_session *session, enum smtp_step step, const struct smtp_reply *reply)
{
    bool is_refused = session->upcoming->is_refused;
    if (reply->code >= 400 && !is_refused)
        on_command_refused(session, smtp_stage_of(step), reply);
    bool ends = step == SMTP_STEP_DATA && session->extensions.pipelining;
    if (session->upcoming == NULL || session->upcoming->is_refused) {
        /* After a 354 that follows a refusal (RFC 2920 §3.1) the session must end: any end of the data would be a message. */
        if (ends && reply->code == CODE_GO_AHEAD) {
            smtp_relay_worked(session->relay, &session->permit, false);
            return smtp_session_end(session, "the relay asked for the body of a refused message");
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

/* Whether the code is a valid reply to the command. */
static bool is_fitting(enum smtp_step step, int code)
{
    if (code >= 400)
        return step != SMTP_STEP_RSET;
    return (code == CODE_GO_AHEAD) == (step == SMTP_STEP_DATA) && (code < 300 || code == CODE_GO_AHEAD);
}

/* Handles 421: the relay closes the session. It is also the reply to a message whose RCPT, DATA or body is pending. */
static void on_closing(struct smtp_session *session, const struct smtp_reply *reply)
{
    const struct smtp_pending_reply *pending = smtp_pending_reply_first(session);
    char why[SMTP_TROUBLE_MAX_BYTES];
    smtp_reply_describe(reply, "it closed the session", why, sizeof(why));
    if (pending == NULL || session->phase == SMTP_LEAVING) /* normal for an idle session */
        return smtp_session_end(session, why);
    bool is_written = session->written >= pending->end;
    if (pending->step == SMTP_STEP_FINAL && session->sending != NULL) {
        record_reply(session->sending, SMTP_STAGE_FINAL, reply);
    } else if (is_written && session->upcoming != NULL && !session->upcoming->is_refused &&
               (pending->step == SMTP_STEP_RCPT || pending->step == SMTP_STEP_DATA)) {
        record_reply(session->upcoming, smtp_stage_of(pending->step), reply);
    }
    smtp_session_fail(session, why);
}

/* Handles a reply that came before its command was written. Only the refusal of an unfinished body is valid. */
static void on_early(struct smtp_session *session, const struct smtp_pending_reply *pending, const struct smtp_reply *reply)
{
    if (pending->step == SMTP_STEP_FINAL && reply->code >= 400) {
        record_reply(session->sending, SMTP_STAGE_FINAL, reply);
        session->did_work = true;
        smtp_relay_worked(session->relay, &session->permit, false);
        return smtp_session_end(session, "the relay refused the message before its end");
    }
    smtp_session_lose(session, "the relay replied before the command was sent");
}

static void on_reply(struct smtp_session *session, const struct smtp_reply *reply)
{
    const struct smtp_pending_reply *first = smtp_pending_reply_first(session);
    if (reply->code == CODE_CLOSING)
        return on_closing(session, reply);
    if (first == NULL)
        return smtp_session_end(session, "the relay sent an unexpected reply");
    struct smtp_pending_reply pending = *first;
    if (session->written < pending.end)
        return on_early(session, &pending, reply);
    if (pending.step == SMTP_STEP_QUIT)
        return smtp_session_end(session, "");
    if (!is_fitting(pending.step, reply->code))
        return smtp_session_lose(session, "the relay's reply does not fit the command");
    smtp_pending_reply_drop_first(session);
    smtp_session_renew_deadline(session);
    if (pending.step == SMTP_STEP_FINAL)
        return on_final(session, reply);
    if (pending.step != SMTP_STEP_RSET)
        return on_envelope(session, pending.step, reply);
    if (!session->extensions.pipelining)
        smtp_write_envelope(session);
}

/* ---- Reading ---- */

/* False: the session is over. */
static bool handle_bytes(struct smtp_session *session, const char *bytes, size_t size)
{
    while (size > 0) {
        switch (smtp_reply_parse(&session->parser, &bytes, &size)) {
        case SMTP_REPLY_INCOMPLETE:
            return true;
        case SMTP_REPLY_MALFORMED:
            smtp_session_lose(session, "the relay's reply is malformed");
            return false;
        case SMTP_REPLY_READY:
            on_reply(session, &session->parser.reply);
            break;
        }
        if (session->phase == SMTP_FREE)
            return false;
    }
    return true;
}

/* Reads the bytes that have arrived. epoll reports a plain socket again when it has more, but not bytes that TLS has decrypted. */
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
        if (!handle_bytes(session, bytes, size) || (!session->is_encrypted && size < sizeof(bytes)))
            return;
    }
}
