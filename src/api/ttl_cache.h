/*
 * A small cache whose entries are believed for one second: long enough to keep
 * a busy credential out of the database, short enough that a revocation holds
 * everywhere within that second. Bounded; thread-safe.
 *
 * What was asked for before the cache was cleared may be the old truth: the
 * asker notes the generation beforehand, and an answer of an earlier one is
 * not kept.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHORT_CACHE_KEY_BYTES = 32, SHORT_CACHE_VALUE_MAX_BYTES = 64 };

struct ttl_cache;

struct ttl_cache *ttl_cache_new(size_t value_size) RETURNS_NONNULL;
void ttl_cache_free(struct ttl_cache *cache);

/* Copies a fresh entry out. */
bool ttl_cache_get(struct ttl_cache *cache, const unsigned char key[SHORT_CACHE_KEY_BYTES], void *ret_value) NONNULL(1, 2, 3);
uint64_t ttl_cache_generation(struct ttl_cache *cache) NONNULL(1);
void ttl_cache_put(struct ttl_cache *cache, const unsigned char key[SHORT_CACHE_KEY_BYTES], const void *value, uint64_t generation)
    NONNULL(1, 2, 3);
void ttl_cache_clear(struct ttl_cache *cache) NONNULL(1);
