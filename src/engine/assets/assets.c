#include "engine/assets/assets.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "sql/assets.h"

#include <string.h>

bool asset_quota_left(const struct work *work, struct asset_quota *ret_left, struct error *err)
{
    struct asset_usage_params params = { .brand_id = work->brand_id };
    struct asset_usage_row *usage;
    if (!sql_asset_usage(work->conn, work->arena, &params, &usage, err))
        return false;
    *ret_left = (struct asset_quota){ .count = ASSETS_MAX_COUNT - usage->count, .bytes = ASSETS_MAX_BYTES - usage->bytes };
    return true;
}

bool assets_keep(const struct work *work, const struct asset *assets, size_t count, struct error *err)
{
    if (count == 0)
        return true;
    struct arena *arena = work->arena;
    const char **hashes = arena_array(arena, count, sizeof(*hashes));
    const char **types = arena_array(arena, count, sizeof(*types));
    const char **kinds = arena_array(arena, count, sizeof(*kinds));
    const char **source_urls = arena_array(arena, count, sizeof(*source_urls));
    int64_t *bytes = arena_array(arena, count, sizeof(*bytes));
    int64_t *widths = arena_array(arena, count, sizeof(*widths));
    int64_t *heights = arena_array(arena, count, sizeof(*heights));
    int64_t *frames = arena_array(arena, count, sizeof(*frames));
    for (size_t i = 0; i < count; i++) {
        char *hash = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
        hex_encode(assets[i].hash, SECRET_HASH_BYTES, hash);
        hashes[i] = hash;
        types[i] = asset_type_name(assets[i].type);
        kinds[i] = assets[i].kind != NULL ? assets[i].kind : "brand";
        bytes[i] = assets[i].bytes;
        widths[i] = assets[i].width;
        heights[i] = assets[i].height;
        frames[i] = assets[i].frames;
        source_urls[i] = assets[i].source_url;
    }
    struct assets_keep_params params = {
        .brand_id = work->brand_id,
        .hashes = { hashes, count },
        .types = { types, count },
        .kinds = { kinds, count },
        .bytes = { bytes, count },
        .widths = { widths, count },
        .heights = { heights, count },
        .frames = { frames, count },
        .source_urls = { source_urls, count },
        .now = work->now_us,
    };
    return sql_assets_keep(work->conn, work->arena, &params, NULL, err);
}

char *asset_url(struct arena *arena, const char *public_url, const struct asset_name *name)
{
    return arena_printf(arena, "%s/assets/%s", public_url, name->text);
}

