#include "engine/validation/validated_save.h"

#include "api/handlers/contact_args.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

/* ---- contacts.validate ---- */

/* A row without a text is empty in the job. It gets a verdict in its place, and it costs nothing. */
static struct text_list rows_to_check(struct arena *arena, struct text_list emails)
{
    const char **rows = arena_array(arena, emails.count, sizeof(*rows));
    for (size_t i = 0; i < emails.count; i++)
        rows[i] = emails.items[i] != NULL ? emails.items[i] : "";
    return (struct text_list){ rows, emails.count };
}

bool op_contacts_validate(struct op_context *ctx, const struct contacts_validate_args *args, struct reply *reply, struct error *err)
{
    /* The final charge may be lower: each address counts once, and only checked addresses are charged. */
    if (!validation_check_credits(&ctx->work, (int64_t)args->emails.count, err))
        return false;
    struct validate_addresses_payload payload = { .emails = rows_to_check(ctx->work.arena, args->emails) };
    ctx->items = (int64_t)args->emails.count;
    return op_context_enqueue(ctx, reply, validate_addresses_job(ctx->work.arena, &payload), ctx->work.now_us, err);
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
    return op_context_enqueue(ctx, reply, validated_save_job(ctx->work.arena, &change, 1, true), ctx->work.now_us, err);
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
    struct contact_change *changes = contact_args_rows(ctx->work.arena, args->contacts);
    if (count > VALIDATION_MAX_WAITED_FOR)
        return save_many(ctx, changes, count, reply, err);
    ctx->items = (int64_t)count;
    return op_context_enqueue(ctx, reply, validated_save_job(ctx->work.arena, changes, count, false), ctx->work.now_us, err);
}
