/*
 * Capture quota: the bound of the capture Maildir, and the share that each
 * owner holds. An owner holds at most three quarters of what the other owners
 * leave, so one that has filled its share still leaves room for all others.
 *
 * Not thread-safe: the capture Maildir calls it with its mutex held.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Messages and bytes: a bound, or what is used of it. */
struct capture_amount {
    uint64_t messages;
    uint64_t bytes;
};

struct capture_quota {
    struct capture_amount bound;
    struct capture_amount stored;  /* by the last count, and what was delivered since */
    struct capture_amount pending; /* reserved by deliveries in progress */
    void *owners;                /* search tree of struct capture_owner */
};

/* Owners are texts of at most this size; a longer one is cut. */
enum { CAPTURE_OWNER_MAX_BYTES = 63 };

void capture_quota_init(struct capture_quota *quota, struct capture_amount bound) NONNULL(1);
void capture_quota_done(struct capture_quota *quota) NONNULL(1);

/* Begins a count of what is stored: nothing so far. Reservations stay. */
void capture_quota_begin_count(struct capture_quota *quota) NONNULL(1);
/* Counts a stored message. `owner` is NULL for a message of no owner: it needs room, and is in no share. */
void capture_quota_count(struct capture_quota *quota, const char *owner, uint64_t bytes) NONNULL(1);

/* Reserves room; false when there is not so much, or when it is more than the share of the owner. */
MUST_CHECK bool capture_quota_reserve(struct capture_quota *quota, const char *owner, struct capture_amount more) NONNULL(1);
/* Ends a reservation: it is stored, or free again. */
void capture_quota_complete(struct capture_quota *quota, const char *owner, struct capture_amount reserved, bool is_stored)
    NONNULL(1);
