#include "smtp/session_private.h"

#include "base/panic.h"

#include "smtp/connect.h"

/* A write that does not reach the final dot ends after this size, so that before_dot is not called earlier than needed. */
enum { CHUNK_BYTES = 128 * 1024 };

/* ---- Pending replies ---- */

static void pending_reply_add(struct smtp_session *session, enum smtp_step step, uint64_t end)
{
    if (session->pending_count >= SMTP_MAX_PENDING_REPLIES)
        panic("an SMTP session waits for too many replies");
    unsigned at = (session->pending_first + session->pending_count++) % SMTP_MAX_PENDING_REPLIES;
    session->pending_replies[at] = (struct smtp_pending_reply){ .step = step, .end = end };
}

const struct smtp_pending_reply *smtp_pending_reply_first(const struct smtp_session *session)
{
    return session->pending_count > 0 ? &session->pending_replies[session->pending_first] : NULL;
}

void smtp_pending_reply_drop_first(struct smtp_session *session)
{
    session->pending_first = (session->pending_first + 1) % SMTP_MAX_PENDING_REPLIES;
    session->pending_count--;
}

/* ---- Writing ---- */

/* The bytes that may be written now: all, or one chunk while the final dot is far away. */
static size_t writable_bytes(const struct smtp_session *session)
{
    size_t rest = session->out->size - session->out_at;
    if (session->sending == NULL || session->sending->is_dot_announced)
        return rest;
    uint64_t before_dot = session->sending->dot_end - session->written;
    return before_dot > 2 * (uint64_t)CHUNK_BYTES ? CHUNK_BYTES : rest;
}

/* Calls before_dot if the next bytes can reach the final dot. False: they must not be written. */
static bool announce_dot(struct smtp_session *session, size_t size)
{
    const struct smtp_events *events = &session->loop->events;
    struct smtp_transaction *transaction = session->sending;
    bool is_due = transaction != NULL && !transaction->is_dot_announced && session->written + size >= transaction->dot_end;
    if (!is_due)
        return true;
    transaction->is_dot_announced = true;
    return events->before_dot(events->context, transaction->tag);
}

/* Writing failed. The relay may have sent a reply with the reason. */
static void on_write_lost(struct smtp_session *session)
{
    session->out = NULL;
    smtp_handle_replies(session);
    if (session->phase != SMTP_FREE)
        smtp_session_lose(session, "the connection was lost");
}

void smtp_write_more(struct smtp_session *session)
{
    while (session->out != NULL && session->out_at < session->out->size) {
        size_t size = writable_bytes(session);
        size_t moved = 0;
        if (!announce_dot(session, size))
            return smtp_session_end(session, "the message was withdrawn before its end");
        enum smtp_wire wire = smtp_connect_write(session, session->out->data + session->out_at, size, &moved);
        if (wire == SMTP_WIRE_LOST)
            return on_write_lost(session);
        session->out_at += moved;
        session->written += moved;
        if (wire == SMTP_WIRE_BUSY) {
            smtp_event_loop_watch(session, true);
            return smtp_session_renew_deadline(session);
        }
    }
    session->out = NULL;
    smtp_event_loop_watch(session, false);
    smtp_session_renew_deadline(session);
}

static void start_writing(struct smtp_session *session, const struct buf *bytes)
{
    if (session->out != NULL)
        panic("an SMTP session already writes a message");
    session->out = bytes;
    session->out_at = 0;
    smtp_write_more(session);
}

/* ---- Commands ---- */

/* The envelope sender at this relay. */
static const char *sender_of(const struct smtp_session *session, const struct smtp_transaction *transaction)
{
    bool has_return_path = transaction->return_path[0] != '\0' && !session->relay->settings.ignores_return_path;
    return has_return_path ? transaction->return_path : transaction->mail_from;
}

/* Adds a command to `out` and a pending reply for it. */
static void add_command(struct smtp_session *session, struct buf *out, enum smtp_step step)
{
    const struct smtp_transaction *transaction = session->upcoming;
    switch (step) {
    case SMTP_STEP_RSET:
        buf_add_text(out, "RSET\r\n");
        break;
    case SMTP_STEP_MAIL:
        buf_add_text(out, "MAIL FROM:<");
        buf_add_text(out, sender_of(session, transaction));
        buf_add_char(out, '>');
        if (session->extensions.size)
            buf_printf(out, " SIZE=%zu", transaction->message_bytes);
        if (transaction->needs_smtputf8)
            buf_add_text(out, " BODY=8BITMIME SMTPUTF8"); /* SMTPUTF8 requires 8BITMIME (RFC 6531 §3.1) */
        buf_add_text(out, "\r\n");
        break;
    case SMTP_STEP_RCPT:
        buf_add_text(out, "RCPT TO:<");
        buf_add_text(out, transaction->rcpt_to);
        buf_add_text(out, ">\r\n");
        break;
    case SMTP_STEP_DATA:
        buf_add_text(out, "DATA\r\n");
        break;
    case SMTP_STEP_QUIT:
        buf_add_text(out, "QUIT\r\n");
        break;
    case SMTP_STEP_FINAL: /* comes with the body */
        return;
    }
    pending_reply_add(session, step, session->written + out->size);
}

/* Adds the commands that may be written together: all of the envelope with pipelining, else one. */
static void add_commands(struct smtp_session *session, struct buf *out)
{
    bool at_once = session->extensions.pipelining;
    if (session->must_reset) {
        session->must_reset = false;
        add_command(session, out, SMTP_STEP_RSET);
        if (!at_once)
            return;
    }
    do {
        add_command(session, out, session->next_step);
        session->next_step++;
    } while (at_once && session->next_step <= SMTP_STEP_DATA);
}

void smtp_write_envelope(struct smtp_session *session)
{
    buf_clear(&session->commands);
    add_commands(session, &session->commands);
    start_writing(session, &session->commands);
}

void smtp_write_quit(struct smtp_session *session)
{
    session->phase = SMTP_LEAVING;
    buf_clear(&session->commands);
    add_command(session, &session->commands, SMTP_STEP_QUIT);
    start_writing(session, &session->commands);
}

/* ---- Bodies ---- */

void smtp_write_body(struct smtp_session *session)
{
    struct smtp_transaction *transaction = session->upcoming;
    session->upcoming = NULL;
    session->sending = transaction;
    transaction->dot_end = session->written + transaction->bytes.size;
    pending_reply_add(session, SMTP_STEP_FINAL, transaction->dot_end);
    /* The end of this message and the envelope of the next travel together (RFC 2920 §3.1). */
    if (session->extensions.pipelining && smtp_session_take(session)) {
        add_commands(session, &transaction->bytes);
    } else if (session->extensions.pipelining && session->begun >= session->relay->settings.messages) {
        session->is_last = true;
        add_command(session, &transaction->bytes, SMTP_STEP_QUIT);
    }
    start_writing(session, &transaction->bytes);
}
