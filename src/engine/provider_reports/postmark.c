/*
 * Postmark: one notification in each body. The types of bounces are those of its
 * Bounce API.
 */
#include "engine/provider_reports/provider_events.h"

#include "base/json_read.h"
#include "base/text.h"

static void read_bounce(const json_t *body, struct provider_event *event)
{
    static const struct {
        const char *type;
        enum report_kind kind;
        enum bounce_class bounce;
    } types[] = {
        { "HardBounce", REPORT_BOUNCE, BOUNCE_HARD },
        { "BadEmailAddress", REPORT_BOUNCE, BOUNCE_HARD },
        { "AddressChange", REPORT_AUTO_REPLY, BOUNCE_REFUSED },
        { "AutoResponder", REPORT_AUTO_REPLY, BOUNCE_REFUSED },
        { "ChallengeVerification", REPORT_AUTO_REPLY, BOUNCE_REFUSED },
        { "Transient", REPORT_DELAY, BOUNCE_REFUSED },
        { "DnsError", REPORT_DELAY, BOUNCE_REFUSED },
        { "Unsubscribe", REPORT_UNSUBSCRIBE, BOUNCE_REFUSED },
        { "SpamComplaint", REPORT_COMPLAINT, BOUNCE_REFUSED },
        { "SpamNotification", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "Blocked", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "ISPBlock", REPORT_BOUNCE, BOUNCE_BLOCK },
    };
    const char *type = json_get_text(body, "Type");
    event->kind = REPORT_BOUNCE;
    event->bounce = provider_bounce_class(event->diagnostic) == BOUNCE_MAILBOX_FULL ? BOUNCE_MAILBOX_FULL : BOUNCE_REFUSED;
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (text_equal(type, types[i].type)) {
            event->kind = types[i].kind;
            event->bounce = types[i].bounce;
        }
}

/* A change that Postmark made itself, after a bounce or complaint, is reported by its own notification. */
static void read_subscription(const json_t *body, struct provider_event *event)
{
    bool by_recipient = text_equal(json_get_text(body, "Origin"), "Recipient");
    bool stops = json_get_bool(body, "SuppressSending", false);
    event->kind = stops && by_recipient ? REPORT_UNSUBSCRIBE : REPORT_OTHER;
}

static void read_kind(const json_t *body, struct provider_event *event)
{
    const char *type = json_get_text(body, "RecordType");
    event->kind = REPORT_OTHER;
    if (text_equal(type, "Bounce"))
        read_bounce(body, event);
    else if (text_equal(type, "SpamComplaint"))
        event->kind = REPORT_COMPLAINT;
    else if (text_equal(type, "SubscriptionChange"))
        read_subscription(body, event);
}

static const char *first_text(const json_t *body, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_get_text(body, names[i]) != NULL)
            return json_get_text(body, names[i]);
    return NULL;
}

bool postmark_events_read(struct arena *arena, const json_t *body, int64_t now_us, struct provider_events *ret_events,
                          struct error *err)
{
    static const char *const times[] = { "BouncedAt", "ChangedAt", "DeliveredAt" };
    if (!json_is_object(body) || json_get_text(body, "RecordType") == NULL)
        return fail(err, ERR_INVALID_REQUEST, "body", "The body must be an object with the member RecordType.");
    struct provider_event *event = arena_alloc(arena, sizeof(*event));
    const json_t *metadata = json_object_get(body, "Metadata");
    event->diagnostic = provider_text(arena, body, "Details");
    if (event->diagnostic == NULL)
        event->diagnostic = provider_text(arena, body, "Description");
    event->message_id = json_is_object(metadata) ? json_get_text(metadata, PROVIDER_TOKEN_NAME) : NULL;
    event->at_us = provider_time(first_text(body, times, ARRAY_COUNT(times)), now_us);
    event->id = json_canonical(arena, body);
    read_kind(body, event);
    *ret_events = (struct provider_events){ event, 1 };
    return true;
}
