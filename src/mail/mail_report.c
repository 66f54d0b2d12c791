#include "mail/mail_report.h"

#include "base/buf.h"
#include "base/text.h"
#include "mail/bounce_text.h"
#include "mail/mime_reader.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { STATUS_MAX_BYTES = 256 * 1024, TEXT_MAX_BYTES = 64 * 1024, RETURNED_MAX_BYTES = 256 * 1024, MAX_GROUPS = 100 };

const char *mail_report_kind_name(enum mail_report_kind kind)
{
    static const char *const names[] = {
        [MAIL_REPORT_FAILED] = "failed",       [MAIL_REPORT_DELAYED] = "delayed", [MAIL_REPORT_DELIVERED] = "delivered",
        [MAIL_REPORT_COMPLAINT] = "complaint", [MAIL_REPORT_OPT_OUT] = "opt_out", [MAIL_REPORT_AUTO_REPLY] = "auto_reply",
        [MAIL_REPORT_OTHER] = "other",
    };
    return names[kind];
}

/* ---- The message that is reported ---- */

static void add_message_id(struct arena *arena, const char *value, struct mail_report *report)
{
    if (value == NULL || report->message_id_count == MAIL_REPORT_MAX_MESSAGE_IDS)
        return;
    const char *open = strchr(value, '<');
    const char *id = open != NULL ? open + 1 : value;
    size_t size = strcspn(id, "> \t");
    if (size > 0 && size <= MAIL_REPORT_ID_MAX_BYTES)
        report->message_ids[report->message_id_count++] = arena_dup_bytes(arena, id, size);
}

static void read_returned(struct arena *arena, struct bytes message, struct mail_report *report)
{
    struct bytes headers = mime_header_block(message, NULL);
    add_message_id(arena, mime_header(arena, headers, "Message-ID"), report);
    if (report->list_unsubscribe == NULL)
        report->list_unsubscribe = mime_header(arena, headers, "List-Unsubscribe");
}

/* The header fields of a message that is quoted in a text, also with a mark such as "> " in front of each line. */
static void read_quoted_fields(struct arena *arena, struct bytes text, struct mail_report *report)
{
    struct buf *plain = buf_in_arena(arena, TEXT_MAX_BYTES + 1);
    const char *at = (const char *)text.data;
    const char *end = at + (text.size < TEXT_MAX_BYTES ? text.size : TEXT_MAX_BYTES);
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *next = feed != NULL ? feed + 1 : end;
        while (at < next && *at == '>')
            at += at + 1 < next && at[1] == ' ' ? 2 : 1;
        /* A blank line would end the header block. */
        if (at < next && *at != '\n' && *at != '\r')
            buf_add(plain, at, (size_t)(next - at));
        at = next;
    }
    struct bytes fields = { (const unsigned char *)buf_text(plain), plain->size };
    add_message_id(arena, mime_header(arena, fields, "Message-ID"), report);
    if (report->list_unsubscribe == NULL)
        report->list_unsubscribe = mime_header(arena, fields, "List-Unsubscribe");
}

static void read_returned_parts(struct arena *arena, const struct mime_parts *parts, struct mail_report *report)
{
    for (size_t i = 1; i < parts->count; i++) {
        const struct mime_part *part = &parts->items[i];
        bool is_message = strcmp(part->type, "message/rfc822") == 0 || strcmp(part->type, "message/global") == 0;
        bool is_headers = strcmp(part->type, "text/rfc822-headers") == 0 || strcmp(part->type, "message/global-headers") == 0 ||
                          strcmp(part->type, "message/rfc822-headers") == 0;
        if (is_message || is_headers) {
            read_returned(arena, mime_body(arena, part, RETURNED_MAX_BYTES), report);
            return;
        }
    }
}

/* ---- Delivery status (RFC 3464) ---- */

/* A value such as `rfc822; ada@example.com` without its type. */
static const char *without_type(struct arena *arena, const char *value)
{
    const char *semicolon = value != NULL ? strchr(value, ';') : NULL;
    return semicolon != NULL ? text_trim(arena, semicolon + 1) : value;
}

static const char *address_in(struct arena *arena, const char *value)
{
    if (value == NULL)
        return NULL;
    const char *open = strchr(value, '<');
    const char *start = open != NULL ? open + 1 : value;
    const char *address = arena_dup_bytes(arena, start, strcspn(start, "> \t,"));
    return *address != '\0' ? address : NULL;
}

static void set_diagnostic(struct arena *arena, const char *text, struct mail_report *report)
{
    size_t size = strlen(text);
    char *kept = arena_dup_bytes(arena, text, size < MAIL_REPORT_DIAGNOSTIC_MAX_BYTES ? size : MAIL_REPORT_DIAGNOSTIC_MAX_BYTES);
    utf8_drop_malformed(kept);
    report->diagnostic = *kept != '\0' ? kept : NULL;
}

