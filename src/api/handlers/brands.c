#include "engine/brands/brands.h"

#include "api/auth.h"
#include "api/handlers/page_rows.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/assets/asset_search.h"
#include "engine/brands/extraction.h"
#include "engine/core/page.h"

/* Options about reading a website mean nothing without one. */
static bool check_website_options(const struct brands_create_args *args, struct error *err)
{
    const char *param = args->instructions != NULL      ? "instructions"
                        : args->include_paths.count > 0 ? "includePaths"
                        : args->exclude_paths.count > 0 ? "excludePaths"
                        : args->exclude_subdomains      ? "excludeSubdomains"
                                                        : NULL;
    return param == NULL || args->url != NULL ||
           fail(err, ERR_INVALID_REQUEST, param, "%s needs the address of a website in url.", param);
}

/* The fields whose defaults are not to be taken for what the caller has given. */
static struct text_list given_fields(struct arena *arena, const struct brands_create_args *args)
{
    const char **names = arena_array(arena, 3, sizeof(*names));
    struct text_list given = { .items = names };
    if (args->name != NULL)
        names[given.count++] = "name";
    if (args->time_zone != NULL)
        names[given.count++] = "timeZone";
    if (args->locale != NULL)
        names[given.count++] = "locale";
    return given;
}

/* Opens the extraction of a new brand and enqueues its job, which belongs to this brand. */
static bool extract_brand(struct op_context *ctx, const struct brands_create_args *args, const char *url, int64_t brand_id,
                          struct reply *reply, struct error *err)
{
    struct extraction_request request = {
        .url = url,
        .instructions = args->instructions,
        .include_paths = args->include_paths,
        .exclude_paths = args->exclude_paths,
        .exclude_subdomains = args->exclude_subdomains,
        .given = given_fields(ctx->work.arena, args),
    };
    struct extract_brand_payload payload = { 0 };
    int64_t of_organization = ctx->work.brand_id;
    ctx->work.brand_id = brand_id;
    bool done = extraction_open(&ctx->work, &request, err) &&
                op_context_enqueue(ctx, reply, extract_brand_job(ctx->work.arena, &payload), ctx->work.now_us, err);
    ctx->work.brand_id = of_organization;
    return done;
}

/* An assistant cannot set the header, so its tools take the id as an argument. */
static const char how_to_enter[] =
    "To work in this brand, pass its brandId to each tool, or send it in the header X-Brand-Id. To bind a "
    "whole connection to it, connect with this header, or run posthorn mcp --brand with the brandId.";

bool op_brands_create(struct op_context *ctx, const struct brands_create_args *args, struct reply *reply, struct error *err)
{
    const char *url = NULL;
    if (!check_website_options(args, err) || (args->url != NULL && !extraction_read_url(ctx->work.arena, args->url, &url, err)))
        return false;
    struct brand_fields fields = {
        .name = args->name,
        .domain = args->domain,
        .url = url,
        .description = args->description,
        .tagline = args->tagline,
        .contact_email = args->contact_email,
        .contact_phone = args->contact_phone,
        .address = args->address,
        .time_zone = args->time_zone,
        .locale = args->locale,
    };
    struct brand_row *brand;
    if (!brand_create(&ctx->work, &fields, &brand, err) || (url != NULL && !extract_brand(ctx, args, url, brand->id, reply, err)))
        return false;
    if (url != NULL && !brand_get(&ctx->work, brand->id, &brand, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_BRAND, brand->id));
    return brand_write_created(&ctx->work, brand, how_to_enter, &reply->json, err);
}

bool rows_find_brands(struct op_context *ctx, const char *binding, int64_t limit, const char *cursor, struct brand_row **ret_brands,
                      struct db_page *ret_found, struct error *err)
{
    struct page_cursor cursor_at;
    if (!page_cursor_read(&ctx->work, binding, cursor, &cursor_at, err))
        return false;
    struct brand_page_params params = {
        .organization_id = ctx->work.organization_id,
        .only_id = ctx->call->who.bound_brand_id,
        .member_session_id = auth_member_session(&ctx->call->who),
        .after_id = cursor_at.id,
        .limit = limit + 1,
    };
    return sql_brand_page(ctx->work.conn, ctx->work.arena, &params, ret_brands, ret_found, err);
}

