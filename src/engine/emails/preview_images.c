#include "engine/emails/preview_images.h"

#include "base/clock.h"
#include "sql/preview_images.h"

enum { JOBS_MAX = 2 };                                         /* of all brands, because the browser also serves callers who wait */
static const int64_t settling_us = INT64_C(20) * US_PER_S;     /* a version that is followed by another one is not drawn */
static const int64_t put_off_us = INT64_C(60) * 60 * US_PER_S; /* until a missing browser is tried again */

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
        .brand_id = work->brand_id, .email_id = email->id, .version_id = email->version_id, .image = image
    };
    return sql_preview_image_set(work->conn, work->arena, &params, NULL, err);
}

bool preview_image_put_off(const struct work *work, const struct undrawn_email *email, struct error *err)
{
    struct preview_image_put_off_params params = { .brand_id = work->brand_id, .email_id = email->id, .now = work->now_us };
    return sql_preview_image_put_off(work->conn, work->arena, &params, NULL, err);
}
