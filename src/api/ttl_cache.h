/*
 * TTL cache: a bounded, thread-safe cache whose entries are valid for one
 * second. That is long enough to keep a busy credential out of the database,
 * and short enough that a revocation takes effect everywhere within one second.
 *
 * A value that was read before the cache was cleared may be out of date. The
 * reader takes the generation first, and a value of an earlier generation is
 * not stored.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TTL_CACHE_KEY_BYTES = 32, TTL_CACHE_VALUE_MAX_BYTES = 64 };

struct ttl_cache;

struct ttl_cache *ttl_cache_new(size_t value_size) RETURNS_NONNULL;
void ttl_cache_free(struct ttl_cache *cache);

/* Copies a valid entry to `ret_value`; false when there is none. */
bool ttl_cache_get(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES], void *ret_value) NONNULL(1, 2, 3);
uint64_t ttl_cache_generation(struct ttl_cache *cache) NONNULL(1);
void ttl_cache_put(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES], const void *value, uint64_t generation)
    NONNULL(1, 2, 3);
void ttl_cache_clear(struct ttl_cache *cache) NONNULL(1);
