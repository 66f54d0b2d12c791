#include "engine/sends/sends.h"

#include "base/text.h"
#include "engine/analytics/figures.h"
#include "engine/sends/gradual.h"

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

/* The figures of a send that has not begun do not exist; the contract's shape has zeros for them. */
static bool has_figures(const struct work *work, const struct send_row *send)
{
    return send->started_at.set || !work_is_for_assistant(work);
}

static void write_stats(const struct work *work, const struct send_row *send, struct json_writer *json)
{
    struct mail_figures figures = {
        .sent = send->sent,
        .delivered = send->delivered,
        .opened = send->opened,
        .clicked = send->clicked,
        .bounced = send->bounced,
        .complained = send->complained,
        .unsubscribed = send->unsubscribed,
        .bounced_later = send->bounced_later,
        .is_tracked = send->is_tracked,
    };
    json_key(json, "stats");
    if (!has_figures(work, send)) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    figures_write(work, &figures, json);
    json_object_end(json);
    if (work_is_for_assistant(work)) {
        figures_write_rates(&figures, json);
        figures_write_not_tracked(&figures, json);
    }
}

static bool send_has_ended(const struct send_row *send)
{
    static const char *const ends[] = { "completed", "partially_completed", "failed", "canceled" };
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++)
        if (text_equal(send->status, ends[i]))
            return true;
    return false;
}

struct send_progress send_progress_of(const struct send_row *send)
{
    return (struct send_progress){
        .has_ended = send_has_ended(send),
        .decided = send->accepted + send->bounced - send->bounced_later + send->skipped + send->failed + send->held,
        .delivered = send->delivered,
        .delayed = send->delayed,
        .recipients = send->recipient_count.value,
        .waits_for_approval = text_equal(send->approval_state, "pending") && !send_has_ended(send),
    };
}

/* Pending recipients have no final outcome. Delayed recipients are the pending ones with a queued retry. A send that has ended
 * has neither. */
static void write_delivery_counts(const struct work *work, const struct send_row *send, struct json_writer *json)
{
    struct send_progress progress = send_progress_of(send);
    json_key(json, "delivery");
    if (!has_figures(work, send)) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    json_member_int(json, "accepted", send->accepted);
    json_member_int(json, "pending", progress.has_ended ? 0 : at_least_zero(progress.recipients - progress.decided));
    json_member_int(json, "delayed", progress.delayed);
    json_member_int(json, "delivered", send->accepted - send->bounced_later);
    json_member_int(json, "bounced", send->bounced);
    if (work_is_for_assistant(work)) {
        json_member_int(json, "skipped", send->skipped);
        json_member_int(json, "failed", send->failed);
        json_member_int(json, "held", send->held);
    }
    json_object_end(json);
}

static void write_target(const struct work *work, const struct send_row *send, struct json_writer *json)
{
    if (text_equal(send->target, "all"))
        json_member_text(json, "audienceId", "all");
    else
        json_member_id_if(json, work, "audienceId", ID_AUDIENCE, send->audience_id);
    json_member_text_if(json, "audienceName", send->audience_name);
    if (work_is_for_assistant(work))
        json_member_int_or_null(json, "recipientCount", send->recipient_count);
    else
        json_member_int(json, "recipientCount", send->recipient_count.value);
}

/* */
static void write_automation(const struct work *work, const struct send_row *send, struct json_writer *json)
{
    json_member_id_if(json, work, "automationId", ID_AUTOMATION, send->automation_id);
    json_member_text_if(json, "nodeId", send->node_id);
    json_member_id_if(json, work, "automationRunId", ID_RUN, send->automation_run_id);
    json_member_id_if(json, work, "audienceRunId", ID_AUDIENCE_RUN, send->audience_run_id);
    json_member_id_if(json, work, "triggerInstanceId", ID_INSTANCE, send->trigger_instance_id);
}

static void write_times(const struct send_row *send, struct json_writer *json)
{
    json_member_time_if(json, "scheduledAt", send->scheduled_at);
    json_member_time_if(json, "startedAt", send->started_at);
    json_member_time_if(json, "completedAt", send->completed_at);
    json_member_time_if(json, "failedAt", send->failed_at);
}

/* One row more than SEND_EVENTS_MAX was read to see whether the list is cut. */
static void write_events(const struct work *work, const struct db_rows *rows, struct json_writer *json)
{
    const struct send_events_row *events = rows->rows;
    json_key(json, "events");
    json_array_begin(json);
    for (size_t i = 0; i < rows->count && i < SEND_EVENTS_MAX; i++) {
        json_object_begin(json);
        json_member_text(json, "eventType", events[i].event_type);
        json_member_time(json, "occurredAt", events[i].occurred_at);
        json_member_text_if(json, "recipientEmail", events[i].recipient_email);
        json_member_text_if(json, "url", events[i].url);
        json_object_end(json);
    }
    json_array_end(json);
    if (rows->count > SEND_EVENTS_MAX && work_is_for_assistant(work))
        json_member_bool(json, "eventsHasMore", true);
}

/* Recipients that were left out when their turn came, by reason. */
static void write_left_out_results(const struct db_rows *rows, struct json_writer *json)
{
    const struct send_left_out_row *reasons = rows->rows;
    json_key(json, "leftOut");
    json_object_begin(json);
    for (size_t i = 0; i < rows->count; i++)
        json_member_int(json, reasons[i].reason, reasons[i].recipients);
    json_object_end(json);
}

