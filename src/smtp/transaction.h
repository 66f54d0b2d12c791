/*
 * SMTP transaction: one message of a session in its wire form: envelope, body
 * with dot-stuffing (RFC 5321 §4.5.2), the final dot, and the outcome. Owns its
 * copy of everything.
 */
#pragma once

#include "base/buf.h"
#include "smtp/event_loop.h"
#include "smtp/report_header.h"

enum {
    SMTP_ADDRESS_MAX_BYTES = 512, /* RFC 5321 §4.5.3.1 allows 256; EAI local parts may be longer in bytes */
    SMTP_MESSAGE_MAX_BYTES = 64 * 1024 * 1024,
};

struct smtp_transaction {
    void *tag;
    char mail_from[SMTP_ADDRESS_MAX_BYTES + 1];
    char return_path[SMTP_ADDRESS_MAX_BYTES + 1]; /* "": none */
    char rcpt_to[SMTP_ADDRESS_MAX_BYTES + 1];
    bool needs_smtputf8;
    size_t message_bytes;  /* before dot-stuffing */
    struct buf bytes;      /* to be written after DATA, with the final dot */
    uint64_t destination;  /* key of the recipient domain in the relay's state */
    uint64_t dot_end;      /* stream position of the session behind the final dot */
    bool is_dot_announced; /* to before_dot */
    bool is_refused;       /* by the relay before the body; `outcome` holds the reply */
    struct smtp_outcome outcome;
};

void smtp_transaction_init(struct smtp_transaction *transaction) NONNULL(1);
void smtp_transaction_done(struct smtp_transaction *transaction) NONNULL(1);

/* Copies a message, behind the header field for the reports of a provider. False: no relay could take it, and `outcome` holds the reply that a relay would give. */
MUST_CHECK bool smtp_transaction_fill(struct smtp_transaction *transaction, const struct smtp_message *message,
                                      enum smtp_reports reports) NONNULL(1, 2);

/* Records a reply as the outcome; `enhanced` and `text` are truncated to their bounds. */
void smtp_transaction_decide(struct smtp_transaction *transaction, enum smtp_stage stage, int code, const char *enhanced,
                             const char *text) NONNULL(1, 4, 5);

/* Empties the transaction for the next message. A buffer of ordinary size is kept. */
void smtp_transaction_clear(struct smtp_transaction *transaction) NONNULL(1);

/* The domain of the recipient, "" when there is none. */
const char *smtp_transaction_domain(const struct smtp_transaction *transaction) NONNULL(1) RETURNS_NONNULL PURE;