/* Whether an enhanced code says no more than its class (RFC 3463 §3.1). */
static bool is_unspecific(const char *enhanced)
{
    return enhanced[0] == '\0' || strcmp(enhanced + 1, ".0.0") == 0;
}

/* The diagnostic is the words of the server that refused; the status was made from them by the server in front of it. */
static void read_group_status(struct arena *arena, struct bytes group, struct mail_report *report)
{
    const char *diagnostic = mime_header(arena, group, "Diagnostic-Code");
    const char *status = mime_header(arena, group, "Status");
    int ignored;
    char of_status[MAIL_REPORT_ENHANCED_BYTES] = "";
    if (diagnostic != NULL) {
        set_diagnostic(arena, without_type(arena, diagnostic), report);
        bounce_text_codes(report->diagnostic != NULL ? report->diagnostic : "", &report->code, report->enhanced);
    }
    if (status != NULL)
        bounce_text_codes(status, &ignored, of_status);
    if (diagnostic == NULL && status != NULL && strchr(status, '(') != NULL)
        set_diagnostic(arena, strchr(status, '(') + 1, report); /* some give the reason as a comment of the status */
    /* A server that gives no enhanced code gives its reason in words; then a status of policy is a guess. */
    bool is_guess = report->code >= 500 && report->enhanced[0] == '\0' && text_starts_with(of_status, "5.7.");
    if (is_unspecific(report->enhanced) && of_status[0] != '\0' && !is_guess)
        memcpy(report->enhanced, of_status, sizeof(of_status));
}

static enum mail_report_kind kind_of_group(struct arena *arena, struct bytes group)
{
    static const struct {
        const char *action;
        enum mail_report_kind kind;
    } actions[] = {
        { "failed", MAIL_REPORT_FAILED },       { "failure", MAIL_REPORT_FAILED },    { "delayed", MAIL_REPORT_DELAYED },
        { "delivered", MAIL_REPORT_DELIVERED }, { "relayed", MAIL_REPORT_DELIVERED }, { "expanded", MAIL_REPORT_DELIVERED },
    };
    const char *action = mime_header(arena, group, "Action");
    const char *status = mime_header(arena, group, "Status");
    for (size_t i = 0; action != NULL && i < ARRAY_COUNT(actions); i++)
        if (strncasecmp(action, actions[i].action, strlen(actions[i].action)) == 0)
            return actions[i].kind;
    if (status == NULL)
        return MAIL_REPORT_OTHER;
    return *status == '5' ? MAIL_REPORT_FAILED : *status == '4' ? MAIL_REPORT_DELAYED : MAIL_REPORT_DELIVERED;
}

static void read_group(struct arena *arena, struct bytes group, struct mail_report *report)
{
    const char *original = mime_header(arena, group, "Original-Recipient");
    const char *final = mime_header(arena, group, "Final-Recipient");
    enum mail_report_kind kind = kind_of_group(arena, group);
    if (final == NULL && original == NULL && mime_header(arena, group, "Action") == NULL)
        return; /* the fields of the message */
    /* Of several recipients the first that failed is reported. */
    if (report->kind != MAIL_REPORT_OTHER && (report->kind == MAIL_REPORT_FAILED || kind != MAIL_REPORT_FAILED))
        return;
    report->kind = kind;
    report->recipient = address_in(arena, without_type(arena, original != NULL ? original : final));
    report->diagnostic = NULL;
    report->code = 0;
    report->enhanced[0] = '\0';
    read_group_status(arena, group, report);
}

static void read_delivery_status(struct arena *arena, struct bytes body, struct mail_report *report)
{
    for (size_t i = 0; i < MAX_GROUPS && body.size > 0; i++) {
        while (body.size > 0 && (*body.data == '\r' || *body.data == '\n'))
            body = (struct bytes){ body.data + 1, body.size - 1 };
        struct bytes group = mime_header_block(body, &body);
        read_group(arena, group, report);
    }
}

/* ---- Feedback report (RFC 5965) ---- */

static void read_feedback(struct arena *arena, struct bytes body, struct mail_report *report)
{
    struct bytes fields = mime_header_block(body, NULL);
    const char *type = mime_header(arena, fields, "Feedback-Type");
    const char *recipient = mime_header(arena, fields, "Original-Rcpt-To");
    static const char *const complaints[] = { "abuse", "fraud", "virus", "other", "miscategorized" };
    report->kind = MAIL_REPORT_OTHER; /* not-spam, auth-failure, dmarc */
    if (type != NULL && text_starts_with(type, "opt-out"))
        report->kind = MAIL_REPORT_OPT_OUT;
    for (size_t i = 0; type != NULL && i < ARRAY_COUNT(complaints); i++)
        if (strcasecmp(type, complaints[i]) == 0)
            report->kind = MAIL_REPORT_COMPLAINT;
    report->recipient = address_in(arena, without_type(arena, recipient));
    if (type != NULL)
        set_diagnostic(arena, arena_printf(arena, "Feedback-Type: %s", type), report);
}

