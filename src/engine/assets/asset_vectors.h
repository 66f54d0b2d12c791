/*
 * Vectors of a brand's images: what an embedding model of the operator makes of
 * their texts. The nearest images of a query are found by reading all vectors of
 * the brand, some at a time: the result is exact, and the memory is bounded.
 *
 * Vectors have length one. Those of different models are never compared.
 */
#pragma once

#include "engine/assets/assets.h"
#include "sql/asset_vectors.h"

enum { ASSETS_NEAREST_MAX = 100, ASSET_VECTORS_A_STEP = 32 };

struct asset_vector {
    const float *numbers; /* NULL: none */
    size_t dimensions;
};

/* The images that are nearest to a query, the nearest first. */
struct asset_nearest {
    int64_t ids[ASSETS_NEAREST_MAX];
    size_t count;
    int64_t until;    /* the newest vector of the search */
    bool has_waiting; /* an image has texts and no vector */
};

/* The images that a search reads. */
struct asset_scan {
    const char *model;
    struct asset_vector query;
    const struct asset_filter *filter;
    struct asset_shape shape;
    int64_t until_image;  /* INT64_MAX: all */
    int64_t until_vector; /* 0: all that exist now */
};

/* Finds the nearest images: at most ASSETS_NEAREST_MAX, and none that is much farther away than the nearest one. */
MUST_CHECK bool asset_vectors_nearest(const struct work *work, const struct asset_scan *scan, struct asset_nearest *ret_nearest,
                                      struct error *err) NONNULL(1, 2, 3, 4);

/* Images that need a vector, at most ASSET_VECTORS_A_STEP of those before `before_id`, the newest first. */
MUST_CHECK bool asset_vectors_missing(const struct work *work, const char *model, int64_t before_id,
                                      struct asset_vectors_missing_row **ret_rows, size_t *ret_count, struct error *err)
    NONNULL(1, 2, 4, 5, 6);

/* Saves a vector for each of these images; `vectors` has them one after the other. */
MUST_CHECK bool asset_vectors_save(const struct work *work, const char *model, const struct asset_vectors_missing_row *rows,
                                   size_t count, struct asset_vector vectors, struct error *err) NONNULL(1, 2, 3, 6);

/* The kept vector of a query; its numbers are NULL when it is not kept. */
MUST_CHECK bool query_vector_find(const struct work *work, const char *model, const char *query, struct asset_vector *ret_vector,
                                  struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Keeps the vector of a query; the oldest ones of the brand are deleted. */
MUST_CHECK bool query_vector_save(const struct work *work, const char *model, const char *query, struct asset_vector vector,
                                  struct error *err) NONNULL(1, 2, 3, 5);

/* Enqueues the job that makes the vectors of the brand, unless it is enqueued already. Without a named model it does nothing. */
MUST_CHECK bool asset_vectors_enqueue(const struct work *work, struct error *err) NONNULL(1, 2);
