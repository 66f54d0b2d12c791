/* Handlers that change the content of designs, or compare versions of them. */
#include "api/op_context.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/emails/compare.h"
#include "engine/emails/design_edits.h"

static const json_t *replacements_json(struct arena *arena, const struct text_replacement_list *replacements)
{
    json_t *array = json_in_arena(arena, json_array());
    for (size_t i = 0; i < replacements->count; i++) {
        const struct text_replacement *replacement = &replacements->items[i];
        json_t *object = json_object();
        json_object_set_new(object, "find", json_string(replacement->find));
        json_object_set_new(object, "with", json_string(replacement->with));
        json_object_set_new(object, "all", json_boolean(replacement->all));
        json_array_append_new(array, object);
    }
    return array;
}

bool op_emails_replace_text(struct op_context *ctx, const struct emails_replace_text_args *args, struct reply *reply,
                            struct error *err)
{
    struct replace_text_payload payload = {
        .email_id = args->email_id,
        .replacements = replacements_json(ctx->work.arena, &args->replacements),
    };
    return email_check_edit(&ctx->work, args->email_id, err) &&
           op_context_enqueue(ctx, reply, replace_text_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

bool op_emails_change(struct op_context *ctx, const struct emails_change_args *args, struct reply *reply, struct error *err)
{
    struct change_design_payload payload = {
        .email_id = args->email_id,
        .operations = args->operations,
        .public_url = ctx->work.engine->public_url,
    };
    return email_check_edit(&ctx->work, args->email_id, err) &&
           op_context_enqueue(ctx, reply, change_design_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

bool op_emails_compare(struct op_context *ctx, const struct emails_compare_args *args, struct reply *reply, struct error *err)
{
    const struct email_comparison comparison = {
        .email_id = args->email_id,
        .version_id = args->email_version_id,
        .compare_with = args->compare_with,
    };
    return email_compare(&ctx->work, &comparison, &reply->json, err);
}

bool op_emails_edit(struct op_context *ctx, const struct emails_edit_args *args, struct reply *reply, struct error *err)
{
    if (text_trim(ctx->work.arena, args->prompt)[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "prompt", "prompt must not be blank.");
    struct judge_edit_payload payload = {
        .email_id = args->email_id,
        .prompt = args->prompt,
        .title = args->title,
        .subject_line = args->subject_line.value,
        .sets_subject = args->subject_line.set,
        .group_id = args->group_id.value,
        .sets_group = args->group_id.set,
        .group_name = args->group_name,
        .public_url = ctx->work.engine->public_url,
    };
    const struct email_change change = {
        .title = args->title,
        .subject_line = args->subject_line,
        .folder = { .group_id = args->group_id, .group_name = args->group_name },
    };
    return email_check_change(&ctx->work, &change, err) && email_check_edit(&ctx->work, args->email_id, err) &&
           op_context_enqueue(ctx, reply, judge_edit_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
