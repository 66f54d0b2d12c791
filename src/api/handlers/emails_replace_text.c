#include "api/op_context.h"
#include "base/json_read.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/emails/replace_text.h"

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
    return email_check_replace_text(&ctx->work, args->email_id, err) &&
           op_context_enqueue(ctx, reply, replace_text_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
