/*
 * SMTP conversation: the parts of a session that call each other: its life
 * (smtp/session.c), what it says (smtp/command_writer.c) and what it hears
 * (smtp/reply_handler.c). Internal to the SMTP client.
 *
 * Any of these may end the session: afterwards its phase is SMTP_FREE, and
 * nothing but the phase may be looked at.
 */
#pragma once

#include "smtp/session.h"

/* ---- Its life ---- */

/* Closes the session; what it has in hand ends as far as it had come. */
void smtp_session_end(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* The same, and the relay is to blame: it rests. */
void smtp_session_fail(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* The relay closed the connection, or said what it should not: it rests only when it did nothing in this session. */
void smtp_session_lose(struct smtp_session *session, const char *why) NONNULL(1, 2);

/* Takes the next message as the coming one, if there is one and the relay may have it. */
MUST_CHECK bool smtp_session_take(struct smtp_session *session) NONNULL(1);

/* Nothing is in hand: waits for messages, or leaves when it had its number. */
void smtp_session_rest(struct smtp_session *session) NONNULL(1);

/* Gives the relay its time for what it is to do next. */
void smtp_session_renew_deadline(struct smtp_session *session) NONNULL(1);

/* ---- What it says ---- */

/* The commands of the coming message that may be said now: all of its envelope with PIPELINING, else the next. */
void smtp_write_envelope(struct smtp_session *session) NONNULL(1);

/* The body of the coming message, which becomes the sending one; with PIPELINING the next envelope or QUIT goes along. */
void smtp_write_body(struct smtp_session *session) NONNULL(1);

void smtp_write_quit(struct smtp_session *session) NONNULL(1);

/* Goes on writing what is begun. */
void smtp_write_more(struct smtp_session *session) NONNULL(1);

/* What reply is due next, NULL when none is. */
const struct smtp_pending_reply *smtp_pending_reply_first(const struct smtp_session *session) NONNULL(1) PURE;
void smtp_pending_reply_drop_first(struct smtp_session *session) NONNULL(1);

/* ---- What it hears ---- */

/* Reads and handles the replies that are there. */
void smtp_handle_replies(struct smtp_session *session) NONNULL(1);

/* The stage that a command belongs to. */
enum smtp_stage smtp_stage_of(enum smtp_step step) PURE;