/* Links by the number of recipients who followed them. */
static void write_links(const struct db_rows *rows, struct json_writer *json)
{
    const struct send_links_row *links = rows->rows;
    json_key(json, "links");
    json_array_begin(json);
    for (size_t i = 0; i < rows->count; i++) {
        json_object_begin(json);
        json_member_text(json, "url", links[i].url);
        json_member_int(json, "clicked", links[i].clicked);
        json_object_end(json);
    }
    json_array_end(json);
}

void send_write(const struct work *work, const struct send_row *send, const struct send_extras *extras, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "sendId", ID_SEND, send->id);
    json_member_text(json, "kind", send->kind);
    json_member_text(json, "messageClass", send->message_class);
    json_member_id(json, work, "emailId", ID_EMAIL, send->email_id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, send->email_version_id);
    json_member_text(json, "status", send->status);
    json_member_text(json, "approvalState", send->approval_state);
    json_member_text(json, "subject", send->subject);
    json_member_text_if(json, "previewText", send->preview_text);
    json_member_text(json, "fromAddress", send->from_address);
    json_member_text_if(json, "senderName", send->sender_name);
    json_member_text_if(json, "replyTo", send->reply_to);
    json_member_id(json, work, "domainId", ID_DOMAIN, send->domain_id);
    write_target(work, send, json);
    write_times(send, json);
    json_member_text_if(json, "error", send->error);
    json_member_text_if(json, "pauseReason", send->pause_reason);
    gradual_write(work, send, json);
    write_automation(work, send, json);
    if (send->is_captured && work_is_for_assistant(work))
        json_member_bool(json, "captured", true);
    write_stats(work, send, json);
    write_delivery_counts(work, send, json);
    json_member_time(json, "createdAt", send->created_at);
    json_member_time(json, "updatedAt", send->updated_at);
    if (extras != NULL && extras->left_out != NULL && extras->left_out->count > 0)
        write_left_out_results(extras->left_out, json);
    if (extras != NULL && extras->links != NULL && extras->links->count > 0)
        write_links(extras->links, json);
    if (extras != NULL && extras->events != NULL)
        write_events(work, extras->events, json);
    json_object_end(json);
}

static void write_skipped(const struct send_accepted *accepted, struct json_writer *json)
{
    json_key(json, "skipped");
    json_object_begin(json);
    json_member_int(json, "count", (int64_t)accepted->skipped_count);
    json_key(json, "recipients");
    json_array_begin(json);
    for (size_t i = 0; i < accepted->skipped_count; i++) {
        json_object_begin(json);
        json_member_text(json, "email", accepted->skipped[i].email);
        json_member_text(json, "reason", accepted->skipped[i].reason);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static int64_t skipped_for(const struct send_accepted *accepted, const char *reason)
{
    int64_t count = 0;
    for (size_t i = 0; i < accepted->skipped_count; i++)
        count += text_equal(accepted->skipped[i].reason, reason);
    return count;
}

/* How many addresses of an inline list get no message, or no second one, by reason. */
static void write_left_out(const struct send_accepted *accepted, struct json_writer *json)
{
    const struct {
        const char *reason;
        int64_t count;
    } reasons[] = { { "unsubscribed", skipped_for(accepted, "unsubscribed") },
                    { "suppressed", skipped_for(accepted, "suppressed") },
                    { "duplicate", accepted->duplicate_count } };
    if (accepted->skipped_count == 0 && accepted->duplicate_count == 0)
        return;
    json_key(json, "leftOut");
    json_object_begin(json);
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
        if (reasons[i].count > 0)
            json_member_int(json, reasons[i].reason, reasons[i].count);
    json_object_end(json);
}

void send_write_accepted(const struct work *work, const struct send_accepted *accepted, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "sendId", ID_SEND, accepted->id);
    json_member_text(json, "status", accepted->status);
    json_member_time_if(json, "scheduledAt", accepted->scheduled_at_us);
    json_member_int_or_null(json, "recipientCount", accepted->recipient_count);
    if (accepted->is_captured)
        json_member_bool(json, "captured", true);
    write_left_out(accepted, json);
    if (accepted->unknown_count > 0)
        json_member_int(json, "unknownCount", accepted->unknown_count);
    if (accepted->skipped_count > 0)
        write_skipped(accepted, json);
    json_object_end(json);
}

char *send_state_details(const struct work *work, const struct send_same_target_row *earlier)
{
    enum { DETAILS_MAX_BYTES = 1024 };
    struct buf *out = buf_in_arena(work->arena, DETAILS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_key(&json, "sendState");
    json_object_begin(&json);
    json_member_id(&json, work, "sendId", ID_SEND, earlier->id);
    json_member_text(&json, "status", earlier->status);
    json_member_time_if(&json, "scheduledAt", earlier->scheduled_at);
    json_member_time_if(&json, "startedAt", earlier->started_at);
    json_member_time_if(&json, "completedAt", earlier->completed_at);
    json_object_end(&json);
    json_object_end(&json);
    return arena_dup(work->arena, buf_text(out));
}
