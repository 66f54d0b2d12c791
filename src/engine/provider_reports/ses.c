/*
 * SES: the envelope of SNS, and the notifications and published events of SES in
 * it. The signed text of SNS is a list of names and values, a line each.
 */
#include "engine/provider_reports/provider_events.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { URL_MAX_BYTES = 2048, SIGNATURE_MAX_CHARS = 2048, NAME_MAX_BYTES = 1024 };

/* ---- The envelope ---- */

static bool read_type(const json_t *body, enum sns_type *ret_type)
{
    static const char *const names[] = {
        [SNS_NOTIFICATION] = "Notification",
        [SNS_SUBSCRIPTION] = "SubscriptionConfirmation",
        [SNS_UNSUBSCRIPTION] = "UnsubscribeConfirmation",
    };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (text_equal(json_get_text(body, "Type"), names[i])) {
            *ret_type = (enum sns_type)i;
            return true;
        }
    return false;
}

static const char *bounded_text(const json_t *body, const char *name, size_t max_bytes)
{
    const char *text = json_get_text(body, name);
    return text != NULL && *text != '\0' && strlen(text) <= max_bytes ? text : NULL;
}

/* A member without a value is left out (Subject). */
static struct bytes canonical_text(struct arena *arena, const json_t *body, enum sns_type type, size_t body_bytes)
{
    static const char *const notification[] = { "Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type", NULL };
    static const char *const subscription[] = { "Message", "MessageId", "SubscribeURL", "Timestamp",
                                                "Token",   "TopicArn",  "Type",         NULL };
    struct buf *out = buf_in_arena(arena, 2 * body_bytes + NAME_MAX_BYTES);
    for (const char *const *name = type == SNS_NOTIFICATION ? notification : subscription; *name != NULL; name++) {
        const char *value = json_get_text(body, *name);
        if (value != NULL)
            buf_printf(out, "%s\n%s\n", *name, value);
    }
    return (struct bytes){ (const unsigned char *)buf_text(out), out->size };
}

static bool read_signature(struct arena *arena, const json_t *body, struct sns_message *message)
{
    const char *version = json_get_text(body, "SignatureVersion");
    const char *signature = bounded_text(body, "Signature", SIGNATURE_MAX_CHARS);
    message->is_sha256 = text_equal(version, "2");
    if (signature == NULL || (!message->is_sha256 && !text_equal(version, "1")))
        return false;
    message->signature.data = base64_decode(arena, signature, &message->signature.size);
    return message->signature.data != NULL;
}

bool sns_message_read(struct arena *arena, const json_t *body, struct sns_message *ret_message, struct error *err)
{
    struct sns_message message = {
        .id = bounded_text(body, "MessageId", NAME_MAX_BYTES),
        .topic = bounded_text(body, "TopicArn", NAME_MAX_BYTES),
        .message = json_get_text(body, "Message"),
        .certificate_url = bounded_text(body, "SigningCertURL", URL_MAX_BYTES),
        .subscribe_url = bounded_text(body, "SubscribeURL", URL_MAX_BYTES),
    };
    const char *timestamp = bounded_text(body, "Timestamp", NAME_MAX_BYTES);
    if (!json_is_object(body) || !read_type(body, &message.type) || message.id == NULL || message.topic == NULL ||
        message.message == NULL || message.certificate_url == NULL || timestamp == NULL || !read_signature(arena, body, &message))
        return fail(err, ERR_INVALID_REQUEST, "body", "The body must be a signed message of SNS.");
    if (message.type != SNS_NOTIFICATION && message.subscribe_url == NULL)
        return fail(err, ERR_INVALID_REQUEST, "body.SubscribeURL", "The confirmation has no SubscribeURL.");
    if (!clock_parse_iso(timestamp, &message.at_us))
        return fail(err, ERR_INVALID_REQUEST, "body.Timestamp", "The body has no readable Timestamp.");
    message.signed_text = canonical_text(arena, body, message.type, strlen(message.message) + 4 * URL_MAX_BYTES);
    *ret_message = message;
    return true;
}

/* ---- Addresses ---- */

