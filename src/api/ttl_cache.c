#include "api/ttl_cache.h"

#include "base/clock.h"
#include "base/panic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A two-way set-associative cache of 1,024 sets. A third entry of a set replaces the older one. Keys are hashes. */
enum { SETS = 1024, WAYS = 2 };
static const int64_t entry_ttl_us = US_PER_S;

struct entry {
    int64_t read_at_us; /* monotonic; 0: empty */
    unsigned char key[TTL_CACHE_KEY_BYTES];
    unsigned char value[TTL_CACHE_VALUE_MAX_BYTES];
};

struct ttl_cache {
    size_t value_size;
    pthread_mutex_t lock;
    uint64_t generation; /* incremented when the cache is cleared */
    struct entry entries[SETS][WAYS];
};

struct ttl_cache *ttl_cache_new(size_t value_size)
{
    struct ttl_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL || value_size > TTL_CACHE_VALUE_MAX_BYTES)
        panic(PANIC_NO_MEMORY);
    cache->value_size = value_size;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void ttl_cache_free(struct ttl_cache *cache)
{
    if (cache == NULL)
        return;
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static struct entry *set_of(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES])
{
    uint32_t start;
    memcpy(&start, key, sizeof(start));
    return cache->entries[start % SETS];
}

static struct entry *find_cached_entry(struct entry *set, const unsigned char key[TTL_CACHE_KEY_BYTES])
{
    for (int i = 0; i < WAYS; i++)
        if (set[i].read_at_us != 0 && memcmp(set[i].key, key, TTL_CACHE_KEY_BYTES) == 0)
            return &set[i];
    return NULL;
}

bool ttl_cache_get(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES], void *ret_value)
{
    pthread_mutex_lock(&cache->lock);
    const struct entry *entry = find_cached_entry(set_of(cache, key), key);
    bool fresh = entry != NULL && clock_monotonic_us() - entry->read_at_us < entry_ttl_us;
    if (fresh)
        memcpy(ret_value, entry->value, cache->value_size);
    pthread_mutex_unlock(&cache->lock);
    return fresh;
}

uint64_t ttl_cache_generation(struct ttl_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    uint64_t generation = cache->generation;
    pthread_mutex_unlock(&cache->lock);
    return generation;
}

static void store_entry(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES], const void *value)
{
    struct entry *set = set_of(cache, key);
    struct entry *entry = find_cached_entry(set, key);
    if (entry == NULL)
        entry = set[0].read_at_us <= set[1].read_at_us ? &set[0] : &set[1];
    entry->read_at_us = clock_monotonic_us();
    memcpy(entry->key, key, TTL_CACHE_KEY_BYTES);
    memcpy(entry->value, value, cache->value_size);
}

void ttl_cache_put(struct ttl_cache *cache, const unsigned char key[TTL_CACHE_KEY_BYTES], const void *value, uint64_t generation)
{
    pthread_mutex_lock(&cache->lock);
    if (generation == cache->generation)
        store_entry(cache, key, value);
    pthread_mutex_unlock(&cache->lock);
}

void ttl_cache_clear(struct ttl_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    memset(cache->entries, 0, sizeof(cache->entries));
    cache->generation++;
    pthread_mutex_unlock(&cache->lock);
}
