#include "mail/message.h"

#include "base/clock.h"
#include "base/text.h"
#include "mail/encode.h"

#include <endian.h>
#include <string.h>
#include <strings.h>

struct message_plan {
    const char *head; /* rendered header lines */
    size_t head_size;
};

enum { BOUNDARY_CHARS = 2 + 16 };

/* Fields that only the composer writes, and Bcc, which a message to one recipient must not have. */
static bool is_composer_header(const char *name)
{
    static const char *const own[] = { "Date",    "From",     "Sender",     "To",           "Cc",         "Bcc",
                                       "Subject", "Reply-To", "Message-ID", "MIME-Version", "Return-Path" };
    if (strncasecmp(name, "Content-", strlen("Content-")) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(own); i++)
        if (strcasecmp(name, own[i]) == 0)
            return true;
    return false;
}

static bool add_extra_headers(struct buf *out, const struct header *headers, size_t count, struct error *err)
{
    if (count > MESSAGE_MAX_HEADERS)
        return fail(err, ERR_INVALID_REQUEST, "headers", "There are more than %d extra headers.", MESSAGE_MAX_HEADERS);
    for (size_t i = 0; i < count; i++) {
        if (is_composer_header(headers[i].name))
            return fail(err, ERR_INVALID_REQUEST, headers[i].name, "This header cannot be set, because Posthorn writes it.");
        if (!header_add_structured(out, &headers[i], err))
            return false;
    }
    return true;
}

bool message_plan_new(struct arena *arena, const struct message_common *common, struct message_plan **ret_plan, struct error *err)
{
    struct buf *head = buf_in_arena(arena, (size_t)MESSAGE_MAX_BYTES);
    if (!header_add_mailbox(head, "From", &common->from, "senderName", "fromAddress", err))
        return false;
    if (common->reply_to.address != NULL && !header_add_mailbox(head, "Reply-To", &common->reply_to, "replyTo", "replyTo", err))
        return false;
    buf_add_text(head, "MIME-Version: 1.0\r\n");
    if (!add_extra_headers(head, common->headers, common->header_count, err))
        return false;

    struct message_plan *plan = arena_alloc(arena, sizeof(*plan));
    plan->head = head->data;
    plan->head_size = head->size;
    *ret_plan = plan;
    return true;
}

/* "<" left "@" right ">" without blanks, in ASCII (RFC 5322 §3.6.4). */
static bool check_message_id(const char *id, struct error *err)
{
    size_t size = id != NULL ? strnlen(id, MESSAGE_ID_MAX_BYTES + 1) : 0;
    bool is_valid = size >= 5 && size <= MESSAGE_ID_MAX_BYTES && id[0] == '<' && id[size - 1] == '>';
    size_t ats = 0;
    for (size_t i = 1; is_valid && i + 1 < size; i++) {
        is_valid = id[i] > ' ' && id[i] < 0x7F && strchr("<>()[]\\,;:\"", id[i]) == NULL;
        ats += id[i] == '@';
    }
    is_valid = is_valid && ats == 1 && id[1] != '@' && id[size - 2] != '@';
    return is_valid || fail(err, ERR_INVALID_REQUEST, "messageId", "The Message-ID does not have the form <token@domain>.");
}

/* Quoted-printable and base64 cannot contain "=_" (RFC 2045 §6.7), and body_encoding_choose keeps the whole boundary
 * out of 7bit parts. */
static void make_boundary(const char *message_id, char ret_boundary[BOUNDARY_CHARS + 1])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a: for distribution, not for secrecy */
    for (const char *at = message_id; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    hash = htobe64(hash);
    memcpy(ret_boundary, "=_", 2);
    hex_encode(&hash, sizeof(hash), ret_boundary + 2);
}

static void add_texts(struct buf *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, texts[i]);
}
#define ADD_TEXTS(out, ...)                                                                                                        \
    add_texts((out), (const char *const[]){ __VA_ARGS__ }, ARRAY_COUNT(((const char *const[]){ __VA_ARGS__ })))

static bool message_add_headers(const struct message_plan *plan, const struct message *message, struct arena *scratch,
                                struct buf *out, struct error *err)
{
    if (!check_message_id(message->message_id, err))
        return false;
    const char *date = message->date != NULL ? message->date : clock_rfc5322(scratch, message->date_us);
    ADD_TEXTS(out, "Date: ", date, "\r\n");
    buf_add(out, plan->head, plan->head_size);
    if (!header_add_mailbox(out, "To", &message->to, "to", "to", err))
        return false;
    if (!header_add_text(out, "Subject", message->subject, "subject", err))
        return false;
    ADD_TEXTS(out, "Message-ID: ", message->message_id, "\r\n");
    return add_extra_headers(out, message->headers, message->header_count, err);
}

/* Headers and body of one text; `subtype` is plain or html. */
static void add_text_part(struct buf *out, const char *subtype, const char *text, size_t size, const char *boundary)
{
    enum body_encoding encoding = body_encoding_choose(text, size, boundary);
    ADD_TEXTS(out, "Content-Type: text/", subtype, "; charset=utf-8\r\nContent-Transfer-Encoding: ", body_encoding_name(encoding),
              "\r\n\r\n");
    body_encode(out, encoding, text, size);
}

static void add_body(struct buf *out, const struct message *message)
{
    char boundary[BOUNDARY_CHARS + 1];
    make_boundary(message->message_id, boundary);
    if (message->text == NULL || message->html == NULL) {
        bool is_html = message->html != NULL;
        add_text_part(out, is_html ? "html" : "plain", is_html ? message->html : message->text,
                      is_html ? message->html_size : message->text_size, boundary);
        buf_add_text(out, "\r\n");
        return;
    }
    /* The CRLF before a delimiter belongs to the delimiter (RFC 2046 §5.1.1), not to the part. */
    ADD_TEXTS(out, "Content-Type: multipart/alternative; boundary=\"", boundary, "\"\r\n\r\n--", boundary, "\r\n");
    add_text_part(out, "plain", message->text, message->text_size, boundary);
    ADD_TEXTS(out, "\r\n--", boundary, "\r\n");
    add_text_part(out, "html", message->html, message->html_size, boundary);
    ADD_TEXTS(out, "\r\n--", boundary, "--\r\n");
}

bool message_compose(const struct message_plan *plan, const struct message *message, struct arena *scratch, struct buf *out,
                     struct error *err)
{
    if (out->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The output buffer is full.");
    size_t start = out->size;
    if (message->text == NULL && message->html == NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The message has neither text nor HTML.");
    bool done = message_add_headers(plan, message, scratch, out, err);
    if (done)
        add_body(out, message);
    if (done && out->overflowed)
        done = fail(err, ERR_INVALID_REQUEST, NULL, "The message is larger than %zu bytes.", out->max_bytes);
    if (!done) {
        out->overflowed = false;
        out->size = start;
        if (out->data != NULL)
            out->data[start] = '\0';
    }
    return done;
}
