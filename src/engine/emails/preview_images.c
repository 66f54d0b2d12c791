#include "engine/emails/preview_images.h"

#include "base/clock.h"
#include "base/text.h"
#include "sql/assets.h"
#include "sql/preview_images.h"

enum { JOBS_MAX = 2 };                                         /* of all brands, because the browser also serves callers who wait */
static const int64_t settling_us = INT64_C(20) * US_PER_S;     /* a version that is followed by another one is not drawn */
static const int64_t put_off_us = INT64_C(60) * 60 * US_PER_S; /* until a missing browser is tried again */
static const int64_t spare_us = INT64_C(86400) * SPARE_PICTURE_DAYS * US_PER_S;

bool preview_images_enqueue(const struct engine *engine, struct db_conn *conn, struct arena *arena, int64_t now_us, int64_t own,
                            struct error *err)
{
    struct preview_images_enqueue_params params = {
        .until = now_us - settling_us,
        .tried_after = now_us - put_off_us,
        .most = JOBS_MAX + own,
        .now = now_us,
    };
    return engine->public_url == NULL || sql_preview_images_enqueue(conn, arena, &params, NULL, err);
}

bool preview_image_next(const struct work *work, struct undrawn_email *ret_email, struct error *err)
{
    struct preview_image_next_params params = { .brand_id = work->brand_id, .until = work->now_us - settling_us };
    struct preview_image_next_row *row;
    if (!sql_preview_image_next(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_email = (struct undrawn_email){ .id = 0 };
    if (row != NULL)
        *ret_email = (struct undrawn_email){ .id = row->email_id, .version_id = row->version_id };
    return true;
}

bool preview_image_set(const struct work *work, const struct undrawn_email *email, const char *image, struct error *err)
{
    struct preview_image_set_params params = {
        .brand_id = work->brand_id, .email_id = email->id, .version_id = email->version_id, .image = image, .now = work->now_us
    };
    return sql_preview_image_set(work->conn, work->arena, &params, NULL, err);
}

bool preview_image_put_off(const struct work *work, const struct undrawn_email *email, struct error *err)
{
    struct preview_image_put_off_params params = { .brand_id = work->brand_id, .email_id = email->id, .now = work->now_us };
    return sql_preview_image_put_off(work->conn, work->arena, &params, NULL, err);
}

/* ---- Spare pictures ---- */

bool spare_picture_note(const struct work *work, const char *image, struct error *err)
{
    struct spare_picture_note_params params = { .brand_id = work->brand_id, .image = image, .now = work->now_us };
    return sql_spare_picture_note(work->conn, work->arena, &params, NULL, err);
}

/* Notes which of the pictures a library has. */
static bool ask_libraries(struct db_conn *conn, struct arena *arena, struct spare_picture *pictures, size_t count,
                          struct error *err)
{
    const char **hashes = arena_alloc(arena, (count + 1) * sizeof(*hashes));
    struct assets_held_params params = { .hashes = { hashes, count } };
    struct assets_held_row *held;
    size_t held_count;
    for (size_t i = 0; i < count; i++) {
        unsigned char hash[SECRET_HASH_BYTES];
        asset_name_hash(&pictures[i].name, hash);
        char *hex = arena_alloc(arena, 2 * sizeof(hash) + 1);
        hex_encode(hash, sizeof(hash), hex);
        hashes[i] = hex;
    }
    if (!sql_assets_held(conn, arena, &params, &held, &held_count, err))
        return false;
    for (size_t i = 0; i < held_count; i++)
        pictures[i].is_used = pictures[i].is_used || held[i].is_held;
    return true;
}

bool spare_pictures_read(struct db_conn *conn, struct arena *arena, int64_t now_us, int64_t limit,
                         struct spare_picture **ret_pictures, size_t *ret_count, struct error *err)
{
    struct spare_pictures_due_params params = { .before = now_us - spare_us, .limit = limit };
    struct spare_pictures_due_row *rows;
    if (!sql_spare_pictures_due(conn, arena, &params, &rows, ret_count, err))
        return false;
    struct spare_picture *pictures = arena_alloc(arena, (*ret_count + 1) * sizeof(*pictures));
    for (size_t i = 0; i < *ret_count; i++) {
        enum asset_type ignored;
        pictures[i] = (struct spare_picture){ .brand_id = rows[i].brand_id, .image = rows[i].image, .is_used = rows[i].is_shown };
        /* What is no name is no file. */
        pictures[i].is_used = !asset_name_read(rows[i].image, &pictures[i].name, &ignored) || pictures[i].is_used;
    }
    *ret_pictures = pictures;
    return *ret_count == 0 || ask_libraries(conn, arena, pictures, *ret_count, err);
}

bool spare_pictures_forget(struct db_conn *conn, struct arena *arena, int64_t now_us, const struct spare_picture *pictures,
                           size_t count, struct error *err)
{
    int64_t *brand_ids = arena_alloc(arena, (count + 1) * sizeof(*brand_ids));
    const char **images = arena_alloc(arena, (count + 1) * sizeof(*images));
    for (size_t i = 0; i < count; i++) {
        brand_ids[i] = pictures[i].brand_id;
        images[i] = pictures[i].image;
    }
    struct spare_pictures_forget_params params = {
        .brand_ids = { brand_ids, count },
        .images = { images, count },
        .before = now_us - spare_us,
    };
    return count == 0 || sql_spare_pictures_forget(conn, arena, &params, NULL, err);
}
