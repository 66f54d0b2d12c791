#include "engine/assets/asset_vectors.h"

#include "base/text.h"

#include <string.h>

enum {
    IMAGES_A_READ = 500,
    QUERIES_KEPT = 500, /* of a brand */
};

/* An image counts while its likeness is at least this part of the nearest one's. Models differ in the likeness of unrelated texts,
 * so that a fixed bound would fit one model only. */
static const double least_part = 0.75;

/* ---- Numbers ---- */

static const char *vector_hex(struct arena *arena, const float *numbers, size_t dimensions)
{
    size_t size = dimensions * sizeof(*numbers);
    char *hex = arena_alloc(arena, 2 * size + 1);
    hex_encode(numbers, size, hex);
    return hex;
}

static double likeness(struct asset_vector query, struct bytes stored)
{
    double sum = 0;
    for (size_t i = 0; i < query.dimensions; i++) {
        float number;
        memcpy(&number, stored.data + i * sizeof(number), sizeof(number));
        sum += (double)query.numbers[i] * (double)number;
    }
    return sum;
}

/* ---- The nearest images ---- */

struct nearest_list {
    struct asset_nearest *nearest;
    double likenesses[ASSETS_NEAREST_MAX];
};

/* Inserts an image, the nearest first; of equal ones the newer first, as they are read. */
static void insert_image(struct nearest_list *list, int64_t id, double likeness_of_image)
{
    struct asset_nearest *nearest = list->nearest;
    size_t place = nearest->count;
    while (place > 0 && list->likenesses[place - 1] < likeness_of_image)
        place--;
    if (place == ASSETS_NEAREST_MAX)
        return;
    size_t moved = (nearest->count < ASSETS_NEAREST_MAX ? nearest->count : (size_t)ASSETS_NEAREST_MAX - 1) - place;
    memmove(&nearest->ids[place + 1], &nearest->ids[place], moved * sizeof(nearest->ids[0]));
    memmove(&list->likenesses[place + 1], &list->likenesses[place], moved * sizeof(list->likenesses[0]));
    nearest->ids[place] = id;
    list->likenesses[place] = likeness_of_image;
    nearest->count += nearest->count < ASSETS_NEAREST_MAX;
}

static void take_image(struct nearest_list *list, const struct asset_scan *scan, const struct asset_vectors_scan_row *row)
{
    list->nearest->has_waiting = list->nearest->has_waiting || row->waits;
    if (row->vector.size == scan->query.dimensions * sizeof(float)) {
        double found = likeness(scan->query, row->vector);
        if (found > 0)
            insert_image(list, row->id, found);
    }
}

