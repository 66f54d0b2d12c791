#include "engine/fields/fields.h"

#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

bool op_fields_list(struct op_context *ctx, const struct fields_list_args *args, struct reply *reply, struct error *err)
{
    return field_list(&ctx->work, args->limit, args->cursor, &reply->json, err);
}

bool op_fields_create(struct op_context *ctx, const struct fields_create_args *args, struct reply *reply, struct error *err)
{
    enum { STATUS_CREATED = 201, STATUS_EXISTED = 200 };
    const char *type = fields_create_field_type_names[args->field_type - 1];
    struct field_created created;
    if (!field_create(&ctx->work, args->field_name, type, &created, err))
        return false;
    reply->status = created.is_new ? STATUS_CREATED : STATUS_EXISTED;
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_text(json, "fieldName", created.name);
    json_member_text(json, "fieldType", type);
    json_member_bool(json, "isCore", false);
    field_write_renamed(args->field_name, created.name, json);
    json_object_end(json);
    return true;
}

/* An assistant is told the nearest field: it may have meant another one. */
static bool reply_absent(const struct op_context *ctx, const struct fields_delete_args *args, struct reply *reply,
                         struct error *err)
{
    const char *nearest = NULL;
    if (work_is_for_assistant(&ctx->work) && !field_find_nearest(&ctx->work, args->field_name, &nearest, err))
        return false;
    if (nearest != NULL) {
        reply->note = arena_printf(ctx->work.arena, "There is no field of this name; %s is the nearest.", nearest);
        reply->note_advice = ERR_FIELD_NOT_FOUND;
    }
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "fieldName", args->field_name);
    json_member_bool(&reply->json, "deleted", false);
    json_object_end(&reply->json);
    return true;
}

bool op_fields_delete(struct op_context *ctx, const struct fields_delete_args *args, struct reply *reply, struct error *err)
{
    const char *name;
    bool exists;
    if (!field_find_for_deletion(&ctx->work, args->field_name, &name, &exists, err))
        return false;
    if (!exists)
        return reply_absent(ctx, args, reply, err);
    struct delete_field_payload payload = { .field_name = name };
    return op_context_enqueue(ctx, reply, delete_field_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
