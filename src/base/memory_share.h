/*
 * Memory share: how much of a common memory one owner may hold. An owner is an
 * organization, or all unknown callers together, of whom one client address may
 * hold a part.
 *
 * A share shrinks with what is free, so that organizations that hold all they
 * may leave a part to the next one. A 16th of the memory counts as not free: it
 * is for owners that hold little, which nearly all do.
 *
 * Plain values; any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

/* What every owner may hold as long as there is memory at all. */
enum { MEMORY_SHARE_LEAST_BYTES = 1024 * 1024 };

struct memory_rule {
    size_t max_bytes;              /* of all owners together */
    size_t organization_max_bytes; /* of one organization when all is free */
    size_t times_free;             /* a share is at most so many times what is free */
};

struct memory_shares {
    size_t organization;
    size_t unknown; /* all unknown callers together */
    size_t address; /* of them, those of one client address */
};

/* The shares while `used_bytes` of the memory are used. */
struct memory_shares memory_shares_of(const struct memory_rule *rule, size_t used_bytes) NONNULL(1) PURE;
