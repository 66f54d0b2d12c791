/*
 * LMTP session: the protocol of one connection without its socket. The server gives it the bytes that arrive and writes its output.
 * Only the thread of the server uses a session, except for the completion of its calls (lmtp_session.c). For src/inbound only.
 */
#pragma once

#include "base/buf.h"
#include "inbound/lmtp.h"

struct lmtp_session;

/* What a session needs of its server. */
struct lmtp_host {
    struct api *api;
    const char *name;
    void (*wake)(void *context); /* makes the server call lmtp_session_advance; any thread */
    void *context;
    size_t message_bytes; /* in the messages of all sessions */
};

enum { LMTP_MESSAGES_MAX_BYTES = 64 * 1024 * 1024 }; /* of all sessions; beyond it a message gets 452 */

struct lmtp_session *lmtp_session_new(struct lmtp_host *host) NONNULL(1) RETURNS_NONNULL;

/* Frees a session. No call may be in progress. */
void lmtp_session_free(struct lmtp_session *session);

/* Takes bytes of the peer and returns how many it has taken; the rest is to be given again after its calls have ended. */
size_t lmtp_session_take(struct lmtp_session *session, const char *bytes, size_t size) NONNULL(1, 2);

/* Writes the replies of a message whose calls have ended. */
void lmtp_session_advance(struct lmtp_session *session) NONNULL(1);

/* The bytes to write to the peer; the server removes what it has written. */
struct buf *lmtp_session_output(struct lmtp_session *session) NONNULL(1) RETURNS_NONNULL;

/* Calls are in progress: no bytes are taken. */
bool lmtp_session_is_waiting(struct lmtp_session *session) NONNULL(1);

/* The peer has quit: the connection is closed after the output. */
bool lmtp_session_has_ended(const struct lmtp_session *session) NONNULL(1);

/* Cancels the calls in progress; they still have to end. */
void lmtp_session_cancel(struct lmtp_session *session) NONNULL(1);
