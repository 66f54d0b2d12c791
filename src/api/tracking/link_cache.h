/*
 * Link cache: the targets of the links of sends that were clicked lately, so that
 * a redirect needs no database. A table of links never changes, so an entry has
 * no end; one that is pushed out is read again.
 *
 * Thread-safe. At most LINK_CACHE_MAX_BYTES.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

enum { LINK_CACHE_SLOTS = 1024, LINK_CACHE_MAX_BYTES = 32 * 1024 * 1024 };

struct link_cache;

struct link_cache_key {
    int64_t brand_id;
    int64_t send_id;
};

struct link_cache *link_cache_new(void) RETURNS_NONNULL;
void link_cache_free(struct link_cache *cache);

/* Keeps the links of a send. The target of a merged link is NULL. */
void link_cache_put(struct link_cache *cache, struct link_cache_key key, const char *domain, struct text_list targets)
    NONNULL(1, 3);

/* A link of a cached send. Texts are copied into the arena. */
struct cached_link {
    const char *domain; /* the sending domain */
    const char *target; /* NULL: there is no such link, or it is merged */
};
bool link_cache_find(struct link_cache *cache, struct arena *arena, struct link_cache_key key, size_t number,
                     struct cached_link *ret_link) NONNULL(1, 2, 5);
