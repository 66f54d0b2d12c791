/*
 * SMTP session, private part: three files call each other: the life cycle
 * (smtp/session.c), the command writer (smtp/command_writer.c) and the reply
 * handler (smtp/reply_handler.c). Internal to the SMTP client.
 *
 * Any of these functions may end the session. Its phase is then SMTP_FREE, and
 * the caller may read only the phase.
 */
#pragma once

#include "smtp/session.h"

/* ---- Life cycle ---- */

/* Closes the session. Its messages end with the stage that they had reached. */
void smtp_session_end(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* Closes the session and starts the backoff of the relay, which caused the end. */
void smtp_session_fail(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* The relay closed the connection or violated the protocol. Its backoff starts only if it handled no message in this session. */
void smtp_session_lose(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* Takes the next message as `upcoming`, if there is one and the relay's state permits it. */
MUST_CHECK bool smtp_session_take(struct smtp_session *session) NONNULL(1);

/* The session has no message: it waits for one, or quits after its maximum of messages. */
void smtp_session_become_idle(struct smtp_session *session) NONNULL(1);

/* Sets the deadline for the next expected reply. */
void smtp_session_renew_deadline(struct smtp_session *session) NONNULL(1);

/* ---- Command writer ---- */

/* Writes the envelope commands of `upcoming` that may be written now: all with pipelining, else the next one. */
void smtp_write_envelope(struct smtp_session *session) NONNULL(1);

/* Writes the body of `upcoming`, which becomes `sending`; with pipelining also the next envelope or QUIT. */
void smtp_write_body(struct smtp_session *session) NONNULL(1);

void smtp_write_quit(struct smtp_session *session) NONNULL(1);

/* Continues the current write. */
void smtp_write_more(struct smtp_session *session) NONNULL(1);

/* The next expected reply, NULL when none is. */
const struct smtp_pending_reply *smtp_pending_reply_first(const struct smtp_session *session) NONNULL(1) PURE;
void smtp_pending_reply_drop_first(struct smtp_session *session) NONNULL(1);

/* ---- Reply handler ---- */

/* Reads and handles the replies that have arrived. */
void smtp_handle_replies(struct smtp_session *session) NONNULL(1);

/* The stage of a command. */
enum smtp_stage smtp_stage_of(enum smtp_step step) PURE;
