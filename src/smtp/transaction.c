#include "smtp/transaction.h"

#include <stdio.h>
#include <string.h>

/* The largest buffer that is kept for the next message. */
enum { KEPT_BYTES = 256 * 1024, COMMANDS_BYTES = 4096 };

void smtp_transaction_init(struct smtp_transaction *transaction)
{
    *transaction = (struct smtp_transaction){ .tag = NULL };
    /* Room for every dot doubled, and for the envelope of the next message. */
    buf_init(&transaction->bytes, (size_t)SMTP_MESSAGE_MAX_BYTES * 2 + COMMANDS_BYTES);
}

void smtp_transaction_done(struct smtp_transaction *transaction)
{
    buf_done(&transaction->bytes);
}

void smtp_transaction_clear(struct smtp_transaction *transaction)
{
    if (transaction->bytes.capacity > KEPT_BYTES)
        buf_done(&transaction->bytes);
    else
        buf_clear(&transaction->bytes);
    transaction->tag = NULL;
    transaction->destination = 0;
    transaction->is_dot_announced = false;
    transaction->is_refused = false;
}

void smtp_transaction_decide(struct smtp_transaction *transaction, enum smtp_stage stage, int code, const char *enhanced,
                             const char *text)
{
    struct smtp_outcome *outcome = &transaction->outcome;
    outcome->end = SMTP_REPLIED;
    outcome->stage = stage;
    outcome->code = code;
    snprintf(outcome->enhanced, sizeof(outcome->enhanced), "%s", enhanced);
    snprintf(outcome->text, sizeof(outcome->text), "%s", text);
}

const char *smtp_transaction_domain(const struct smtp_transaction *transaction)
{
    const char *at = strrchr(transaction->rcpt_to, '@');
    return at != NULL ? at + 1 : "";
}

/* ---- Filling ---- */

/* The address must not end the command or its angle brackets: no control character, no space, no bracket. */
static bool is_safe_address(const char *address, bool allows_utf8)
{
    size_t size = strlen(address);
    if (size > SMTP_ADDRESS_MAX_BYTES)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)address[i];
        if (byte <= ' ' || byte == 0x7f || byte == '<' || byte == '>' || (byte > 0x7f && !allows_utf8))
            return false;
    }
    return true;
}

static bool take_envelope(struct smtp_transaction *transaction, const struct smtp_message *message)
{
    bool is_recipient = message->rcpt_to[0] != '\0' && is_safe_address(message->rcpt_to, message->needs_smtputf8);
    if (!is_recipient) {
        smtp_transaction_decide(transaction, SMTP_STAGE_RCPT, 553, "5.1.3",
                                "The recipient address is not valid in an SMTP command");
        return false;
    }
    const char *return_path = message->return_path != NULL ? message->return_path : "";
    if (!is_safe_address(message->mail_from, message->needs_smtputf8) || !is_safe_address(return_path, false)) {
        smtp_transaction_decide(transaction, SMTP_STAGE_MAIL, 553, "5.1.7", "The sender address is not valid in an SMTP command");
        return false;
    }
    snprintf(transaction->mail_from, sizeof(transaction->mail_from), "%s", message->mail_from);
    snprintf(transaction->return_path, sizeof(transaction->return_path), "%s", return_path);
    snprintf(transaction->rcpt_to, sizeof(transaction->rcpt_to), "%s", message->rcpt_to);
    return true;
}

/* Doubles a dot behind any line end, also behind a bare CR or LF, which some servers accept as the end of a message. */
static void add_stuffed(struct buf *out, struct bytes part)
{
    const char *from = (const char *)part.data;
    const char *end = from + part.size;
    for (const char *at = from; (at = memchr(at, '.', (size_t)(end - at))) != NULL; at++) {
        const char *before = at > from ? at - 1 : out->size > 0 ? out->data + out->size - 1 : NULL;
        if (before != NULL && *before != '\n' && *before != '\r')
            continue;
        buf_add(out, from, (size_t)(at - from));
        buf_add_char(out, '.');
        from = at;
    }
    buf_add(out, from, (size_t)(end - from));
}

static bool ends_line(const struct buf *bytes)
{
    return bytes->size >= 2 && memcmp(bytes->data + bytes->size - 2, "\r\n", 2) == 0;
}

bool smtp_transaction_fill(struct smtp_transaction *transaction, const struct smtp_message *message, enum smtp_reports reports)
{
    smtp_transaction_clear(transaction);
    transaction->tag = message->tag;
    transaction->needs_smtputf8 = message->needs_smtputf8;
    transaction->message_bytes = message->parts[0].size + message->parts[1].size;
    if (!take_envelope(transaction, message))
        return false;
    if (message->parts[0].size > SMTP_MESSAGE_MAX_BYTES || transaction->message_bytes > SMTP_MESSAGE_MAX_BYTES) {
        smtp_transaction_decide(transaction, SMTP_STAGE_MAIL, 552, "5.3.4", "The message is too large");
        return false;
    }
    if (transaction->message_bytes == 0) {
        smtp_transaction_decide(transaction, SMTP_STAGE_DATA, 554, "5.6.0", "The message is empty");
        return false;
    }
    smtp_report_header_add(reports, message->parts[1], &transaction->bytes);
    transaction->message_bytes += transaction->bytes.size;
    for (size_t i = 0; i < ARRAY_COUNT(message->parts); i++)
        if (message->parts[i].size > 0)
            add_stuffed(&transaction->bytes, message->parts[i]);
    buf_add_text(&transaction->bytes, ends_line(&transaction->bytes) ? ".\r\n" : "\r\n.\r\n");
    return true;
}
