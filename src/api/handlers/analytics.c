#include "engine/analytics/analytics.h"
#include "api/op_context.h"
#include "catalogue/operations.h"

bool op_analytics_overview(struct op_context *ctx, const struct analytics_overview_args *args, struct reply *reply,
                           struct error *err)
{
    struct window window;
    return window_read(&ctx->work, args->from, args->to, OVERVIEW_DEFAULT_DAYS, &window, err) &&
           analytics_overview(&ctx->work, window, &reply->json, err);
}

bool op_analytics_events(struct op_context *ctx, const struct analytics_events_args *args, struct reply *reply, struct error *err)
{
    struct event_filter filter = {
        .recipient = args->recipient,
        .event_type = args->event_type != EVENT_TYPE_ABSENT ? event_type_names[args->event_type - 1] : NULL,
        .send_id = args->send_id,
        .automation_id = args->automation_id,
        .run_id = args->automation_run_id,
    };
    return window_read(&ctx->work, args->from, args->to, EVENTS_DEFAULT_DAYS, &filter.window, err) &&
           analytics_events(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

bool op_analytics_automations(struct op_context *ctx, const struct analytics_automations_args *args, struct reply *reply,
                              struct error *err)
{
    struct window window;
    return window_read(&ctx->work, args->from, args->to, AUTOMATIONS_DEFAULT_DAYS, &window, err) &&
           analytics_automations(&ctx->work, window, args->limit, args->cursor, &reply->json, err);
}
