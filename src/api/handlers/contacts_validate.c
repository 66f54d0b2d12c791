#include "engine/validation/validated_save.h"

#include "api/handlers/contact_args.h"
#include "api/op_context.h"
#include "catalogue/operations.h"

enum { PAYLOAD_MAX_BYTES = 256 * 1024 };

/* ---- contacts.validate ---- */

bool op_contacts_validate(struct op_context *ctx, const struct contacts_validate_args *args, struct reply *reply, struct error *err)
{
    static const char validate_job[] = "validate_addresses";
    /* The final charge may be lower: each address counts once, and only checked addresses are charged. */
    if (!validation_check_credits(&ctx->work, (int64_t)args->emails.count, err))
        return false;
    struct buf *payload = buf_in_arena(ctx->work.arena, PAYLOAD_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, payload);
    json_object_begin(&json);
    json_key(&json, "emails");
    json_array_begin(&json);
    for (size_t i = 0; i < args->emails.count; i++)
        json_text(&json, args->emails.items[i]);
    json_array_end(&json);
    json_object_end(&json);
    return op_context_enqueue(ctx, reply, validate_job, buf_text(payload), ctx->work.now_us, err);
}

/* ---- contacts.saveValidated ---- */

static struct contact_change change_of_one(const struct contacts_save_validated_args *args)
{
    struct contact_change change = {
        .email = args->email,
        .first_name = args->first_name,
        .last_name = args->last_name,
        .user_id = args->user_id,
        .source = args->source,
        .subscribed = args->subscribed,
        .subscription_groups = args->subscription_groups,
        .custom_fields = args->custom_fields,
    };
    contact_args_consent(&change, args->consent);
    return change;
}

bool op_contacts_save_validated(struct op_context *ctx, const struct contacts_save_validated_args *args, struct reply *reply,
                                struct error *err)
{
    struct contact_change change = change_of_one(args);
    if (!validation_check_credits(&ctx->work, 1, err))
        return false;
    const char *payload = validated_save_write(ctx->work.arena, &change, 1, true);
    return op_context_enqueue(ctx, reply, validated_save_job, payload, ctx->work.now_us, err);
}

/* ---- contacts.saveBatchValidated ---- */

/* Saves the contacts at once. A job in the background checks them and charges the checks. */
static bool save_many(struct op_context *ctx, const struct contact_change *changes, size_t count, struct reply *reply,
                      struct error *err)
{
    struct int_list ids;
    reply->charge_nothing = true;
    if (!validated_save_many(&ctx->work, changes, count, &ids, &reply->json, err))
        return false;
    for (size_t i = 0; i < ids.count; i++)
        op_context_subject(ctx, work_id(&ctx->work, ID_CONTACT, ids.items[i]));
    return true;
}

bool op_contacts_save_batch_validated(struct op_context *ctx, const struct contacts_save_batch_validated_args *args,
                                      struct reply *reply, struct error *err)
{
    size_t count = args->contacts.count;
    if (!validation_check_credits(&ctx->work, (int64_t)count, err))
        return false;
    struct contact_change *changes = arena_array(ctx->work.arena, count, sizeof(*changes));
    for (size_t i = 0; i < count; i++)
        changes[i] = contact_args_row(&args->contacts.items[i]);
    if (count > VALIDATION_MAX_WAITED_FOR)
        return save_many(ctx, changes, count, reply, err);
    const char *payload = validated_save_write(ctx->work.arena, changes, count, false);
    return op_context_enqueue(ctx, reply, validated_save_job, payload, ctx->work.now_us, err);
}
