#include "engine/runs/audience_runs.h"
#include "api/handlers/confirmation.h"
#include "api/handlers/gradual_args.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/runs/launch.h"

/* ---- Launching ---- */

static void reply_preview(struct op_context *ctx, const struct launch_preview *preview, struct reply *reply)
{
    confirmation_reply(reply, preview->token, launch_preview_question(ctx->work.arena, preview));
    launch_write_preview(preview, &reply->json);
}

static bool enqueue_launch(struct op_context *ctx, const struct launch_accepted *accepted, struct reply *reply, struct error *err)
{
    struct launch_audience_run_payload payload = { .audience_run_id = accepted->id };
    int64_t at_us = accepted->scheduled_at_us.set ? accepted->scheduled_at_us.value : ctx->work.now_us;
    return op_context_enqueue(ctx, reply, launch_audience_run_job(ctx->work.arena, &payload), at_us, err) &&
           launch_set_job(&ctx->work, accepted->id, reply->job_id, err);
}

static bool reply_launch(struct op_context *ctx, const struct launch_accepted *accepted, struct reply *reply, struct error *err)
{
    if (accepted->preview != NULL) {
        reply_preview(ctx, accepted->preview, reply);
        return true;
    }
    if (!enqueue_launch(ctx, accepted, reply, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_AUDIENCE_RUN, accepted->id));
    launch_write_started(&ctx->work, accepted, &reply->json);
    return true;
}

static bool reply_dry_run(struct op_context *ctx, const struct launch_accepted *accepted, struct reply *reply)
{
    reply->status = 200;
    reply->keep_no_key = true;
    launch_write_dry_run(&ctx->work, accepted, &reply->json);
    return true;
}

bool op_automations_run(struct op_context *ctx, const struct automations_run_args *args, struct reply *reply, struct error *err)
{
    const struct principal *who = &ctx->call->who;
    if (ctx->call->is_declined)
        return confirmation_decline(ctx, &confirm_launches, reply, err);
    struct launch_request request = {
        .automation_id = args->automation_id,
        .is_dry_run = args->dry_run,
        .is_administrator = who->kind == CREDENTIAL_SESSION && who->administrator,
        .scheduled_at_us = args->scheduled_at,
        .confirmation = ctx->call->confirmation,
        .key_id = who->key_id,
    };
    /* Only assistants get a preview to confirm; programs and people at a terminal do not. */
    if (ctx->call->caller.is_model)
        request.confirm_above = ctx->work.engine->confirm_above;
    struct launch_accepted accepted;
    if (!gradual_plan_from_args(ctx, args->gradual_send, &request.gradual, err) ||
        !launch_create(&ctx->work, &request, &accepted, err))
        return false;
    return args->dry_run ? reply_dry_run(ctx, &accepted, reply) : reply_launch(ctx, &accepted, reply, err);
}

/* ---- Audience runs ---- */

bool op_audience_runs_list(struct op_context *ctx, const struct audience_runs_list_args *args, struct reply *reply,
                           struct error *err)
{
    struct audience_run_filter filter = {
        .status = args->status != SEND_STATUS_ABSENT ? send_status_names[args->status - 1] : NULL,
        .automation_id = args->automation_id,
    };
    return audience_run_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_audience_runs_get(struct op_context *ctx, const struct audience_runs_get_args *args, struct reply *reply, struct error *err)
{
    return audience_run_get(&ctx->work, args->audience_run_id, &reply->json, err);
}

bool op_audience_runs_pause(struct op_context *ctx, const struct audience_runs_pause_args *args, struct reply *reply,
                            struct error *err)
{
    if (!audience_run_pause(&ctx->work, args->audience_run_id, &reply->json, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_AUDIENCE_RUN, args->audience_run_id));
    return true;
}

bool op_audience_runs_resume(struct op_context *ctx, const struct audience_runs_resume_args *args, struct reply *reply,
                             struct error *err)
{
    if (!audience_run_resume(&ctx->work, args->audience_run_id, &reply->json, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_AUDIENCE_RUN, args->audience_run_id));
    return true;
}

bool op_audience_runs_cancel(struct op_context *ctx, const struct audience_runs_cancel_args *args, struct reply *reply,
                             struct error *err)
{
    if (!audience_run_cancel(&ctx->work, args->audience_run_id, &reply->json, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_AUDIENCE_RUN, args->audience_run_id));
    return true;
}
