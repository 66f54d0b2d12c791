/*
 * Message: composes an email as the bytes that are signed and sent
 * (RFC 5322, RFC 2045 to 2047): CRLF line ends, 7-bit, body lines of at most 76
 * bytes, headers folded at 78. The body is multipart/alternative of plain text
 * and HTML, or one of them alone.
 *
 * The common parts of all messages of a send (sender, reply address, fixed
 * headers) are checked and rendered once as a plan. A plan is read-only: any
 * number of threads may compose from it. The same message always gives the same
 * bytes, also when it is composed again after a crash.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "mail/header.h"

#include <stdint.h>

/* The bound of a message: room for two bodies of TEMPLATE_MAX_OUTPUT_BYTES with every byte encoded. */
enum { MESSAGE_MAX_BYTES = 5 * 1024 * 1024, MESSAGE_MAX_HEADERS = 64, MESSAGE_ID_MAX_BYTES = 250 };

/* The part that is equal for all recipients. */
struct message_common {
    struct mailbox from;
    struct mailbox reply_to;      /* address NULL for none */
    const struct header *headers; /* Feedback-ID, Precedence …; not those the composer writes itself */
    size_t header_count;
};

struct message_plan;

struct message {
    struct mailbox to;
    const char *subject;
    const char *text; /* UTF-8, from template_evaluate; text or html may be NULL, not both */
    size_t text_size;
    const char *html;
    size_t html_size;
    int64_t date_us;              /* since the epoch */
    const char *date;             /* the date as RFC 5322 text (clock_rfc5322); NULL: made from date_us */
    const char *message_id;       /* "<token@domain>", RFC 5322 §3.6.4 */
    const struct header *headers; /* of this recipient: List-Unsubscribe … */
    size_t header_count;
};

/* Prepares the common parts of many messages, in the arena.
 * Errors: INVALID_REQUEST naming fromAddress, senderName, replyTo or the header. */
MUST_CHECK bool message_plan_new(struct arena *arena, const struct message_common *common, struct message_plan **ret_plan,
                                 struct error *err) NONNULL(1, 2, 3, 4);

/* Appends the composed message to `out`; `scratch` provides a few bytes. After an error `out` is as before.
 * Errors: INVALID_REQUEST naming to, subject, messageId or the header; INVALID_REQUEST when it does not fit `out`. */
MUST_CHECK bool message_compose(const struct message_plan *plan, const struct message *message, struct arena *scratch,
                                struct buf *out, struct error *err) NONNULL(1, 2, 3, 4, 5);
