#include "engine/sends/sends.h"
#include "api/request.h"
#include "catalogue/operations.h"
#include "engine/sends/confirm.h"
#include "engine/sends/test_message.h"

static const char campaign_job[] = "campaign";
static const char test_job[] = "test_send";

/* Nothing was done, so that the same call may be made again under its key. */
static void reply_preview(struct request *rq, const struct send_preview *preview, struct reply *reply)
{
    reply->status = 200;
    reply->keep_no_key = true;
    reply->confirmation = preview->token;
    reply->question = send_preview_question(rq->work.arena, preview);
    send_write_preview(preview, &reply->json);
}

static const char *text_or_none(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

bool op_sends_create(struct request *rq, const struct sends_create_args *args, struct reply *reply, struct error *err)
{
    if (args->gradual_send != NULL)
        return fail(err, ERR_NOT_IMPLEMENTED, "gradualSend", "Gradual sends are not built yet; leave gradualSend out.");
    struct send_order order = {
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
        .confirmation = rq->call->confirmation,
        .key_id = rq->call->who.key_id,
    };
    /* Assistants are asked; programs and people at a terminal know what they do. */
    if (rq->call->caller.is_model)
        order.confirm_above = rq->work.engine->confirm_above;
    struct send_accepted accepted;
    if (!send_create(&rq->work, &order, &accepted, err))
        return false;
    if (accepted.preview != NULL) {
        reply_preview(rq, accepted.preview, reply);
        return true;
    }
    const char *payload = arena_printf(rq->work.arena, "{\"sendId\":%lld}", (long long)accepted.id);
    int64_t run_after_us = accepted.scheduled_at_us.set ? accepted.scheduled_at_us.value : rq->work.now_us;
    if (!request_enqueue(rq, reply, campaign_job, payload, run_after_us, err) ||
        !send_set_job(&rq->work, accepted.id, reply->job_id, err))
        return false;
    request_subject(rq, work_id(&rq->work, ID_SEND, accepted.id));
    send_write_accepted(&rq->work, &accepted, &reply->json);
    return true;
}

bool op_sends_test(struct request *rq, const struct sends_test_args *args, struct reply *reply, struct error *err)
{
    struct send_order order = {
        .email_id = args->email_id,
        .domain_id = args->domain_id,
        .to = args->to,
        .subject = args->subject,
        .preview_text = text_or_none(args->preview_text),
        .from_email = args->from != NULL ? args->from->email : NULL,
        .from_name = args->from != NULL ? text_or_none(args->from->name) : NULL,
        .reply_to = args->reply_to,
    };
    struct send_test test;
    if (!send_check_test(&rq->work, &order, &test, err))
        return false;
    request_subject(rq, work_id(&rq->work, ID_EMAIL, args->email_id));
    return request_enqueue(rq, reply, test_job, send_test_write(&rq->work, &test), rq->work.now_us, err);
}

bool op_sends_get(struct request *rq, const struct sends_get_args *args, struct reply *reply, struct error *err)
{
    bool with_events = (args->include & SENDS_GET_INCLUDE_EVENTS) != 0;
    struct send_course course;
    if (!send_get(&rq->work, args->send_id, with_events, &course, &reply->json, err))
        return false;
    reply->goes_on = !course.has_ended;
    reply->progress = (double)course.delivered;
    reply->progress_total = (double)course.recipients;
    reply->progress_note = arena_printf(rq->work.arena, "%lld of %lld recipients decided, %lld wait for another attempt",
                                        (long long)course.decided, (long long)course.recipients, (long long)course.delayed);
    return true;
}

/* R-266 … R-269. There are no automations yet, so no run is known and no automation has sends. */
static bool check_join(const struct sends_list_args *args, bool *ret_joined, struct error *err)
{
    *ret_joined =
        args->automation_id != 0 || args->automation_run_id != 0 || args->audience_run_id != 0 || args->trigger_instance_id != 0;
    if (!*ret_joined && args->kind == SEND_KIND_AUTOMATION)
        return fail(err, ERR_INVALID_REQUEST, "kind",
                    "Automation sends are listed by automationId, automationRunId, audienceRunId or triggerInstanceId.");
    if (!*ret_joined)
        return true;
    if (args->kind == SEND_KIND_CAMPAIGN)
        return fail(err, ERR_INVALID_REQUEST, "kind", "A campaign send belongs to no automation; leave kind out.");
    if (args->email_id != 0)
        return fail(err, ERR_INVALID_REQUEST, "emailId", "emailId cannot be combined with the filters of automations.");
    if (args->automation_run_id != 0)
        return fail(err, ERR_AUTOMATION_RUN_NOT_FOUND, "automationRunId", "No automation run with this id in this brand.");
    if (args->audience_run_id != 0)
        return fail(err, ERR_AUDIENCE_RUN_NOT_FOUND, "audienceRunId", "No audience run with this id in this brand.");
    return true;
}

bool op_sends_list(struct request *rq, const struct sends_list_args *args, struct reply *reply, struct error *err)
{
    bool joined;
    if (!check_join(args, &joined, err))
        return false;
    struct send_filter filter = {
        .email_id = args->email_id,
        .status = args->status != SEND_STATUS_ABSENT ? send_status_names[args->status - 1] : NULL,
        .of_automation = joined,
    };
    return send_list(&rq->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_sends_cancel(struct request *rq, const struct sends_cancel_args *args, struct reply *reply, struct error *err)
{
    struct send_row *send;
    if (!send_cancel(&rq->work, args->send_id, &send, err))
        return false;
    request_subject(rq, work_id(&rq->work, ID_SEND, send->id));
    send_write(&rq->work, send, NULL, 0, &reply->json);
    return true;
}

bool op_sends_pause(struct request *rq, const struct sends_pause_args *args, struct reply *reply, struct error *err)
{
    (void)reply;
    return send_pause(&rq->work, args->send_id, err);
}

bool op_sends_resume(struct request *rq, const struct sends_resume_args *args, struct reply *reply, struct error *err)
{
    struct send_row *send;
    if (!send_resume(&rq->work, args->send_id, &send, err))
        return false;
    request_subject(rq, work_id(&rq->work, ID_SEND, send->id));
    send_write(&rq->work, send, NULL, 0, &reply->json);
    return true;
}
