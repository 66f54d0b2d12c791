#include "engine/sends/sends.h"
#include "api/handlers/confirmation.h"
#include "api/handlers/gradual_args.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/sends/approval.h"
#include "engine/sends/confirm.h"
#include "engine/sends/test_message.h"

static void reply_preview(struct op_context *ctx, const struct send_preview *preview, struct reply *reply)
{
    confirmation_reply(reply, preview->token, send_preview_question(ctx->work.arena, preview));
    send_write_preview(preview, &reply->json);
}

static const char *text_or_none(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Enqueues the job that begins the send, and that continues a gradual one. */
static bool enqueue_campaign(struct op_context *ctx, int64_t send_id, int64_t run_after_us, struct reply *reply, struct error *err)
{
    struct campaign_payload payload = { .send_id = send_id };
    return op_context_enqueue(ctx, reply, campaign_job(ctx->work.arena, &payload), run_after_us, err) &&
           send_set_job(&ctx->work, send_id, reply->job_id, err);
}

bool op_sends_create(struct op_context *ctx, const struct sends_create_args *args, struct reply *reply, struct error *err)
{
    if (ctx->call->is_declined)
        return confirmation_decline(ctx, &confirm_sends, reply, err);
    const struct gradual_plan *plan;
    if (!gradual_plan_from_args(ctx, args->gradual_send, &plan, err))
        return false;
    struct send_request request = {
        .email_id = args->email_id,
        .domain_id = args->domain_id,
        .audience = args->audience_id,
        .to = args->to,
        .subject = args->subject,
        .preview_text = text_or_none(args->preview_text),
        .from_email = args->from != NULL ? args->from->email : NULL,
        .from_name = args->from != NULL ? text_or_none(args->from->name) : NULL,
        .reply_to = args->reply_to,
        .scheduled_at_us = args->scheduled_at,
        .gradual = plan,
        .confirmation = ctx->call->confirmation,
        .key_id = ctx->call->who.key_id,
    };
    /* Only assistants get a preview to confirm; programs and people at a terminal do not. */
    if (ctx->call->caller.is_model)
        request.confirm_above = ctx->work.engine->confirm_above;
    struct send_accepted accepted;
    if (!send_create(&ctx->work, &request, &accepted, err))
        return false;
    if (accepted.preview != NULL) {
        reply_preview(ctx, accepted.preview, reply);
        return true;
    }
    int64_t run_after_us = accepted.scheduled_at_us.set ? accepted.scheduled_at_us.value : ctx->work.now_us;
    if (!accepted.needs_approval && !enqueue_campaign(ctx, accepted.id, run_after_us, reply, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_SEND, accepted.id));
    send_write_accepted(&ctx->work, &accepted, &reply->json);
    return true;
}

bool op_sends_test(struct op_context *ctx, const struct sends_test_args *args, struct reply *reply, struct error *err)
{
    if (ctx->call->is_declined)
        return confirmation_decline(ctx, &confirm_sends, reply, err);
    struct send_request request = {
        .email_id = args->email_id,
        .domain_id = args->domain_id,
        .to = args->to,
        .subject = args->subject,
        .preview_text = text_or_none(args->preview_text),
        .from_email = args->from != NULL ? args->from->email : NULL,
        .from_name = args->from != NULL ? text_or_none(args->from->name) : NULL,
        .reply_to = args->reply_to,
    };
    struct test_send_payload test;
    if (!send_check_test(&ctx->work, &request, &test, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_EMAIL, args->email_id));
    return op_context_enqueue(ctx, reply, test_send_job(ctx->work.arena, &test), ctx->work.now_us, err);
}

bool op_sends_get(struct op_context *ctx, const struct sends_get_args *args, struct reply *reply, struct error *err)
{
    bool with_events = (args->include & SENDS_GET_INCLUDE_EVENTS) != 0;
    struct send_progress progress;
    if (!send_get(&ctx->work, args->send_id, with_events, &progress, &reply->json, err))
        return false;
    reply->goes_on = !progress.has_ended;
    reply->progress = (double)progress.delivered;
    reply->progress_total = (double)progress.recipients;
    if (progress.waits_for_approval)
        reply->progress_note = "An administrator of the organization has to approve this send before it begins.";
    else
        reply->progress_note =
            arena_printf(ctx->work.arena, "%lld of %lld recipients decided, %lld wait for another attempt",
                         (long long)progress.decided, (long long)progress.recipients, (long long)progress.delayed);
    return true;
}

bool op_sends_decide(struct op_context *ctx, const struct sends_decide_args *args, struct reply *reply, struct error *err)
{
    struct approval_decision decision = {
        .approves = args->decision == SEND_DECISION_APPROVE,
        .note = text_or_none(args->note),
        .session_id = ctx->call->who.session_id,
    };
    struct send_row *send;
    if (!send_find_brand(&ctx->work, args->send_id, &ctx->work.brand_id, err) ||
        !send_decide(&ctx->work, args->send_id, &decision, &send, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_SEND, send->id));
    send_write(&ctx->work, send, NULL, &reply->json);
    return true;
}

/* R-266 … R-268 */
static bool check_automation_filters(const struct sends_list_args *args, const struct send_filter *filter, struct error *err)
{
    bool is_joined = send_filter_is_joined(filter);
    if (!is_joined && args->kind == SEND_KIND_AUTOMATION)
        return fail(err, ERR_INVALID_REQUEST, "kind",
                    "Automation sends are listed by automationId, automationRunId, audienceRunId or triggerInstanceId.");
    if (is_joined && args->kind == SEND_KIND_CAMPAIGN)
        return fail(err, ERR_INVALID_REQUEST, "kind", "Campaign sends do not belong to automations; leave kind out.");
    if (is_joined && args->email_id != 0)
        return fail(err, ERR_INVALID_REQUEST, "emailId", "emailId cannot be combined with the filters of automations.");
    return true;
}

bool op_sends_list(struct op_context *ctx, const struct sends_list_args *args, struct reply *reply, struct error *err)
{
    struct send_filter filter = {
        .email_id = args->email_id,
        .status = args->status != SEND_STATUS_ABSENT ? send_status_names[args->status - 1] : NULL,
        .automation_id = args->automation_id,
        .run_id = args->automation_run_id,
        .audience_run_id = args->audience_run_id,
        .instance_id = args->trigger_instance_id,
    };
    return check_automation_filters(args, &filter, err) &&
           send_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_sends_cancel(struct op_context *ctx, const struct sends_cancel_args *args, struct reply *reply, struct error *err)
{
    struct send_row *send;
    if (!send_cancel(&ctx->work, args->send_id, &send, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_SEND, send->id));
    send_write(&ctx->work, send, NULL, &reply->json);
    return true;
}

bool op_sends_pause(struct op_context *ctx, const struct sends_pause_args *args, struct reply *reply, struct error *err)
{
    struct send_row *send;
    if (!send_pause(&ctx->work, args->send_id, &send, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_SEND, send->id));
    send_write(&ctx->work, send, NULL, &reply->json);
    return true;
}

bool op_sends_resume(struct op_context *ctx, const struct sends_resume_args *args, struct reply *reply, struct error *err)
{
    struct send_row *send;
    if (!send_resume(&ctx->work, args->send_id, &send, err) ||
        (gradual_is_running(send) && !enqueue_campaign(ctx, send->id, ctx->work.now_us, reply, err)))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_SEND, send->id));
    send_write(&ctx->work, send, NULL, &reply->json);
    return true;
}