/* Reads the images before `*before_id`, which moves on; false in `*ret_more` when these were the last ones. */
static bool read_images(const struct work *work, const struct asset_scan *scan, int64_t until_vector, int64_t *before_id,
                        struct nearest_list *list, bool *ret_more, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct asset_vectors_scan_params params = {
        .brand_id = work->brand_id,
        .model = scan->model,
        .before_id = *before_id,
        .until_vector = until_vector,
        .type = scan->filter->type,
        .kind = scan->filter->kind,
        .shape = scan->shape.name,
        .min_ratio = scan->shape.min_ratio,
        .max_ratio = scan->shape.max_ratio,
        .limit = IMAGES_A_READ,
    };
    struct asset_vectors_scan_row *rows;
    size_t count;
    if (!sql_asset_vectors_scan(work->conn, arena, &params, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        take_image(list, scan, &rows[i]);
    *ret_more = count == IMAGES_A_READ;
    if (count > 0)
        *before_id = rows[count - 1].id;
    return true;
}

static bool find_until(const struct work *work, const struct asset_scan *scan, int64_t *ret_until, struct error *err)
{
    struct asset_vectors_begin_params params = { .brand_id = work->brand_id, .model = scan->model };
    struct asset_vectors_begin_row *begin;
    *ret_until = scan->until_vector;
    if (scan->until_vector != 0)
        return true;
    if (!sql_asset_vectors_begin(work->conn, work->arena, &params, &begin, err))
        return false;
    *ret_until = begin->newest;
    return true;
}

bool asset_vectors_nearest(const struct work *work, const struct asset_scan *scan, struct asset_nearest *ret_nearest,
                           struct error *err)
{
    struct nearest_list list = { .nearest = ret_nearest };
    *ret_nearest = (struct asset_nearest){ .count = 0 };
    if (!find_until(work, scan, &ret_nearest->until, err))
        return false;
    int64_t before_id = scan->until_image == INT64_MAX ? INT64_MAX : scan->until_image + 1;
    for (bool has_more = true; has_more;)
        if (!read_images(work, scan, ret_nearest->until, &before_id, &list, &has_more, err))
            return false;
    while (ret_nearest->count > 0 && list.likenesses[ret_nearest->count - 1] < least_part * list.likenesses[0])
        ret_nearest->count--;
    return true;
}

/* ---- Making vectors ---- */

bool asset_vectors_missing(const struct work *work, const char *model, int64_t before_id,
                           struct asset_vectors_missing_row **ret_rows, size_t *ret_count, struct error *err)
{
    struct asset_vectors_missing_params params = {
        .brand_id = work->brand_id,
        .model = model,
        .before_id = before_id,
        .limit = ASSET_VECTORS_A_STEP,
    };
    return sql_asset_vectors_missing(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

bool asset_vectors_save(const struct work *work, const char *model, const struct asset_vectors_missing_row *rows, size_t count,
                        struct asset_vector vectors, struct error *err)
{
    const char *hashes[ASSET_VECTORS_A_STEP];
    const char *text_hashes[ASSET_VECTORS_A_STEP];
    const char *numbers[ASSET_VECTORS_A_STEP];
    if (count > ASSET_VECTORS_A_STEP)
        count = ASSET_VECTORS_A_STEP;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = rows[i].hash;
        text_hashes[i] = rows[i].text_hash;
        numbers[i] = vector_hex(work->arena, vectors.numbers + i * vectors.dimensions, vectors.dimensions);
    }
    struct asset_vectors_save_params params = {
        .brand_id = work->brand_id,
        .model = model,
        .hashes = { hashes, count },
        .text_hashes = { text_hashes, count },
        .vectors = { numbers, count },
        .bytes = (int64_t)(vectors.dimensions * sizeof(*vectors.numbers)),
    };
    return sql_asset_vectors_save(work->conn, work->arena, &params, NULL, err);
}

bool asset_vectors_enqueue(const struct work *work, struct error *err)
{
    struct asset_vectors_enqueue_params params = { .brand_id = work->brand_id, .now = work->now_us };
    return !work->engine->has_embeddings || sql_asset_vectors_enqueue(work->conn, work->arena, &params, NULL, err);
}

/* ---- Queries ---- */

bool query_vector_find(const struct work *work, const char *model, const char *query, struct asset_vector *ret_vector,
                       struct error *err)
{
    struct query_vector_find_params params = { .brand_id = work->brand_id, .model = model, .query = query };
    struct query_vector_find_row *row;
    *ret_vector = (struct asset_vector){ .numbers = NULL };
    if (!sql_query_vector_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    size_t dimensions = row->vector.size / sizeof(float);
    float *numbers = arena_array(work->arena, dimensions + 1, sizeof(*numbers));
    memcpy(numbers, row->vector.data, dimensions * sizeof(*numbers));
    *ret_vector = (struct asset_vector){ numbers, dimensions };
    return true;
}

bool query_vector_save(const struct work *work, const char *model, const char *query, struct asset_vector vector, struct error *err)
{
    struct query_vector_save_params params = {
        .brand_id = work->brand_id,
        .model = model,
        .query = query,
        .vector = vector_hex(work->arena, vector.numbers, vector.dimensions),
        .keep = QUERIES_KEPT,
        .now = work->now_us,
    };
    return sql_query_vector_save(work->conn, work->arena, &params, NULL, err);
}
