/* The handlers that make designs: of a prompt, and of a document of the caller. */
#include "api/op_context.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "designer/document.h"
#include "engine/emails/groups.h"
#include "engine/generation/brief_sources.h"
#include "engine/generation/generations.h"

#include <string.h>
#include <strings.h>

/* The folder is given beside the other members or as an object. */
static bool read_folder(const struct emails_create_args *args, struct email_folder *ret_folder, struct error *err)
{
    if (args->group != NULL && (args->group_id != NULL || args->group_name != NULL))
        return fail(err, ERR_INVALID_REQUEST, "group", "Pass either group, or groupId or groupName.");
    const char *id = args->group != NULL ? args->group->group_id : args->group_id;
    const char *name = args->group != NULL ? args->group->group_name : args->group_name;
    *ret_folder = (struct email_folder){ .group_id = { .set = id != NULL, .value = id }, .group_name = name };
    return true;
}

/* A fault of the folder is reported where the caller has given it. */
static bool fail_generation(const struct emails_create_args *args, struct error *err)
{
    bool is_folder = strcmp(err->param, "groupId") == 0 || strcmp(err->param, "groupName") == 0;
    if (args->group != NULL && is_folder)
        error_param_prefix(err, "group");
    return false;
}

static bool check_urls(const struct emails_create_args *args, struct error *err)
{
    for (size_t i = 0; i < args->content_urls.count; i++) {
        const char *url = args->content_urls.items[i];
        if (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0)
            continue;
        fail(err, ERR_INVALID_REQUEST, NULL, "Give an http or https address.");
        return error_set_param(err, "contentUrls.%zu", i);
    }
    return true;
}

static bool check_brief(struct op_context *ctx, const struct emails_create_args *args, struct error *err)
{
    if (text_trim(ctx->work.arena, args->prompt)[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "prompt", "prompt must not be blank.");
    return check_urls(args, err) && (args->subject_line == NULL || email_check_subject(&ctx->work, args->subject_line, err)) &&
           (args->reference_email_id == 0 || brief_check_reference(&ctx->work, args->reference_email_id, err));
}

static struct new_job generation_job(const struct op_context *ctx, const struct emails_create_args *args, int64_t run_id)
{
    const struct generate_email_payload payload = {
        .run_id = run_id,
        .prompt = args->prompt,
        .category = args->category != EMAIL_CATEGORY_ABSENT ? email_category_names[args->category - 1] : NULL,
        .content_urls = args->content_urls,
        .reference_email_id = { .set = args->reference_email_id != 0, .value = args->reference_email_id },
        .subject_line = args->subject_line,
        .public_url = ctx->work.engine->public_url,
    };
    return generate_email_job(ctx->work.arena, &payload);
}

bool op_emails_create(struct op_context *ctx, const struct emails_create_args *args, struct reply *reply, struct error *err)
{
    struct generation_begin begin = { .title = generation_title(ctx->work.arena, args->prompt) };
    struct email_find_row *email;
    int64_t email_id;
    int64_t run_id;
    if (!read_folder(args, &begin.folder, err) || !check_brief(ctx, args, err) ||
        !generation_begin_design(&ctx->work, &begin, &email_id, &run_id, err) ||
        !op_context_enqueue(ctx, reply, generation_job(ctx, args, run_id), ctx->work.now_us, err) ||
        !generation_set_job(&ctx->work, run_id, reply->job_id, email_id, &email, err))
        return fail_generation(args, err);
    op_context_subject(ctx, work_id(&ctx->work, ID_EMAIL, email_id));
    email_write_generation(&ctx->work, email, run_id, &reply->json);
    return true;
}

/* ---- emails.compose ---- */

/* The canonical document, with the subject beside it in place of its own. */
static bool read_document(struct op_context *ctx, const struct emails_compose_args *args, struct compose_email_payload *payload,
                          struct error *err)
{
    struct arena *arena = ctx->work.arena;
    const json_t *document;
    json_t *given = json_in_arena(arena, json_copy(json_for_iteration(args->document)));
    if (args->subject_line != NULL)
        json_object_set_new(given, "subjectLine", json_string(args->subject_line));
    if (!document_read(arena, given, &payload->block_serial, &document, err)) {
        error_param_prefix(err, "document");
        return false;
    }
    payload->document = json_compact(arena, document);
    return true;
}

bool op_emails_compose(struct op_context *ctx, const struct emails_compose_args *args, struct reply *reply, struct error *err)
{
    const struct email_folder folder = {
        .group_id = { .set = args->group_id != NULL, .value = args->group_id },
        .group_name = args->group_name,
    };
    struct compose_email_payload payload = { .public_url = ctx->work.engine->public_url };
    bool ignored;
    return (args->subject_line == NULL || email_check_subject(&ctx->work, args->subject_line, err)) &&
           read_document(ctx, args, &payload, err) && email_folder_choose(&ctx->work, &folder, &ignored, &payload.group_id, err) &&
           op_context_enqueue(ctx, reply, compose_email_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}