/* ---- Automatic answers ---- */

static bool begins_with_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool is_automatic_subject(const char *subject)
{
    static const char *const words[] = {
        "automatic reply", "auto reply",
        "auto-reply",      "autoreply",
        "auto:",           "auto response",
        "auto-response",   "autoresponse",
        "out of office",   "out of the office",
        "out-of-office",   "vacation",
        "on vacation",     "away from",
        "i am away",       "i am out",
        "abwesenheit",     "automatische antwort",
        "abwesend",        "r\xc3\xa9ponse automatique",
        "absence",         "absent",
        "respuesta autom", "fuera de la oficina",
        "resposta autom",  "risposta automatica",
        "fuori ufficio",   "automatisch antwoord",
        "autosvar",        "automatiskt svar",
        "afwezig",         "\xe8\x87\xaa\xe5\x8b\x95", /* of Japanese and Chinese: automatic */
    };
    while (strncasecmp(subject, "Re:", 3) == 0)
        subject += 3 + strspn(subject + 3, " ");
    return begins_with_any(subject, words, ARRAY_COUNT(words));
}

static bool is_auto_reply(struct arena *arena, struct bytes headers, const char *subject)
{
    static const char *const fields[] = { "X-Autoreply", "X-Autorespond", "X-Autoresponse", "X-Auto-Reply", "X-Autogenerated" };
    const char *submitted = mime_header(arena, headers, "Auto-Submitted");
    const char *precedence = mime_header(arena, headers, "Precedence");
    if (submitted != NULL && strncasecmp(submitted, "auto-replied", 12) == 0)
        return true;
    if (precedence != NULL && strcasecmp(precedence, "auto_reply") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++)
        if (mime_header(arena, headers, fields[i]) != NULL)
            return true;
    return is_automatic_subject(subject);
}

/* ---- Bounces without a structure ---- */

/* A subject alone is enough where nobody answers a message. */
static bool is_bounce_by_subject(struct arena *arena, struct bytes headers, const char *subject)
{
    bool is_answer = strncasecmp(subject, "Re:", 3) == 0 || mime_header(arena, headers, "In-Reply-To") != NULL;
    return !is_answer && bounce_text_is_subject(subject);
}

/* The complaints of a large service, whose feedback has no machine-readable part. */
static bool is_plain_complaint(const char *subject)
{
    return strncasecmp(subject, "complaint about message from", 28) == 0;
}

static const struct mime_part *first_text(const struct mime_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (strcmp(parts->items[i].type, "text/plain") == 0)
            return &parts->items[i];
    for (size_t i = 0; i < parts->count; i++)
        if (text_starts_with(parts->items[i].type, "text/"))
            return &parts->items[i];
    return parts->count == 1 ? &parts->items[0] : NULL; /* a multipart message without its delimiters */
}

/* A mail system is the sender, by its name and the null return path, or by one of them and the words. */
static bool is_bounce(struct arena *arena, const struct mime_parts *parts, const char *subject)
{
    struct bytes headers = parts->items[0].headers;
    const struct mime_part *text = first_text(parts);
    const char *from = mime_header(arena, headers, "From");
    const char *return_path = mime_header(arena, headers, "Return-Path");
    bool is_system = from != NULL && bounce_text_is_sender(from);
    bool is_null = return_path != NULL && strcmp(return_path, "<>") == 0;
    bool is_subject = *subject == '\0' || bounce_text_is_subject(subject);
    if (mime_header(arena, headers, "X-Failed-Recipients") != NULL || (is_system && is_null))
        return true;
    if (!is_system && !is_null)
        return false;
    return is_subject || (text != NULL && bounce_text_is_certain(mime_body(arena, text, TEXT_MAX_BYTES)));
}

static bool is_delay(const char *subject, const char *text)
{
    return strcasestr(subject, "delay") != NULL || strcasestr(subject, "warning") != NULL ||
           strcasestr(text, "will be retried") != NULL || strcasestr(text, "THIS IS A WARNING MESSAGE ONLY") != NULL ||
           strcasestr(text, "will continue to try") != NULL || strcasestr(text, "no action is required on your part") != NULL;
}

/* The first address in angle brackets of a text, as qmail and most others write it. */
static const char *recipient_in_text(struct arena *arena, const char *text)
{
    for (const char *open = strchr(text, '<'); open != NULL; open = strchr(open + 1, '<')) {
        size_t size = strcspn(open + 1, "<> \t\r\n");
        const char *address = arena_dup_bytes(arena, open + 1, size < MAIL_REPORT_ID_MAX_BYTES ? size : 0);
        if (open[1 + size] == '>' && strchr(address, '@') != NULL)
            return text_starts_with(address, "mailto:") ? address + 7 : address;
    }
    return NULL;
}

