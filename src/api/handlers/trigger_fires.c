/*
 * Firing triggers, and the recorded fires.
 */
#include "engine/triggers/fire.h"

#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/triggers/instances.h"

bool op_triggers_fire(struct op_context *ctx, const struct triggers_fire_args *args, struct reply *reply, struct error *err)
{
    const struct work *work = &ctx->work;
    struct fire_request request = {
        .trigger_id = id_decode(&work->engine->ids, ID_TRIGGER, args->trigger_event_id),
        .payload = args->payload,
    };
    struct fire_result result;
    if (!trigger_fire(work, &request, &result, err))
        return false;
    op_context_subject(ctx, args->trigger_event_id);
    op_context_subject(ctx, work_id(work, ID_INSTANCE, result.instance_id));
    op_context_subject(ctx, work_id(work, ID_CONTACT, result.contact_id));
    reply->starts_runs = result.run_ids.count > 0;
    fire_write(work, &result, &reply->json);
    return true;
}

/* ---- Recorded fires ---- */

bool op_trigger_instances_list(struct op_context *ctx, const struct trigger_instances_list_args *args, struct reply *reply,
                               struct error *err)
{
    const struct work *work = &ctx->work;
    int64_t trigger_id = 0;
    if (args->trigger_event_id != NULL) {
        /* An id of no trigger has no fires. */
        trigger_id = id_decode(&work->engine->ids, ID_TRIGGER, args->trigger_event_id);
        trigger_id = trigger_id != 0 ? trigger_id : -1;
    }
    return trigger_instances_write(work, trigger_id, args->limit, args->cursor, &reply->json, err);
}

bool op_trigger_instances_get(struct op_context *ctx, const struct trigger_instances_get_args *args, struct reply *reply,
                              struct error *err)
{
    return trigger_instance_write(&ctx->work, args->trigger_instance_id, &reply->json, err);
}
