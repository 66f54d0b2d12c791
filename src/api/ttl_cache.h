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

struct short_cache;

struct short_cache *short_cache_new(size_t value_size) RETURNS_NONNULL;
void short_cache_free(struct short_cache *cache);

/* Copies a fresh entry out. */
bool short_cache_get(struct short_cache *cache, const unsigned char key[SHORT_CACHE_KEY_BYTES], void *ret_value) NONNULL(1, 2, 3);
uint64_t short_cache_generation(struct short_cache *cache) NONNULL(1);
void short_cache_put(struct short_cache *cache, const unsigned char key[SHORT_CACHE_KEY_BYTES], const void *value,
                     uint64_t generation) NONNULL(1, 2, 3);
void short_cache_clear(struct short_cache *cache) NONNULL(1);
