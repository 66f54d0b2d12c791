/*
 * Firing triggers, and the recorded fires.
 */
#include "engine/triggers/fire.h"

#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/triggers/instances.h"

/* A payload without an address is refused by its contract, which only the database knows; such a fire runs alone. */
static bool fire_check(struct op_context *ctx, const void *raw_args, void **ret_kept, const char **ret_lock_key, struct error *err)
{
    (void)err;
    const struct triggers_fire_args *args = raw_args;
    struct fire_request request = {
        .trigger_id = id_decode(&ctx->work.engine->ids, ID_TRIGGER, args->trigger_event_id),
        .payload = args->payload,
    };
    struct fire *fire = fire_new(&ctx->work, &request);
    *ret_kept = fire;
    *ret_lock_key = fire_lock_key(fire);
    return true;
}

static struct fire **fires_of(const struct single_write *writes, size_t count)
{
    struct fire **fires = arena_array(writes[0].ctx->work.arena, count, sizeof(struct fire *));
    for (size_t i = 0; i < count; i++)
        fires[i] = writes[i].kept;
    return fires;
}

static void fire_ask(const struct single_write *writes, size_t count, struct db_batch *batch)
{
    fires_ask(&writes[0].ctx->work, fires_of(writes, count), count, batch);
}

static bool fire_has_many_listeners(const void *kept, const struct db_batch *batch)
{
    return fire_is_large(kept, batch);
}

static bool fire_finish(const struct single_write *writes, size_t count, const struct db_batch *batch, struct error *err)
{
    return fires_finish(fires_of(writes, count), batch, err);
}

static bool fire_is_refused(const void *kept, struct error *ret_refusal)
{
    struct fire_result ignored;
    return !fire_take(kept, &ignored, ret_refusal);
}

static bool fire_reply(struct op_context *ctx, void *kept, const struct db_batch *batch, struct reply *reply, struct error *err)
{
    (void)batch;
    const struct work *work = &ctx->work;
    const struct fire *fire = kept;
    struct fire_result result;
    if (!fire_take(fire, &result, err))
        return false;
    op_context_subject(ctx, work_id(work, ID_TRIGGER, fire_trigger_id(fire)));
    op_context_subject(ctx, work_id(work, ID_INSTANCE, result.instance_id));
    op_context_subject(ctx, work_id(work, ID_CONTACT, result.contact_id));
    reply->starts_runs = result.wakes_runs;
    fire_write(work, &result, &reply->json);
    return true;
}

const struct op_single_write op_triggers_fire_single = {
    .check = fire_check,
    .ask = fire_ask,
    .is_large = fire_has_many_listeners,
    .finish = fire_finish,
    .is_refused = fire_is_refused,
    .reply = fire_reply,
};

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
