/*
 * Graph cache: the graphs of versions, which never change, read once. It keeps
 * the versions that were used last, within a bound of memory. One thread owns a
 * cache. A graph is valid until the next call of graph_cache_load.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/nodes/step.h"

struct graph_cache;

/* A version of an automation. */
struct cached_graph {
    int64_t version_id;
    const struct graph *graph;      /* NULL: the version is missing, or cannot be read */
    const struct step_needs *needs; /* by node: what the steps from here up to the next waits must know */
};

struct graph_cache *graph_cache_new(void) RETURNS_NONNULL;
/* NULL is allowed. */
void graph_cache_free(struct graph_cache *cache);

/* Loads those of these versions of the brand that the cache does not have. At most one round trip. */
MUST_CHECK bool graph_cache_load(struct graph_cache *cache, const struct work *work, struct int_list version_ids, struct error *err)
    NONNULL(1, 2, 4);

/* A loaded version. */
const struct cached_graph *graph_cache_find(const struct graph_cache *cache, int64_t version_id) NONNULL(1) RETURNS_NONNULL;
