#include "engine/emails/groups.h"

#include "api/op_context.h"
#include "catalogue/operations.h"

#include <string.h>

bool op_email_groups_list(struct op_context *ctx, const struct email_groups_list_args *args, struct reply *reply, struct error *err)
{
    return email_group_list(&ctx->work, args->limit, args->cursor, &reply->json, err);
}

static bool reply_group(struct op_context *ctx, const struct email_group_row *group, struct reply *reply)
{
    op_context_subject(ctx, work_id(&ctx->work, ID_GROUP, group->id));
    email_group_write(&ctx->work, group, &reply->json);
    return true;
}

bool op_email_groups_create(struct op_context *ctx, const struct email_groups_create_args *args, struct reply *reply,
                            struct error *err)
{
    struct email_group_row *group;
    return email_group_create(&ctx->work, args->name, &group, err) && reply_group(ctx, group, reply);
}

bool op_email_groups_rename(struct op_context *ctx, const struct email_groups_rename_args *args, struct reply *reply,
                            struct error *err)
{
    struct email_group_row *group;
    return email_group_rename(&ctx->work, args->group_id, args->name, &group, err) && reply_group(ctx, group, reply);
}

bool op_email_groups_delete(struct op_context *ctx, const struct email_groups_delete_args *args, struct reply *reply,
                            struct error *err)
{
    bool deleted;
    bool is_no_folder = strcmp(args->group_id, email_ungrouped) == 0; /* refused with a message of its own */
    if (!is_no_folder && !op_context_check_id(ctx, ID_GROUP, "groupId", args->group_id, ERR_EMAIL_GROUP_NOT_FOUND, err))
        return false;
    if (!email_group_delete(&ctx->work, args->group_id, &deleted, err))
        return false;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "groupId", args->group_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    if (deleted)
        op_context_subject(ctx, args->group_id);
    return true;
}