static char *text_of(struct arena *arena, struct bytes body)
{
    size_t size = bounce_text_size(body);
    char *text = arena_dup_bytes(arena, body.data, size);
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            text[i] = ' ';
    utf8_drop_malformed(text);
    return text;
}

static void read_text_bounce(struct arena *arena, const struct mime_parts *parts, const char *subject, struct mail_report *report)
{
    const struct mime_part *part = first_text(parts);
    struct bytes body = part != NULL ? mime_body(arena, part, TEXT_MAX_BYTES) : (struct bytes){ .size = 0 };
    const char *text = body.size > 0 ? text_of(arena, body) : "";
    const char *failed = mime_header(arena, parts->items[0].headers, "X-Failed-Recipients");
    struct bounce_text found = { .diagnostic = NULL };
    if (body.size > 0)
        bounce_text_find(arena, body, &found);
    /* This subject of Sendmail has the reason, never the subject of the returned message. */
    if (found.diagnostic == NULL && text_starts_with(subject, "Returned mail: "))
        found.diagnostic = subject + strlen("Returned mail: ");
    report->kind = is_delay(subject, text) ? MAIL_REPORT_DELAYED : MAIL_REPORT_FAILED;
    report->recipient = failed != NULL ? address_in(arena, failed) : recipient_in_text(arena, text);
    if (found.diagnostic != NULL) {
        set_diagnostic(arena, found.diagnostic, report);
        report->code = found.code;
        memcpy(report->enhanced, found.enhanced, sizeof(found.enhanced));
    }
    if (body.size > 0 && report->message_id_count == 0)
        read_quoted_fields(arena, body, report);
}

/* ---- The whole message ---- */

static const struct mime_part *find_part(const struct mime_parts *parts, const char *const *types, size_t count)
{
    for (size_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(parts->items[i].type, types[k]) == 0)
                return &parts->items[i];
    return NULL;
}

/* A delivery status without a diagnostic: the words of the report may have one. */
static void add_words(struct arena *arena, const struct mime_parts *parts, struct mail_report *report)
{
    const struct mime_part *part = first_text(parts);
    struct bounce_text found = { .diagnostic = NULL };
    if (part == NULL)
        return;
    bounce_text_find(arena, mime_body(arena, part, TEXT_MAX_BYTES), &found);
    if (found.diagnostic == NULL)
        return;
    set_diagnostic(arena, found.diagnostic, report);
    report->code = found.code;
    if (is_unspecific(report->enhanced))
        memcpy(report->enhanced, found.enhanced, sizeof(found.enhanced));
}

void mail_report_read(struct arena *arena, struct bytes message, struct mail_report *ret_report)
{
    static const char *const status_types[] = { "message/delivery-status", "message/global-delivery-status" };
    static const char *const feedback_types[] = { "message/feedback-report" };
    *ret_report = (struct mail_report){ .kind = MAIL_REPORT_OTHER };
    struct mime_parts parts = mime_read(arena, message);
    struct bytes headers = parts.items[0].headers;
    const char *raw_subject = mime_header(arena, headers, "Subject");
    const char *subject = raw_subject != NULL ? mime_decode_words(arena, raw_subject) : "";
    read_returned_parts(arena, &parts, ret_report);
    const struct mime_part *status = find_part(&parts, status_types, ARRAY_COUNT(status_types));
    const struct mime_part *feedback = find_part(&parts, feedback_types, ARRAY_COUNT(feedback_types));
    if (feedback != NULL) {
        read_feedback(arena, mime_body(arena, feedback, STATUS_MAX_BYTES), ret_report);
    } else if (status != NULL) {
        read_delivery_status(arena, mime_body(arena, status, STATUS_MAX_BYTES), ret_report);
        if (ret_report->kind == MAIL_REPORT_FAILED && ret_report->diagnostic == NULL)
            add_words(arena, &parts, ret_report);
    } else if (is_bounce(arena, &parts, subject)) { /* some mark their bounces as automatic answers */
        read_text_bounce(arena, &parts, subject, ret_report);
    } else if (is_auto_reply(arena, headers, subject)) {
        ret_report->kind = MAIL_REPORT_AUTO_REPLY;
    } else if (is_plain_complaint(subject)) {
        ret_report->kind = MAIL_REPORT_COMPLAINT;
    } else if (is_bounce_by_subject(arena, headers, subject)) {
        read_text_bounce(arena, &parts, subject, ret_report);
    }
    add_message_id(arena, mime_header(arena, headers, "In-Reply-To"), ret_report);
    add_message_id(arena, mime_header(arena, headers, "References"), ret_report);
}
