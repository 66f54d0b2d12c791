#include "api/op_context.h"
#include "base/text.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

#include <strings.h>

/* Results are addresses of hosted pictures, which need a public address of the server. */
static bool check_hosting(const struct op_context *ctx, struct error *err)
{
    return ctx->work.engine->public_url != NULL ||
           fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                "This server cannot host pictures, because it was started without --public-url.");
}

static bool check_image_url(const char *url, const char *param, struct error *err)
{
    bool is_web = strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    return is_web || fail(err, ERR_INVALID_REQUEST, param, "%s must be an http or https address.", param);
}

/* ---- content.resize, content.optimize ---- */

static bool enqueue_transform(struct op_context *ctx, const struct transform_image_payload *payload, struct reply *reply,
                              struct error *err)
{
    return check_image_url(payload->image_url, "imageUrl", err) && check_hosting(ctx, err) &&
           op_context_enqueue(ctx, reply, transform_image_job(ctx->work.arena, payload), ctx->work.now_us, err);
}

bool op_content_resize(struct op_context *ctx, const struct content_resize_args *args, struct reply *reply, struct error *err)
{
    struct transform_image_payload payload = {
        .image_url = args->image_url,
        .public_url = ctx->work.engine->public_url,
        .width = args->width.value,
        .height = args->height.value,
    };
    if (payload.width == 0 && payload.height == 0)
        return fail(err, ERR_INVALID_REQUEST, "width", "Give the new width, the new height, or both.");
    return enqueue_transform(ctx, &payload, reply, err);
}

bool op_content_optimize(struct op_context *ctx, const struct content_optimize_args *args, struct reply *reply, struct error *err)
{
    struct transform_image_payload payload = {
        .image_url = args->image_url,
        .public_url = ctx->work.engine->public_url,
    };
    return enqueue_transform(ctx, &payload, reply, err);
}
