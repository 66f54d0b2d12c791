/*
 * Body memory: one bound for the request bodies of all connections and for the
 * JSON trees that are parsed from them.
 *
 * A request claims memory before it uses it. A claim that exceeds the bound is
 * refused, and so is one by which an organization would hold more than its share.
 * That is three quarters of the bound, or eight times what stays free when that
 * is less (memory_share.h), so that no organizations can keep the others from
 * sending. The larger bodies of unknown callers may hold an eighth of the bound,
 * and those of one client address a quarter of this eighth. A body of at most
 * BODY_MEMORY_SMALL_BYTES counts for the whole bound only, because its caller is
 * looked up after it is read; the number of connections bounds these.
 * Organizations and addresses are counted in tables of fixed size; those that
 * hash to the same entry share it, and a random seed makes this unpredictable.
 *
 * A share belongs to one thread at a time. The account is thread-safe. It is
 * reference-counted, because an abandoned request outlives its server.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct body_memory;

enum { BODY_MEMORY_SMALL_BYTES = 16 * 1024 };

/* The memory that one request has claimed. Zeroed: nothing. */
struct body_share {
    int64_t organization_id; /* of further claims; 0: the caller is not known yet */
    uint64_t address; /* the client address of an unknown caller as a number; 0: not known, so that only their bound counts */
    size_t bytes;
    size_t organization_bytes; /* the part that was claimed for the organization */
    size_t unknown_bytes;      /* the part that was claimed as an unknown caller */
};

/* With one reference. Three quarters of `max_bytes` must be enough for one request, a 32nd for one of an unknown caller, when
 * little is used. */
struct body_memory *body_memory_new(size_t max_bytes) RETURNS_NONNULL;
struct body_memory *body_memory_ref(struct body_memory *memory) NONNULL(1) RETURNS_NONNULL;
void body_memory_unref(struct body_memory *memory) NONNULL(1);

/* Claims `bytes` more. Errors: SERVICE_UNAVAILABLE with a time to retry after; then nothing was claimed. */
MUST_CHECK bool body_memory_claim(struct body_memory *memory, struct body_share *share, size_t bytes, struct error *err)
    NONNULL(1, 2, 4);

/* Gives back all that the request has claimed. */
void body_memory_release(struct body_memory *memory, struct body_share *share) NONNULL(1, 2);

/* The bytes that are claimed now. */
size_t body_memory_used(const struct body_memory *memory) NONNULL(1);

/* Returns freed memory to the system when large requests have released much. While they keep coming, only every tenth call does.
 * One thread calls it, about once a second. */
void body_memory_trim(struct body_memory *memory) NONNULL(1);
