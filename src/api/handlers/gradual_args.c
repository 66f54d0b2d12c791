#include "api/handlers/gradual_args.h"

bool gradual_plan_from_args(struct op_context *ctx, const struct gradual_send *args, const struct gradual_plan **ret_plan,
                            struct error *err)
{
    *ret_plan = NULL;
    if (args == NULL)
        return true;
    struct gradual_plan *plan = arena_alloc(ctx->work.arena, sizeof(*plan));
    *plan = (struct gradual_plan){
        .starting_percentage = args->starting_percentage,
        .increment_percentage = args->increment_percentage,
        .interval_value = args->interval->value,
        .is_daily = args->interval->unit == GRADUAL_UNIT_DAY,
        .time_zone = args->time_zone,
    };
    *ret_plan = plan;
    return gradual_plan_check(&ctx->work, plan, err);
}
