/*
 * SendGrid: the batches of its event webhook, a list of objects. A bounce of the
 * type "blocked" and a drop suppress nobody by themselves.
 */
#include "engine/provider_reports/provider_events.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

static int64_t event_time(const json_t *event, int64_t now_us)
{
    int64_t seconds = json_get_int(event, "timestamp", 0);
    return seconds > 0 && seconds < now_us / US_PER_S ? seconds * US_PER_S : now_us;
}

/* A drop repeats why SendGrid itself mails the address no more. */
static void read_drop(struct provider_event *event)
{
    const char *why = event->diagnostic != NULL ? event->diagnostic : "";
    event->kind = REPORT_BOUNCE;
    event->bounce = strcasestr(why, "bounced address") != NULL || strcasestr(why, "invalid") != NULL ? BOUNCE_HARD : BOUNCE_REFUSED;
    if (strcasestr(why, "spam reporting") != NULL)
        event->kind = REPORT_COMPLAINT;
    else if (strcasestr(why, "unsubscribed") != NULL)
        event->kind = REPORT_UNSUBSCRIBE;
}

static void read_bounce(const json_t *json, struct provider_event *event)
{
    enum bounce_class class = provider_bounce_class(event->diagnostic);
    event->kind = REPORT_BOUNCE;
    if (class == BOUNCE_MAILBOX_FULL)
        event->bounce = class;
    else
        event->bounce = text_equal(json_get_text(json, "type"), "blocked") ? BOUNCE_BLOCK : BOUNCE_HARD;
}

static void read_kind(const json_t *json, struct provider_event *event)
{
    const char *name = json_get_text(json, "event");
    event->kind = REPORT_OTHER;
    if (text_equal(name, "bounce"))
        read_bounce(json, event);
    else if (text_equal(name, "dropped"))
        read_drop(event);
    else if (text_equal(name, "deferred"))
        event->kind = REPORT_DELAY;
    else if (text_equal(name, "spamreport"))
        event->kind = REPORT_COMPLAINT;
    else if (text_equal(name, "unsubscribe") || text_equal(name, "group_unsubscribe"))
        event->kind = REPORT_UNSUBSCRIBE;
}

static void read_event(struct arena *arena, const json_t *json, int64_t now_us, struct provider_event *event)
{
    const char *id = provider_text(arena, json, "sg_event_id");
    event->at_us = event_time(json, now_us);
    event->diagnostic = provider_text(arena, json, "reason");
    if (event->diagnostic == NULL)
        event->diagnostic = provider_text(arena, json, "response");
    event->message_id = json_get_text(json, PROVIDER_TOKEN_NAME);
    if (event->message_id == NULL)
        event->message_id = json_get_text(json, "smtp-id");
    event->id = id != NULL ? id : json_canonical(arena, json);
    read_kind(json, event);
}

bool sendgrid_events_read(struct arena *arena, const json_t *body, int64_t now_us, struct provider_events *ret_events,
                          struct error *err)
{
    size_t count = json_array_size(body);
    if (!json_is_array(body))
        return fail(err, ERR_INVALID_REQUEST, "body", "The body must be a list of events.");
    if (count > PROVIDER_EVENTS_MAX)
        return fail(err, ERR_INVALID_REQUEST, "body", "The body has more than %d events.", PROVIDER_EVENTS_MAX);
    ret_events->items = arena_array(arena, count, sizeof(*ret_events->items));
    ret_events->count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(body, i);
        if (!json_is_object(json))
            return fail(err, ERR_INVALID_REQUEST, "body", "Item %zu of the body is not an event.", i);
        read_event(arena, json, now_us, &ret_events->items[i]);
    }
    return true;
}
