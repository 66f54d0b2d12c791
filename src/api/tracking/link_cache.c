#include "api/tracking/link_cache.h"

#include "base/panic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct link_cache_key key;
    struct arena *arena; /* NULL: the slot is empty */
    size_t bytes;
    const char *domain;
    struct text_list targets;
};

struct link_cache {
    pthread_mutex_t lock;
    size_t bytes;
    size_t next; /* the slot that is emptied next when the cache is full */
    struct entry slots[LINK_CACHE_SLOTS];
};

struct link_cache *link_cache_new(void)
{
    struct link_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void empty_slot(struct link_cache *cache, struct entry *entry)
{
    if (entry->arena == NULL)
        return;
    cache->bytes -= entry->bytes;
    arena_free(entry->arena);
    *entry = (struct entry){ .arena = NULL };
}

void link_cache_free(struct link_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < LINK_CACHE_SLOTS; i++)
        empty_slot(cache, &cache->slots[i]);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static struct entry *slot_of(struct link_cache *cache, struct link_cache_key key)
{
    uint64_t hash = (uint64_t)key.brand_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)key.send_id;
    hash = (hash ^ hash >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return &cache->slots[hash >> 32 & (LINK_CACHE_SLOTS - 1)];
}

static struct entry make_entry(struct link_cache_key key, const char *domain, struct text_list targets)
{
    struct arena *arena = arena_new(0);
    const char **items = arena_array(arena, targets.count + 1, sizeof(*items));
    struct entry entry = { .key = key, .arena = arena, .domain = arena_dup(arena, domain), .targets = { items, targets.count } };
    entry.bytes = sizeof(entry) + strlen(domain);
    for (size_t i = 0; i < targets.count; i++) {
        items[i] = targets.items[i] != NULL ? arena_dup(arena, targets.items[i]) : NULL;
        entry.bytes += sizeof(*items) + (items[i] != NULL ? strlen(items[i]) + 1 : 0);
    }
    return entry;
}

void link_cache_put(struct link_cache *cache, struct link_cache_key key, const char *domain, struct text_list targets)
{
    struct entry entry = make_entry(key, domain, targets);
    pthread_mutex_lock(&cache->lock);
    struct entry *slot = slot_of(cache, key);
    empty_slot(cache, slot);
    for (size_t i = 0; i < LINK_CACHE_SLOTS && cache->bytes + entry.bytes > LINK_CACHE_MAX_BYTES; i++) {
        empty_slot(cache, &cache->slots[cache->next]);
        cache->next = (cache->next + 1) % LINK_CACHE_SLOTS;
    }
    *slot = entry;
    cache->bytes += entry.bytes;
    pthread_mutex_unlock(&cache->lock);
}

bool link_cache_find(struct link_cache *cache, struct arena *arena, struct link_cache_key key, size_t number,
                     struct cached_link *ret_link)
{
    pthread_mutex_lock(&cache->lock);
    const struct entry *entry = slot_of(cache, key);
    bool found = entry->arena != NULL && entry->key.brand_id == key.brand_id && entry->key.send_id == key.send_id;
    if (found) {
        const char *target = number < entry->targets.count ? entry->targets.items[number] : NULL;
        *ret_link = (struct cached_link){
            .domain = arena_dup(arena, entry->domain),
            .target = target != NULL ? arena_dup(arena, target) : NULL,
        };
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}
