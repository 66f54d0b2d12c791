#include "engine/assets/assets.h"

#include "base/text.h"
#include "sql/assets.h"

bool asset_room_left(const struct work *work, struct asset_room *ret_room, struct error *err)
{
    struct asset_usage_params params = { .brand_id = work->brand_id };
    struct asset_usage_row *usage;
    if (!sql_asset_usage(work->conn, work->arena, &params, &usage, err))
        return false;
    *ret_room = (struct asset_room){ .count = ASSETS_MAX_COUNT - usage->count, .bytes = ASSETS_MAX_BYTES - usage->bytes };
    return true;
}

bool assets_keep(const struct work *work, const struct asset *assets, size_t count, struct error *err)
{
    if (count == 0)
        return true;
    struct arena *arena = work->arena;
    const char **hashes = arena_array(arena, count, sizeof(*hashes));
    const char **types = arena_array(arena, count, sizeof(*types));
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
