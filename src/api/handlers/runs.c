#include "engine/runs/runs.h"
#include "api/op_context.h"
#include "catalogue/operations.h"

/* An id that is given as a text and names no row finds nothing. */
static int64_t trigger_of(const struct op_context *ctx, const char *text)
{
    int64_t id = text != NULL ? id_decode(&ctx->work.engine->ids, ID_TRIGGER, text) : 0;
    return text != NULL && id == 0 ? -1 : id;
}

bool op_runs_list(struct op_context *ctx, const struct runs_list_args *args, struct reply *reply, struct error *err)
{
    struct run_filter filter = {
        .from_us = args->from,
        .to_us = args->to,
        .status = args->status != SEND_STATUS_ABSENT ? send_status_names[args->status - 1] : NULL,
        .automation_id = args->automation_id,
        .instance_id = args->trigger_instance_id,
        .trigger_id = trigger_of(ctx, args->trigger_event_id),
        .recipient = args->recipient_email,
        .mode = args->mode != RUN_MODE_ABSENT ? run_mode_names[args->mode - 1] : NULL,
    };
    return run_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_runs_get(struct op_context *ctx, const struct runs_get_args *args, struct reply *reply, struct error *err)
{
    return run_get(&ctx->work, args->automation_run_id, (args->include & RUNS_GET_INCLUDE_LOGS) != 0, &reply->json, err);
}

bool op_runs_cancel(struct op_context *ctx, const struct runs_cancel_args *args, struct reply *reply, struct error *err)
{
    if (!run_cancel(&ctx->work, args->automation_run_id, &reply->json, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_RUN, args->automation_run_id));
    return true;
}
