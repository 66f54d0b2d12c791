#include "engine/assets/assets.h"

#include "base/text.h"
#include "engine/assets/asset_vectors.h"
#include "engine/assets/asset_words.h"
#include "engine/core/page.h"
#include "sql/preview_images.h"

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

/* The columns of the rows that assets_keep writes. */
struct asset_columns {
    const char **hashes, **types, **source_urls, **kinds, **alts, **descriptions, **headings, **page_titles, **page_urls, **colours,
        **words;
    int64_t *bytes, *widths, *heights, *frames;
};

static const char *cut_text(struct arena *arena, const char *text)
{
    const char *cut = text != NULL ? text_trim(arena, text_visible(arena, text, ASSET_TEXT_MAX_CHARS)) : NULL;
    return cut != NULL && *cut != '\0' ? cut : NULL;
}

static struct asset_columns new_columns(struct arena *arena, size_t count)
{
    struct asset_columns columns;
    const char ***texts[] = { &columns.hashes,    &columns.types,        &columns.source_urls, &columns.kinds,
                              &columns.alts,      &columns.descriptions, &columns.headings,    &columns.page_titles,
                              &columns.page_urls, &columns.colours,      &columns.words };
    int64_t **numbers[] = { &columns.bytes, &columns.widths, &columns.heights, &columns.frames };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        *texts[i] = arena_array(arena, count, sizeof(**texts[i]));
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        *numbers[i] = arena_array(arena, count, sizeof(**numbers[i]));
    return columns;
}

static void fill_row(struct arena *arena, const struct asset_columns *columns, size_t row, const struct asset *asset)
{
    struct asset kept = *asset;
    kept.alt = cut_text(arena, asset->alt);
    kept.description = cut_text(arena, asset->description);
    kept.heading = cut_text(arena, asset->heading);
    kept.page_title = cut_text(arena, asset->page_title);
    char *hash = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
    hex_encode(asset->hash, SECRET_HASH_BYTES, hash);
    columns->hashes[row] = hash;
    columns->types[row] = asset_type_name(asset->type);
    columns->bytes[row] = asset->bytes;
    columns->widths[row] = asset->width;
    columns->heights[row] = asset->height;
    columns->frames[row] = asset->frames;
    columns->source_urls[row] = asset->source_url;
    columns->kinds[row] = asset->kind != NULL ? asset->kind : "brand";
    columns->alts[row] = kept.alt;
    columns->descriptions[row] = kept.description;
    columns->headings[row] = kept.heading;
    columns->page_titles[row] = kept.page_title;
    columns->page_urls[row] = asset->page_url;
    columns->colours[row] = asset->colours != NULL ? asset->colours : "";
    columns->words[row] = asset_words(arena, &kept);
}

/* Runs after the rows are saved, because their locks keep two jobs with the same images apart. */
static bool clear_spare(const struct work *work, const struct asset *assets, size_t count, struct error *err)
{
    struct asset_name *names = arena_array(work->arena, count, sizeof(*names));
    const char **images = arena_array(work->arena, count, sizeof(*images));
    for (size_t i = 0; i < count; i++) {
        names[i] = asset_name_of(assets[i].hash, assets[i].type);
        images[i] = names[i].text;
    }
    struct spare_pictures_clear_params params = { .brand_id = work->brand_id, .images = { images, count } };
    return sql_spare_pictures_clear(work->conn, work->arena, &params, NULL, err);
}

bool assets_keep(const struct work *work, const struct asset *assets, size_t count, struct error *err)
{
    if (count == 0)
        return true;
    struct asset_columns columns = new_columns(work->arena, count);
    for (size_t i = 0; i < count; i++)
        fill_row(work->arena, &columns, i, &assets[i]);
    struct assets_keep_params params = {
        .brand_id = work->brand_id,
        .hashes = { columns.hashes, count },
        .types = { columns.types, count },
        .bytes = { columns.bytes, count },
        .widths = { columns.widths, count },
        .heights = { columns.heights, count },
        .frames = { columns.frames, count },
        .source_urls = { columns.source_urls, count },
        .kinds = { columns.kinds, count },
        .alts = { columns.alts, count },
        .descriptions = { columns.descriptions, count },
        .headings = { columns.headings, count },
        .page_titles = { columns.page_titles, count },
        .page_urls = { columns.page_urls, count },
        .colours = { columns.colours, count },
        .words = { columns.words, count },
        .now = work->now_us,
    };
    struct asset_colours_enqueue_params without = { .brand_id = work->brand_id, .now = work->now_us };
    return sql_assets_keep(work->conn, work->arena, &params, NULL, err) && clear_spare(work, assets, count, err) &&
           sql_asset_colours_enqueue(work->conn, work->arena, &without, NULL, err) && asset_vectors_enqueue(work, err);
}

bool assets_without_colours(const struct work *work, int64_t limit, struct assets_without_colours_row **ret_rows, size_t *ret_count,
                            struct error *err)
{
    struct assets_without_colours_params params = { .brand_id = work->brand_id, .limit = limit };
    return sql_assets_without_colours(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

bool asset_colours_save(const struct work *work, int64_t id, const char *colours, struct error *err)
{
    const struct asset coloured = { .colours = colours };
    struct asset_colours_save_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .colours = colours,
        .words = asset_words(work->arena, &coloured),
    };
    return sql_asset_colours_save(work->conn, work->arena, &params, NULL, err);
}

char *asset_url(struct arena *arena, const char *public_url, const struct asset_name *name)
{
    return arena_printf(arena, "%s/assets/%s", public_url, name->text);
}

char *asset_public_url(const struct work *work, const char *text)
{
    struct asset_name name;
    enum asset_type type;
    const char *public_url = work->engine->public_url;
    if (text == NULL || public_url == NULL || !asset_name_read(text, &name, &type))
        return NULL;
    return asset_url(work->arena, public_url, &name);
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

bool asset_shape_read(const struct work *work, const char *text, struct asset_shape *ret_shape, struct error *err)
{
    static const char *const names[] = { "landscape", "portrait", "square" };
    *ret_shape = (struct asset_shape){ .name = NULL };
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

static bool find_asset_page(const struct work *work, const struct asset_filter *filter, const struct asset_shape *shape,
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

static void write_colours(struct text_list colours, struct json_writer *json)
{
    if (colours.count == 0)
        return;
    json_member_texts(json, "colours", colours);
}

void asset_write(const struct work *work, const struct asset_row *row, struct json_writer *json)
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
    json_member_text_if(json, "alt", row->alt);
    json_member_text_if(json, "description", row->description);
    json_member_text_if(json, "pageUrl", row->page_url);
    write_colours(row->colours, json);
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
    struct asset_shape shape;
    struct page_cursor cursor_start;
    struct asset_row *rows;
    struct db_page found;
    if (!asset_shape_read(work, filter->aspect_ratio, &shape, err) ||
        !page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !find_asset_page(work, filter, &shape, &cursor_start, limit + 1, &rows, &found, err))
        return false;
    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        asset_write(work, &rows[page.shown - 1], json);
    struct page_cursor last = { .id = page.shown > 0 ? rows[page.shown - 1].id : 0 };
    page_end(&page, work, binding, last);
    json_object_end(json);
    return true;
}