static size_t region_size(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

/* The path behind the host, NULL when the host is not trusted. */
static const char *trusted_path(const char *url, bool allow_loopback)
{
    static const char scheme[] = "https://sns.";
    static const char *const ends[] = { ".amazonaws.com/", ".amazonaws.com.cn/" };
    static const char loopback[] = "http://127.0.0.1:";
    if (allow_loopback && text_starts_with(url, loopback)) {
        const char *port = url + strlen(loopback);
        const char *path = port + strspn(port, "0123456789");
        return *path == '/' && path > port ? path : NULL;
    }
    if (!text_starts_with(url, scheme))
        return NULL;
    const char *region = url + strlen(scheme);
    const char *end = region + region_size(region);
    for (size_t i = 0; end > region && i < ARRAY_COUNT(ends); i++)
        if (text_starts_with(end, ends[i]))
            return end + strlen(ends[i]) - 1;
    return NULL;
}

bool sns_address_is_trusted(const char *url, bool allow_loopback)
{
    const char *path = trusted_path(url, allow_loopback);
    return path != NULL && strpbrk(path, "#\\ \t\r\n") == NULL && text_is_ascii(url);
}

bool sns_certificate_address_is_trusted(const char *url, bool allow_loopback)
{
    static const char start[] = "/SimpleNotificationService-";
    const char *path = trusted_path(url, allow_loopback);
    if (path == NULL || !text_starts_with(path, start))
        return false;
    const char *name = path + strlen(start);
    size_t size = strspn(name, "0123456789abcdef");
    return size > 0 && strcmp(name + size, ".pem") == 0;
}

/* ---- Events of SES ---- */

static const json_t *member(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* The value of a header of the message, NULL when it has none. */
static const char *header_value(const json_t *mail, const char *wanted)
{
    const json_t *headers = member(mail, "headers");
    size_t count = json_array_size(headers);
    for (size_t i = 0; i < count; i++) {
        const json_t *header = json_array_get(headers, i);
        const char *name = json_string_value(member(header, "name"));
        if (name != NULL && strcasecmp(name, wanted) == 0)
            return json_string_value(member(header, "value"));
    }
    return NULL;
}

/* SES replaces the Message-ID, so a tag says more. The original is among the headers, where the topic has them. */
static const char *message_id_of(const json_t *mail)
{
    const char *tag = json_string_value(json_array_get(member(member(mail, "tags"), PROVIDER_TOKEN_NAME), 0));
    if (tag != NULL)
        return tag;
    const char *header = header_value(mail, "Message-ID");
    return header != NULL ? header : json_string_value(member(member(mail, "commonHeaders"), "messageId"));
}

static const char *bounce_diagnostic(struct arena *arena, const json_t *bounce)
{
    const json_t *recipient = json_array_get(member(bounce, "bouncedRecipients"), 0);
    const char *code = provider_text(arena, recipient, "diagnosticCode");
    return code != NULL ? code : provider_text(arena, bounce, "bounceSubType");
}

static void read_bounce(struct arena *arena, const json_t *bounce, int64_t now_us, struct provider_event *event)
{
    const char *type = json_string_value(member(bounce, "bounceType"));
    const char *sub = json_string_value(member(bounce, "bounceSubType"));
    event->kind = REPORT_BOUNCE;
    event->diagnostic = bounce_diagnostic(arena, bounce);
    event->at_us = provider_time(json_string_value(member(bounce, "timestamp")), now_us);
    if (text_equal(sub, "MailboxFull") || provider_bounce_class(event->diagnostic) == BOUNCE_MAILBOX_FULL)
        event->bounce = BOUNCE_MAILBOX_FULL;
    else if (text_equal(type, "Permanent"))
        event->bounce = BOUNCE_HARD;
    else
        event->bounce = text_equal(sub, "ContentRejected") || text_equal(sub, "MessageTooLarge") ? BOUNCE_REFUSED : BOUNCE_BLOCK;
}

static void read_complaint(struct arena *arena, const json_t *complaint, int64_t now_us, struct provider_event *event)
{
    event->kind = REPORT_COMPLAINT;
    event->diagnostic = provider_text(arena, complaint, "complaintFeedbackType");
    event->at_us = provider_time(json_string_value(member(complaint, "timestamp")), now_us);
    if (text_equal(event->diagnostic, "not-spam"))
        event->kind = REPORT_OTHER;
}

static void read_kind(struct arena *arena, const json_t *json, int64_t now_us, struct provider_event *event)
{
    const char *type = json_string_value(member(json, "eventType"));
    if (type == NULL)
        type = json_string_value(member(json, "notificationType"));
    event->kind = REPORT_OTHER;
    if (text_equal(type, "Bounce")) {
        read_bounce(arena, member(json, "bounce"), now_us, event);
    } else if (text_equal(type, "Complaint")) {
        read_complaint(arena, member(json, "complaint"), now_us, event);
    } else if (text_equal(type, "DeliveryDelay")) {
        event->kind = REPORT_DELAY;
    } else if (text_equal(type, "Reject")) {
        event->kind = REPORT_BOUNCE;
        event->bounce = BOUNCE_REFUSED;
        event->diagnostic = provider_text(arena, member(json, "reject"), "reason");
    }
}

bool ses_events_read(struct arena *arena, const struct sns_message *message, int64_t now_us, struct provider_events *ret_events,
                     struct error *err)
{
    const json_t *json;
    *ret_events = (struct provider_events){ NULL, 0 };
    if (message->type != SNS_NOTIFICATION || message->message[strspn(message->message, " \t\r\n")] != '{')
        return true; /* SES writes a sentence when the topic is connected */
    if (!provider_json_read(arena, message->message, &json, err))
        return false;
    struct provider_event *event = arena_alloc(arena, sizeof(*event));
    event->id = message->id;
    event->at_us = message->at_us < now_us ? message->at_us : now_us;
    event->message_id = message_id_of(member(json, "mail"));
    read_kind(arena, json, now_us, event);
    *ret_events = (struct provider_events){ event, 1 };
    return true;
}
