#include "engine/sends/confirm.h"

#include "base/clock.h"
#include "engine/sends/confirm_token.h"
#include "engine/sends/gradual.h"

#include <string.h>

static void write_preview_warnings(const struct send_preview *preview, struct json_writer *json)
{
    json_key(json, "warnings");
    json_array_begin(json);
    for (size_t i = 0; i < preview->warning_count; i++)
        json_text(json, preview->warnings[i]);
    json_array_end(json);
}

void send_write_preview(const struct send_preview *preview, struct json_writer *json)
{
    confirm_preview_begin(&confirm_sends, preview->token, preview->expires_at_us, json);
    json_member_int(json, "recipientCount", preview->recipient_count);
    json_member_text_if(json, "audienceName", preview->audience_name);
    json_member_text(json, "from", preview->from);
    json_member_text_if(json, "replyTo", preview->reply_to);
    json_member_time_if(json, "scheduledAt", preview->scheduled_at_us);
    if (preview->gradual != NULL)
        gradual_write_tranches(preview->gradual, preview->first_tranche_us, preview->recipient_count, json);
    json_member_text(json, "sampleRecipient", preview->sample_recipient);
    json_member_text(json, "subject", preview->subject);
    json_member_text(json, "text", preview->text);
    write_preview_warnings(preview, json);
    confirm_preview_end(json);
}

static const char *describe_target(struct arena *arena, const struct send_preview *preview)
{
    if (strcmp(preview->target, "all") == 0)
        return "all subscribed contacts";
    if (preview->audience_name != NULL)
        return arena_printf(arena, "audience %s", preview->audience_name);
    return "the listed addresses";
}

static void describe_tranches(struct arena *arena, const struct send_preview *preview, struct buf *text)
{
    const struct gradual_plan *plan = preview->gradual;
    if (plan == NULL)
        return;
    int64_t count = gradual_tranche_count(plan);
    buf_printf(text, "\n\nIn %lld tranches: %lld recipients at the start, everybody by %s.", (long long)count,
               (long long)gradual_tranche_end(plan, preview->recipient_count, 1),
               clock_iso(arena, gradual_slot_us(plan, preview->first_tranche_us, count - 1)));
}

const char *send_preview_question(struct arena *arena, const struct send_preview *preview)
{
    enum { QUESTION_MAX_BYTES = 32 * 1024 };
    struct buf *text = buf_in_arena(arena, QUESTION_MAX_BYTES);
    const char *when = preview->scheduled_at_us.set ? clock_iso(arena, preview->scheduled_at_us.value) : "now";
    buf_printf(text, "Send this email to %lld recipients (%s), %s?\n\nFrom: %s\nSubject: %s\n\n%s\n\n(as %s would see it)",
               (long long)preview->recipient_count, describe_target(arena, preview), when, preview->from, preview->subject,
               preview->text, preview->sample_recipient);
    describe_tranches(arena, preview, text);
    for (size_t i = 0; i < preview->warning_count; i++)
        buf_printf(text, "%s- %s", i == 0 ? "\n\nPlease note:\n" : "\n", preview->warnings[i]);
    return buf_text(text);
}
