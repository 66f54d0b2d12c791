#include "smtp/session_private.h"

#include "smtp/connect.h"

#include <assert.h>

/* A write that cannot hold the dot yet is cut here, so that before_dot comes no earlier than needed. */
enum { CHUNK_BYTES = 128 * 1024 };

/* ---- What is pending_replies ---- */

static void await(struct smtp_session *session, enum smtp_step step, uint64_t end)
{
    assert(session->pending_count < SMTP_MAX_PENDING_REPLIES);
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

/* Up to where may be written now: the rest, or a piece that ends before the dot while that is far away. */
static size_t writable_bytes(const struct smtp_session *session)
{
    size_t rest = session->out->size - session->out_at;
    if (session->sending == NULL || session->sending->is_dot_announced)
        return rest;
    uint64_t before_dot = session->sending->dot_end - session->written;
    return before_dot > 2 * (uint64_t)CHUNK_BYTES ? CHUNK_BYTES : rest;
}

/* Tells of the dot that the next bytes can hold. False: they must not be written. */
static bool announce_dot(struct smtp_session *session, size_t size)
{
    const struct smtp_events *events = &session->loop->events;
    struct smtp_transaction *letter = session->sending;
    bool is_due = letter != NULL && !letter->is_dot_announced && session->written + size >= letter->dot_end;
    if (!is_due)
        return true;
    letter->is_dot_announced = true;
    return events->before_dot(events->context, letter->tag);
}

/* The relay takes no more. It may have said why. */
static void lose_writing(struct smtp_session *session)
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
            return smtp_session_end(session, "the message was held back before its end");
        enum smtp_wire wire = smtp_connect_write(session, session->out->data + session->out_at, size, &moved);
        if (wire == SMTP_WIRE_LOST)
            return lose_writing(session);
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
    assert(session->out == NULL);
    session->out = bytes;
    session->out_at = 0;
    smtp_write_more(session);
}

/* ---- Commands ---- */

/* Adds a command to what is written next, and awaits its reply. */
static void add_command(struct smtp_session *session, struct buf *out, enum smtp_step step)
{
    const struct smtp_transaction *letter = session->coming;
    switch (step) {
    case SMTP_STEP_RSET:
        buf_add_text(out, "RSET\r\n");
        break;
    case SMTP_STEP_MAIL:
        buf_add_text(out, "MAIL FROM:<");
        buf_add_text(out, letter->mail_from);
        buf_add_char(out, '>');
        if (session->extensions.size)
            buf_printf(out, " SIZE=%zu", letter->message_bytes);
        if (letter->needs_smtputf8)
            buf_add_text(out, " BODY=8BITMIME SMTPUTF8"); /* who offers the second offers the first (RFC 6531 §3.1) */
        buf_add_text(out, "\r\n");
        break;
    case SMTP_STEP_RCPT:
        buf_add_text(out, "RCPT TO:<");
        buf_add_text(out, letter->rcpt_to);
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
    await(session, step, session->written + out->size);
}

/* The commands that may be said together: all of the envelope with PIPELINING, else one. */
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
    struct smtp_transaction *letter = session->coming;
    session->coming = NULL;
    session->sending = letter;
    letter->dot_end = session->written + letter->bytes.size;
    await(session, SMTP_STEP_FINAL, letter->dot_end);
    /* The end of this message and the envelope of the next travel together (RFC 2920 §3.1). */
    if (session->extensions.pipelining && smtp_session_take(session)) {
        add_commands(session, &letter->bytes);
    } else if (session->extensions.pipelining && session->begun >= session->relay->settings.messages) {
        session->is_last = true;
        add_command(session, &letter->bytes, SMTP_STEP_QUIT);
    }
    start_writing(session, &letter->bytes);
}