bool op_brands_list(struct op_context *ctx, const struct brands_list_args *args, struct reply *reply, struct error *err)
{
    static const char binding[] = "brands.list";
    struct brand_row *brands;
    struct db_page found;
    if (!rows_find_brands(ctx, binding, args->limit, args->cursor, &brands, &found, err))
        return false;

    struct page page = page_begin(&reply->json, args->limit, found);
    while (page_next_row(&page))
        if (!brand_write(&ctx->work, &brands[page.shown - 1], &reply->json, err))
            return false;
    struct page_cursor end = { .id = page.shown > 0 ? brands[page.shown - 1].id : 0 };
    page_end(&page, &ctx->work, binding, end);
    json_object_end(&reply->json);
    return true;
}

bool op_brands_get(struct op_context *ctx, const struct brands_get_args *args, struct reply *reply, struct error *err)
{
    int64_t bound = ctx->call->who.bound_brand_id;
    /* A brand that a credential cannot reach is reported as missing. */
    struct brand_page_params params = {
        .organization_id = ctx->work.organization_id,
        .only_id = bound != 0 && bound != args->brand_id ? -1 : args->brand_id,
        .member_session_id = auth_member_session(&ctx->call->who),
        .limit = 1,
    };
    struct brand_row *brands;
    struct db_page found;
    if (!sql_brand_page(ctx->work.conn, ctx->work.arena, &params, &brands, &found, err))
        return false;
    if (found.count == 0)
        return fail(err, ERR_BRAND_NOT_FOUND, "brandId", "No brand with this id in the organization.");
    return brand_write(&ctx->work, &brands[0], &reply->json, err);
}

bool op_brand_read(struct op_context *ctx, const struct brand_read_args *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct brand_row *brand;
    return brand_get(&ctx->work, ctx->work.brand_id, &brand, err) && brand_write(&ctx->work, brand, &reply->json, err);
}

bool op_brand_update(struct op_context *ctx, const struct brand_update_args *args, struct reply *reply, struct error *err)
{
    struct brand_change change = { .email_design = args->email_design, .image_style = args->image_style };
    const struct brand_update_identity *identity = args->identity;
    if (identity != NULL) {
        change.name = identity->brand_name;
        change.description = identity->description;
        change.tagline = identity->tagline;
        change.contact_email = identity->contact_email;
        change.contact_phone = identity->contact_phone;
        change.address = identity->address;
    }
    struct brand_row *brand;
    if (!brand_update(&ctx->work, &change, &brand, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_BRAND, brand->id));
    return brand_write(&ctx->work, brand, &reply->json, err);
}

/* ---- Images ---- */

static struct asset_filter filter_of(enum image_type type, enum image_kind kind, const char *aspect_ratio, enum image_sort sort)
{
    return (struct asset_filter){
        .type = type != IMAGE_TYPE_ABSENT ? image_type_names[type - 1] : NULL,
        .kind = kind != IMAGE_KIND_ABSENT ? image_kind_names[kind - 1] : NULL,
        .aspect_ratio = aspect_ratio,
        .oldest_first = sort == IMAGE_SORT_OLDEST,
    };
}

bool op_brand_images(struct op_context *ctx, const struct brand_images_args *args, struct reply *reply, struct error *err)
{
    struct asset_filter filter = filter_of(args->type, args->kind, args->aspect_ratio, args->sort);
    return asset_list(&ctx->work, &filter, args->limit, args->cursor, &reply->json, err);
}

/* The job asks the embedding model for the vector of the query, and then searches. */
static bool search_by_meaning(struct op_context *ctx, const struct asset_search *search, struct reply *reply, struct error *err)
{
    struct search_images_payload payload = {
        .query = search->query,
        .type = search->filter.type,
        .kind = search->filter.kind,
        .aspect_ratio = search->filter.aspect_ratio,
        .is_oldest_first = search->filter.oldest_first,
        .limit = search->limit,
        .cursor = search->cursor,
    };
    return op_context_enqueue(ctx, reply, search_images_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

bool op_brand_search_images(struct op_context *ctx, const struct brand_search_images_args *args, struct reply *reply,
                            struct error *err)
{
    struct asset_search search = {
        .query = args->q,
        .filter = filter_of(args->type, args->kind, args->aspect_ratio, args->sort),
        .limit = args->limit,
        .cursor = args->cursor,
    };
    if (!asset_search_begin(&ctx->work, &search, err))
        return false;
    if (!ctx->work.engine->has_embeddings || search.is_by_words)
        return asset_search_write(&ctx->work, &search, NULL, &reply->json, err);
    return search_by_meaning(ctx, &search, reply, err);
}
