/* Handlers that change, delete, restore and copy designs, and those that need a connected service. */
#include "engine/emails/emails.h"

#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/emails/groups.h"

/* Replies with the changed design. */
static bool reply_email(struct op_context *ctx, const struct email_find_row *email, struct reply *reply)
{
    op_context_subject(ctx, work_id(&ctx->work, ID_EMAIL, email->id));
    email_write(&ctx->work, email, NULL, &reply->json);
    return true;
}

bool op_emails_update(struct op_context *ctx, const struct emails_update_args *args, struct reply *reply, struct error *err)
{
    struct email_change change = {
        .title = args->title,
        .subject_line = args->subject_line,
        .folder = { .group_id = args->group_id, .group_name = args->group_name },
    };
    struct email_find_row *email;
    return email_change(&ctx->work, args->email_id, &change, &email, err) && reply_email(ctx, email, reply);
}

bool op_emails_delete(struct op_context *ctx, const struct emails_delete_args *args, struct reply *reply, struct error *err)
{
    struct email_deletion deletion;
    if (!op_context_check_id(ctx, ID_EMAIL, "emailId", args->email_id, ERR_EMAIL_NOT_FOUND, err) ||
        !email_delete(&ctx->work, id_decode(&ctx->work.engine->ids, ID_EMAIL, args->email_id), &deletion, err))
        return false;
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_text(json, "emailId", args->email_id);
    json_member_bool(json, "deleted", deletion.deleted);
    if (!deletion.deleted)
        json_member_text(json, "reason", deletion.deleted_at.set ? "already_deleted" : "not_found");
    json_member_time_if(json, "deletedAt", deletion.deleted_at);
    json_object_end(json);
    if (deletion.deleted)
        op_context_subject(ctx, args->email_id);
    return true;
}

bool op_emails_restore(struct op_context *ctx, const struct emails_restore_args *args, struct reply *reply, struct error *err)
{
    struct email_version_name version = { .id = args->email_version_id, .number = args->version };
    struct email_find_row *email;
    return email_restore(&ctx->work, args->email_id, &version, &email, err) && reply_email(ctx, email, reply);
}

bool op_emails_clone(struct op_context *ctx, const struct emails_clone_args *args, struct reply *reply, struct error *err)
{
    struct email_copy copy = {
        .email_id = args->email_id,
        .version_id = args->email_version_id,
        .title = args->title,
        .folder = { .group_id = args->group_id, .group_name = args->group_name },
    };
    struct email_find_row *email;
    return email_clone(&ctx->work, &copy, &email, err) && reply_email(ctx, email, reply);
}

/* ---- Operations that need a connected service; none can be connected yet ---- */

bool op_emails_export(struct op_context *ctx, const struct emails_export_args *args, struct reply *reply, struct error *err)
{
    (void)reply;
    return email_check_export(&ctx->work, args->email_id, args->provider, args->sender_email, err);
}

bool op_emails_import_figma(struct op_context *ctx, const struct emails_import_figma_args *args, struct reply *reply,
                            struct error *err)
{
    (void)reply;
    const struct email_folder folder = {
        .group_id = { .set = args->group_id != NULL, .value = args->group_id },
        .group_name = args->group_name,
    };
    struct opt_int ignored;
    return (args->subject_line == NULL || email_check_subject(&ctx->work, args->subject_line, err)) &&
           email_folder_check(&ctx->work, &folder, &ignored, err) && email_check_figma(args->figma_url, "figmaUrl", err);
}
