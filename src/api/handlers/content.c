#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

#include <string.h>
#include <strings.h>

/* Results are addresses of hosted pictures, which need a public address of the server. */
static bool check_hosting(const struct op_context *ctx, struct error *err)
{
    if (ctx->work.engine->public_url != NULL)
        return true;
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "This server cannot host pictures, because it was started without --public-url.");
    return error_suggest(err, "Ask the operator to start the server with --public-url and its address; waiting does not help. "
                              "Nothing was charged.");
}

static bool is_web_address(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

static bool check_image_url(const char *url, const char *param, struct error *err)
{
    return is_web_address(url) || fail(err, ERR_INVALID_REQUEST, param, "%s must be an http or https address.", param);
}

/* ---- content.htmlToPng ---- */

enum { PAGE_WIDTH = 600, PAGE_MAX_HEIGHT = 16384 };

bool op_content_html_to_png(struct op_context *ctx, const struct content_html_to_png_args *args, struct reply *reply,
                            struct error *err)
{
    struct draw_page_payload payload = {
        .html = args->html,
        .width = args->width.set ? args->width.value : PAGE_WIDTH,
        .max_height = args->max_height.set ? args->max_height.value : PAGE_MAX_HEIGHT,
        .public_url = ctx->work.engine->public_url,
    };
    return check_hosting(ctx, err) &&
           op_context_enqueue(ctx, reply, draw_page_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

/* ---- content.gif ---- */

enum { GIF_WIDTH = 600 };

/* One address goes with its source, and the other one would be ignored. */
static bool check_gif_url(bool is_wanted, const char *url, const char *param, const char *source, struct error *err)
{
    if (is_wanted)
        return url != NULL ? check_image_url(url, param, err)
                           : fail(err, ERR_INVALID_REQUEST, param, "Give the address of the %s in %s.", source, param);
    return url == NULL || fail(err, ERR_INVALID_REQUEST, param, "%s goes with from %s only.", param, source);
}

static bool check_gif_source(const struct content_gif_args *args, struct error *err)
{
    bool needs_prompt = args->from == CONTENT_GIF_FROM_PROMPT;
    return check_gif_url(args->from == CONTENT_GIF_FROM_VIDEO, args->video_url, "videoUrl", "video", err) &&
           check_gif_url(args->from == CONTENT_GIF_FROM_IMAGE, args->image_url, "imageUrl", "image", err) &&
           (!needs_prompt || args->prompt != NULL ||
            fail(err, ERR_INVALID_REQUEST, "prompt", "Say in prompt what the animation shows."));
}

bool op_content_gif(struct op_context *ctx, const struct content_gif_args *args, struct reply *reply, struct error *err)
{
    struct make_gif_payload payload = {
        .prompt = args->prompt,
        .image_url = args->image_url,
        .video_url = args->video_url,
        .width = args->width.set ? args->width.value : GIF_WIDTH,
        .public_url = ctx->work.engine->public_url,
    };
    return check_gif_source(args, err) && check_hosting(ctx, err) &&
           op_context_enqueue(ctx, reply, make_gif_job(ctx->work.arena, &payload), ctx->work.now_us, err);
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

/* ---- content.addImage, content.addImages ---- */

static bool enqueue_add(struct op_context *ctx, const char *url, struct reply *reply, struct error *err)
{
    struct add_image_payload payload = { .image_url = url, .public_url = ctx->work.engine->public_url };
    return op_context_enqueue(ctx, reply, add_image_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

bool op_content_add_image(struct op_context *ctx, const struct content_add_image_args *args, struct reply *reply, struct error *err)
{
    return check_image_url(args->image_url, "imageUrl", err) && check_hosting(ctx, err) &&
           enqueue_add(ctx, args->image_url, reply, err);
}

/* Whether the address at `index` cannot be fetched, or stands in the list before. */
static bool is_skipped(const struct text_list *urls, size_t index)
{
    if (!is_web_address(urls->items[index]))
        return true;
    for (size_t i = 0; i < index; i++)
        if (strcmp(urls->items[i], urls->items[index]) == 0)
            return true;
    return false;
}

/* Each image is a job of its own, so that one that fails does not stop the others. */
bool op_content_add_images(struct op_context *ctx, const struct content_add_images_args *args, struct reply *reply,
                           struct error *err)
{
    int64_t accepted = 0;
    if (args->image_url != NULL)
        return fail(err, ERR_INVALID_REQUEST, "imageUrl", "Give imageUrl or imageUrls, not both.");
    if (!check_hosting(ctx, err))
        return false;
    for (size_t i = 0; i < args->image_urls.count; i++) {
        if (is_skipped(&args->image_urls, i))
            continue;
        if (!enqueue_add(ctx, args->image_urls.items[i], reply, err))
            return false;
        accepted++;
    }
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "accepted", accepted);
    json_member_int(&reply->json, "skipped", (int64_t)args->image_urls.count - accepted);
    json_object_end(&reply->json);
    return true;
}
