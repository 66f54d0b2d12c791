/*
 * Stream memory: one account of the events that are kept for clients that may
 * resume a stream, by organization. An organization that keeps much leaves room
 * to the others (memory_share.h).
 *
 * Thread-safe, without a lock. Zeroed: nothing is kept.
 */
#pragma once

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    STREAM_MEMORY_MAX_BYTES = 64 * 1024 * 1024, /* of all organizations */
    STREAM_MEMORY_OWNERS = 4096,
};

/* An organization is one owner. Two whose ids differ by STREAM_MEMORY_OWNERS share one, and ids are given in sequence. */
struct stream_memory {
    atomic_size_t used;
    atomic_size_t of_owners[STREAM_MEMORY_OWNERS];
};

void stream_memory_add(struct stream_memory *memory, unsigned owner, size_t bytes) NONNULL(1);
void stream_memory_remove(struct stream_memory *memory, unsigned owner, size_t bytes) NONNULL(1);

/* Whether the owner keeps more than its share, or all together more than the maximum. */
bool stream_memory_is_over(const struct stream_memory *memory, unsigned owner) NONNULL(1);
