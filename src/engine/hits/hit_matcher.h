/*
 * Hit matcher: finds the operator's words in user agents and the operator's
 * ranges around addresses. Both are sorted, so the time of a search grows with
 * the logarithm of their number. Pure; in the arena of its caller.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HIT_WORD_MIN_CHARS = 3,
    HIT_WORD_MAX_CHARS = 60,
    HIT_ADDRESS_BYTES = 16,
    HIT_RANGE_MAX_CHARS = 50,
};

/* A range of addresses. Those of IPv4 are mapped to IPv6 (RFC 4291 §2.5.5.2). */
struct hit_range {
    unsigned char prefix[HIT_ADDRESS_BYTES];
    unsigned bits;
};

/* Reads an IPv4 or IPv6 address. False: it is none. */
bool hit_address_read(const char *address, unsigned char *ret_bytes) NONNULL(1, 2);

/* Reads ADDRESS/BITS or one address. Errors: INVALID_REQUEST (range). */
MUST_CHECK bool hit_range_read(const char *text, struct hit_range *ret_range, struct error *err) NONNULL(1, 2, 3);

/* The one form in which a range is written. */
const char *hit_range_text(struct arena *arena, const struct hit_range *range) NONNULL(1, 2) RETURNS_NONNULL;

/* Checks a word. Errors: INVALID_REQUEST (word). */
MUST_CHECK bool hit_word_check(const char *word, struct error *err) NONNULL(1, 2);

/* A word in lower case, or a range. */
struct hit_match {
    int64_t id;
    bool is_range;
    const char *text;
};

struct hit_matcher;

/* Ranges that cannot be read are left out. The texts are borrowed. */
const struct hit_matcher *hit_matcher_new(struct arena *arena, const struct hit_match *matches, size_t count)
    NONNULL(1) RETURNS_NONNULL;

bool hit_matcher_has_ranges(const struct hit_matcher *matcher) NONNULL(1) PURE;

/* The longest word in a user agent, of equally long ones that with the lowest id; case does not count. 0: none. A text of more than
 * 1,024 bytes is read as far as that. */
int64_t hit_matcher_word(const struct hit_matcher *matcher, const char *agent) NONNULL(1, 2);

/* The narrowest range that contains the address. 0: none, or not an address. */
int64_t hit_matcher_range(const struct hit_matcher *matcher, const char *address) NONNULL(1);

/* What a truncated address, ADDRESS/BITS, tells: the narrowest range that contains all of it. `found_id` was found for the whole
 * address, and stays when it is a narrower one. */
int64_t hit_matcher_truncated(const struct hit_matcher *matcher, const char *truncated, int64_t found_id) NONNULL(1, 2);
