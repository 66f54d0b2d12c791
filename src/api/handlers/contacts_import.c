#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/imports/imports.h"

/* The job of the import also validates a few addresses, and charges them. */
static bool ask_for_import(struct op_context *ctx, struct import_request request, struct reply *reply, struct error *err)
{
    request.over_http = ctx->call->caller.is_remote;
    request.may_join = ctx->call->idempotency_key == NULL;
    struct import_asked asked;
    if (!import_create(&ctx->work, &request, &asked, err))
        return false;
    reply->job_id = asked.job_id;
    if (asked.job_id != 0)
        return true;
    struct import_contacts_payload payload = { .import_id = asked.id };
    return op_context_enqueue(ctx, reply, import_contacts_job(ctx->work.arena, &payload), ctx->work.now_us, err) &&
           import_set_job(&ctx->work, asked.id, reply->job_id, err);
}

bool op_contacts_preview_import(struct op_context *ctx, const struct contacts_preview_import_args *args, struct reply *reply,
                                struct error *err)
{
    struct import_request request = {
        .csv = args->csv,
        .path = args->path,
        .mapping = args->mapping,
        .over_http = ctx->call->caller.is_remote,
    };
    return import_preview(&ctx->work, &request, &reply->json, err);
}

bool op_contacts_import_csv(struct op_context *ctx, const struct contacts_import_csv_args *args, struct reply *reply,
                            struct error *err)
{
    return ask_for_import(ctx, (struct import_request){ .csv = args->csv, .path = args->path, .mapping = args->mapping }, reply,
                          err);
}

bool op_contacts_import_csv_validated(struct op_context *ctx, const struct contacts_import_csv_validated_args *args,
                                      struct reply *reply, struct error *err)
{
    struct import_request request = { .csv = args->csv, .path = args->path, .mapping = args->mapping, .validate = true };
    return ask_for_import(ctx, request, reply, err);
}

bool op_contacts_get_import(struct op_context *ctx, const struct contacts_get_import_args *args, struct reply *reply,
                            struct error *err)
{
    return import_write(&ctx->work, args->import_id, NULL, &reply->json, err);
}

/* ---- Rejected rows ---- */

static bool reply_error_file(const struct work *work, int64_t id, struct reply *reply, struct error *err)
{
    const char *csv;
    if (!import_error_file(work, id, &csv, err))
        return false;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "csv", csv);
    json_object_end(&reply->json);
    return true;
}

bool op_contacts_get_import_errors(struct op_context *ctx, const struct contacts_get_import_errors_args *args, struct reply *reply,
                                   struct error *err)
{
    return reply_error_file(&ctx->work, args->import_id, reply, err);
}

/* The token is the credential: a caller who could read the file received it. It names the brand. */
bool op_contacts_download_import_errors(struct op_context *ctx, const struct contacts_download_import_errors_args *args,
                                        struct reply *reply, struct error *err)
{
    struct work work = ctx->work;
    int64_t id;
    if (!import_link_open(&work, args->token, &work.brand_id, &id))
        return fail(err, ERR_NOT_FOUND, "token", "The file does not exist, or its link is older than a day.");
    return reply_error_file(&work, id, reply, err);
}

const struct operation *const api_signed_download[] = { &operations[OP_CONTACTS_DOWNLOAD_IMPORT_ERRORS], NULL };
