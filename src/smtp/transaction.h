/*
 * SMTP letter: one message in the hands of a session, as it goes over the wire:
 * envelope, body with its dots doubled (RFC 5321 §4.5.2) and the final dot, and
 * what has become of it. Owns its copy of everything.
 */
#pragma once

#include "base/buf.h"
#include "smtp/event_loop.h"

enum {
    SMTP_ADDRESS_MAX_BYTES = 512, /* RFC 5321 §4.5.3.1 allows 256; EAI local parts may be longer in bytes */
    SMTP_MESSAGE_MAX_BYTES = 64 * 1024 * 1024,
};

struct smtp_transaction {
    void *tag;
    char mail_from[SMTP_ADDRESS_MAX_BYTES + 1];
    char rcpt_to[SMTP_ADDRESS_MAX_BYTES + 1];
    bool needs_smtputf8;
    size_t message_bytes;  /* before dots were doubled */
    struct buf bytes;      /* to be written behind DATA, the final dot included */
    uint64_t destination;  /* key of its domain in the traffic */
    uint64_t dot_end;      /* where its dot ends in the stream of the session */
    bool is_dot_announced; /* to before_dot */
    bool is_refused;       /* by the relay before its body; `outcome` says how */
    struct smtp_outcome outcome;
};

void smtp_transaction_init(struct smtp_transaction *letter) NONNULL(1);
void smtp_transaction_done(struct smtp_transaction *letter) NONNULL(1);

/* Copies a message. False: it cannot be sent to anybody, `outcome` says why as a relay would. */
MUST_CHECK bool smtp_transaction_fill(struct smtp_transaction *letter, const struct smtp_message *message) NONNULL(1, 2);

/* Records a reply as the outcome; `enhanced` and `text` are cut to their bounds. */
void smtp_transaction_decide(struct smtp_transaction *letter, enum smtp_stage stage, int code, const char *enhanced,
                             const char *text) NONNULL(1, 4, 5);

/* Empties it for the next message. Storage of an ordinary size is kept. */
void smtp_transaction_clear(struct smtp_transaction *letter) NONNULL(1);

/* The domain of its recipient, "" when there is none. */
const char *smtp_transaction_domain(const struct smtp_transaction *letter) NONNULL(1) RETURNS_NONNULL PURE;
