/*
 * Fuzzes the readers of the notifications of mail providers. The first byte
 * chooses the provider (s: SNS and SES, g: SendGrid, p: Postmark), the rest is the
 * body. Besides not crashing: every event has an id and a time that is not in the
 * future, and its diagnostic is bounded and valid UTF-8.
 */
#include "base/clock.h"
#include "base/text.h"
#include "engine/provider_reports/provider_events.h"
#include "fuzz.h"

#include <string.h>

static const int64_t now_us = INT64_C(1800000000) * US_PER_S;

static void check_events(const struct provider_events *events)
{
    require(events->count <= PROVIDER_EVENTS_MAX);
    for (size_t i = 0; i < events->count; i++) {
        const struct provider_event *event = &events->items[i];
        require(event->id != NULL && event->at_us <= now_us);
        require(event->kind <= REPORT_OTHER && event->bounce <= BOUNCE_REFUSED);
        if (event->diagnostic != NULL)
            require(utf8_is_valid(event->diagnostic, strlen(event->diagnostic)) &&
                    strlen(event->diagnostic) <= REPORT_DIAGNOSTIC_MAX_BYTES);
    }
}

static bool read_ses(struct arena *arena, const json_t *json, struct provider_events *ret_events, struct error *err)
{
    struct sns_message message;
    if (!sns_message_read(arena, json, &message, err))
        return false;
    bool is_certificate = sns_certificate_address_is_trusted(message.certificate_url, false);
    require(!is_certificate || sns_address_is_trusted(message.certificate_url, false));
    require(!is_certificate || text_starts_with(message.certificate_url, "https://sns."));
    require(message.signed_text.size > 0);
    return ses_events_read(arena, &message, now_us, ret_events, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 256 * 1024)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    const char *body = arena_dup_bytes(arena, (const char *)data + 1, size - 1);
    struct error err = { .code = ERR_NONE };
    struct provider_events events = { NULL, 0 };
    const json_t *json;
    if (!provider_json_read(arena, body, &json, &err))
        return 0;
    bool ok = data[0] == 's'   ? read_ses(arena, json, &events, &err)
              : data[0] == 'g' ? sendgrid_events_read(arena, json, now_us, &events, &err)
                               : postmark_events_read(arena, json, now_us, &events, &err);
    if (ok)
        check_events(&events);
    else
        require(err.code == ERR_INVALID_REQUEST || err.code == ERR_PAYLOAD_TOO_LARGE);
    return 0;
}
