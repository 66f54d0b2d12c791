#include "engine/quality/previews.h"
#include "api/op_context.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

static bool enqueue_drawing(const struct work *work, int64_t preview_id, int64_t answer_job_id, struct error *err)
{
    struct draw_previews_payload payload = { .preview_id = preview_id, .answer_job_id = answer_job_id };
    int64_t job_id;
    return ledger_enqueue(work, draw_previews_job(work->arena, &payload), work->now_us, NULL, &job_id, err);
}

bool op_emails_preview(struct op_context *ctx, const struct emails_preview_args *args, struct reply *reply, struct error *err)
{
    struct preview_request request = {
        .email_id = args->email_id,
        .preview_id = args->preview_id,
        .clients = args->clients,
    };
    struct preview_round round;
    if (!preview_begin(&ctx->work, &request, &round, err))
        return false;
    struct answer_previews_payload answer = {
        .preview_id = round.preview_id,
        .round = round.round,
        .charges = round.has_new_clients,
    };
    return op_context_enqueue(ctx, reply, answer_previews_job(ctx->work.arena, &answer), ctx->work.now_us, err) &&
           (!round.has_new_clients || enqueue_drawing(&ctx->work, round.preview_id, reply->job_id, err));
}

bool op_emails_get_previews(struct op_context *ctx, const struct emails_get_previews_args *args, struct reply *reply,
                            struct error *err)
{
    return preview_write(&ctx->work, args->preview_id, args->client, &reply->json, err);
}

static void write_png(const struct work *work, const struct preview_picture *picture, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "png", base64_encode(work->arena, picture->png.data, picture->png.size));
    json_object_end(json);
}

bool op_emails_get_preview_picture(struct op_context *ctx, const struct emails_get_preview_picture_args *args, struct reply *reply,
                                   struct error *err)
{
    struct preview_picture picture;
    if (!preview_picture_read(&ctx->work, args->preview_id, args->client, &picture, err))
        return false;
    write_png(&ctx->work, &picture, &reply->json);
    return true;
}

/* ---- Pictures by a signed link ---- */

/* The token is the credential: a caller who could read the previews received it. It names the brand. */
bool op_emails_download_preview(struct op_context *ctx, const struct emails_download_preview_args *args, struct reply *reply,
                                struct error *err)
{
    struct work work = ctx->work;
    struct preview_picture picture;
    const char *client;
    int64_t id;
    if (!preview_link_open(&work, args->token, &work.brand_id, &id, &client))
        return fail(err, ERR_NOT_FOUND, "token", "There is no picture with this link.");
    if (!preview_picture_read(&work, id, client, &picture, err))
        return err->code != ERR_PREVIEW_NOT_FOUND
                   ? false
                   : (error_clear(err), fail(err, ERR_NOT_FOUND, "token", "The picture was deleted."));
    write_png(&work, &picture, &reply->json);
    return true;
}

const struct operation *const api_signed_preview[] = { &operations[OP_EMAILS_DOWNLOAD_PREVIEW], NULL };
