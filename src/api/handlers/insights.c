#include "engine/insights/insights.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

static bool has_part(const struct insights_list_args *args, enum insights_list_include part)
{
    return (args->include & part) != 0;
}

bool op_insights_list(struct op_context *ctx, const struct insights_list_args *args, struct reply *reply, struct error *err)
{
    struct insight_filter filter = {
        .state = insights_list_state_names[args->state - 1],
        .severity = args->severity != INSIGHTS_LIST_SEVERITY_ABSENT ? insights_list_severity_names[args->severity - 1] : NULL,
        .pulse = has_part(args, INSIGHTS_LIST_INCLUDE_PULSE),
        .report = has_part(args, INSIGHTS_LIST_INCLUDE_REPORT),
        .memo = has_part(args, INSIGHTS_LIST_INCLUDE_MEMO),
        .suggestions = has_part(args, INSIGHTS_LIST_INCLUDE_SUGGESTIONS),
    };
    return insights_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_insights_get(struct op_context *ctx, const struct insights_get_args *args, struct reply *reply, struct error *err)
{
    return insight_get(&ctx->work, args->insight_id, &reply->json, err);
}

bool op_insights_run(struct op_context *ctx, const struct insights_run_args *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct find_insights_payload payload = { .is_asked = true };
    return op_context_enqueue(ctx, reply, find_insights_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
