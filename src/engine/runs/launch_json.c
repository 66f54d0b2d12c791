#include "engine/runs/launch.h"

#include "base/clock.h"
#include "engine/sends/confirm_token.h"
#include "engine/sends/gradual.h"

void launch_write_started(const struct work *work, const struct launch_accepted *accepted, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "audienceRunId", ID_AUDIENCE_RUN, accepted->id);
    json_member_id(json, work, "automationId", ID_AUTOMATION, accepted->automation_id);
    json_member_text(json, "status", accepted->scheduled_at_us.set ? "scheduled" : "queued");
    json_member_int(json, "totalRecipients", accepted->recipient_count);
    json_member_time_if(json, "scheduledAt", accepted->scheduled_at_us);
    json_member_time(json, "receivedAt", work->now_us);
    json_object_end(json);
}

void launch_write_dry_run(const struct work *work, const struct launch_accepted *accepted, struct json_writer *json)
{
    json_object_begin(json);
    json_member_bool(json, "dryRun", true);
    json_member_id(json, work, "automationId", ID_AUTOMATION, accepted->automation_id);
    json_member_id(json, work, "audienceId", ID_AUDIENCE, accepted->audience_id);
    json_member_int(json, "recipientCount", accepted->recipient_count);
    json_member_int(json, "sendNodeCount", accepted->message_nodes);
    json_member_time_if(json, "scheduledAt", accepted->scheduled_at_us);
    json_object_end(json);
}

void launch_write_preview(const struct launch_preview *preview, struct json_writer *json)
{
    confirm_preview_begin(&confirm_launches, preview->token, preview->expires_at_us, json);
    json_member_text(json, "automationName", preview->automation_name);
    json_member_text_if(json, "audienceName", preview->audience_name);
    json_member_int(json, "recipientCount", preview->recipient_count);
    json_member_int(json, "sendNodeCount", preview->message_nodes);
    json_member_time_if(json, "scheduledAt", preview->scheduled_at_us);
    if (preview->gradual != NULL)
        gradual_write_tranches(preview->gradual, preview->first_us, preview->recipient_count, json);
    confirm_preview_end(json);
}

const char *launch_preview_question(struct arena *arena, const struct launch_preview *preview)
{
    const char *when = preview->scheduled_at_us.set ? clock_iso(arena, preview->scheduled_at_us.value) : "now";
    const char *audience = preview->audience_name != NULL ? preview->audience_name : "deleted";
    return arena_printf(
        arena, "Launch the automation %s for %lld recipients (audience %s), %s? Each run can send up to %lld messages.",
        preview->automation_name, (long long)preview->recipient_count, audience, when, (long long)preview->message_nodes);
}
