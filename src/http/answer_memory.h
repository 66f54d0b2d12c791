/*
 * Answer memory: one account of the answers that wait until their clients have
 * read them, of all connections.
 *
 * An answer is counted when it exists, so counting never fails: what a call has
 * done is told. A call is refused before its work, while its organization holds
 * its share or all callers together hold all of the bound. The account may
 * exceed its bound by the calls that are in execution. A share is a quarter of
 * the bound, or what is free when that is less (memory_share.h). All unknown
 * callers together may hold an eighth, and those of one client address a quarter
 * of this eighth. An owner has an entry of its own, because one that holds too
 * much is refused all calls; there are no more entries than answers that are
 * held.
 *
 * A share is used under the lock of its exchange. The account is thread-safe. It
 * is reference-counted, because an abandoned request outlives its server.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer_memory;

/* The memory of one answer. Zeroed: nothing. The owner is set while nothing is held. */
struct answer_share {
    int64_t organization_id; /* 0: an unknown caller */
    uint64_t address;        /* the client address of an unknown caller as a number; 0: not known */
    size_t bytes;
};

/* With one reference. */
struct answer_memory *answer_memory_new(size_t max_bytes) RETURNS_NONNULL;
struct answer_memory *answer_memory_ref(struct answer_memory *memory) NONNULL(1) RETURNS_NONNULL;
void answer_memory_unref(struct answer_memory *memory) NONNULL(1);

/* True when the owner of the share may have one more answer. Errors: SERVICE_UNAVAILABLE with a time to retry after. */
MUST_CHECK bool answer_memory_has_room(struct answer_memory *memory, const struct answer_share *share, struct error *err)
    NONNULL(1, 2, 3);

/* Counts `bytes` more for the owner of the share, whatever the bound is. */
void answer_memory_hold(struct answer_memory *memory, struct answer_share *share, size_t bytes) NONNULL(1, 2);

/* Counts `bytes` of the share no longer. */
void answer_memory_let_go(struct answer_memory *memory, struct answer_share *share, size_t bytes) NONNULL(1, 2);

/* Counts the share no longer, and forgets its owner. */
void answer_memory_release(struct answer_memory *memory, struct answer_share *share) NONNULL(1, 2);

/* The bytes that are held now. */
size_t answer_memory_used(const struct answer_memory *memory) NONNULL(1);