bool asset_slides(const struct work *work, const char *public_url, int64_t limit, struct text_list *ret_urls, struct error *err)
{
    struct asset_slides_params params = { .brand_id = work->brand_id, .limit = limit };
    struct asset_slides_row *rows;
    size_t count;
    if (!sql_asset_slides(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    const char **urls = arena_array(work->arena, count + 1, sizeof(*urls));
    for (size_t i = 0; i < count; i++) {
        struct asset_name name = asset_name_of(rows[i].hash.data, asset_type_named(rows[i].type));
        urls[i] = asset_url(work->arena, public_url, &name);
    }
    *ret_urls = (struct text_list){ urls, count };
    return true;
}

/* ---- Listing ---- */

/* Images rarely match a ratio exactly: 1366 by 768 counts as 16:9. */
static const double ratio_tolerance = 0.02;

/* The shape filter: a named shape, a range of ratios, or none. */
struct shape {
    const char *name; /* NULL: a ratio, or nothing */
    struct opt_number min_ratio;
    struct opt_number max_ratio;
};

static bool read_ratio(struct arena *arena, const char *text, double *ret_ratio)
{
    const char *colon = strchr(text, ':');
    int64_t width;
    int64_t height;
    if (colon == NULL || !int64_parse(arena_dup_bytes(arena, text, (size_t)(colon - text)), &width) ||
        !int64_parse(colon + 1, &height) || width <= 0 || height <= 0)
        return false;
    *ret_ratio = (double)width / (double)height;
    return true;
}

static bool read_shape(const struct work *work, const char *text, struct shape *ret_shape, struct error *err)
{
    static const char *const names[] = { "landscape", "portrait", "square" };
    *ret_shape = (struct shape){ .name = NULL };
    if (text == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (strcmp(text, names[i]) == 0)
            ret_shape->name = names[i];
    double ratio;
    if (ret_shape->name != NULL)
        return true;
    if (!read_ratio(work->arena, text, &ratio))
        return fail(err, ERR_INVALID_REQUEST, "aspectRatio",
                    "aspectRatio must be landscape, portrait, square or a ratio such as 16:9.");
    ret_shape->min_ratio = (struct opt_number){ true, ratio * (1 - ratio_tolerance) };
    ret_shape->max_ratio = (struct opt_number){ true, ratio * (1 + ratio_tolerance) };
    return true;
}

static bool find_asset_page(const struct work *work, const struct asset_filter *filter, const struct shape *shape,
                            const struct page_cursor *cursor_start, int64_t limit, struct asset_row **ret_rows,
                            struct db_page *ret_page, struct error *err)
{
    if (filter->oldest_first) {
        struct asset_page_oldest_params params = {
            .brand_id = work->brand_id,
            .type = filter->type,
            .kind = filter->kind,
            .shape = shape->name,
            .min_ratio = shape->min_ratio,
            .max_ratio = shape->max_ratio,
            .after_id = cursor_start->id,
            .limit = limit,
        };
        return sql_asset_page_oldest(work->conn, work->arena, &params, ret_rows, ret_page, err);
    }
    struct asset_page_newest_params params = {
        .brand_id = work->brand_id,
        .type = filter->type,
        .kind = filter->kind,
        .shape = shape->name,
        .min_ratio = shape->min_ratio,
        .max_ratio = shape->max_ratio,
        .before_id = cursor_start->set ? cursor_start->id : INT64_MAX,
        .limit = limit,
    };
    return sql_asset_page_newest(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

const char *asset_aspect_ratio(struct arena *arena, int64_t width, int64_t height)
{
    int64_t divisor = width;
    for (int64_t rest = height; rest != 0;) {
        int64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    if (divisor == 0)
        divisor = 1;
    return arena_printf(arena, "%lld:%lld", (long long)(width / divisor), (long long)(height / divisor));
}

static void write_asset(const struct work *work, const struct asset_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "assetId", ID_ASSET, row->id);
    if (work->engine->public_url != NULL && row->hash.size == SECRET_HASH_BYTES) {
        struct asset_name name = asset_name_of(row->hash.data, asset_type_named(row->type));
        json_member_text(json, "url", asset_url(work->arena, work->engine->public_url, &name));
    }
    json_member_text(json, "kind", row->kind);
    json_member_text(json, "type", row->type);
    json_member_int(json, "width", row->width);
    json_member_int(json, "height", row->height);
    json_member_text(json, "aspectRatio", asset_aspect_ratio(work->arena, row->width, row->height));
    json_member_time(json, "addedAt", row->created_at);
    json_object_end(json);
}

static const char *or_all(const char *wanted)
{
    return wanted != NULL ? wanted : "";
}

bool asset_list(const struct work *work, const struct asset_filter *filter, int64_t limit, const char *cursor,
                struct json_writer *json, struct error *err)
{
    const char *binding = arena_printf(work->arena, "brand.images|%s|%s|%s|%s", filter->oldest_first ? "oldest" : "newest",
                                       or_all(filter->kind), or_all(filter->type), or_all(filter->aspect_ratio));
    struct shape shape;
    struct page_cursor cursor_start;
    struct asset_row *rows;
    struct db_page found;
    if (!read_shape(work, filter->aspect_ratio, &shape, err) || !page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !find_asset_page(work, filter, &shape, &cursor_start, limit + 1, &rows, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_asset(work, &rows[page.shown - 1], json);
    struct page_cursor last = { .id = page.shown > 0 ? rows[page.shown - 1].id : 0 };
    page_end(&page, work, binding, last);
    json_object_end(json);
    return true;
}
