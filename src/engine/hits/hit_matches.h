/*
 * Hit matches: words of user agents and ranges of addresses that the operator
 * adds to the rules about hits. They hold for the installation. A word takes the
 * place of the class that the program gives to an agent, a range that of the class
 * of a network. Each change raises the version of the rules, so the brands judge
 * all their hits again.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/hits/hit_matcher.h"

enum {
    HIT_WORDS_MAX = 200,
    HIT_RANGES_MAX = 2000,
    HIT_MATCHERS_READ_S = 5, /* new words and ranges are known to all processes after this time */
};

/* Adds a word or a range in the open transaction, or changes its actor: human, proxy, bot, or facts (other facts decide). `fact` is
 * agent or network. Errors: INVALID_REQUEST (fact, word, range, actor). */
MUST_CHECK bool hit_match_set(const struct work *work, const char *fact, const char *text, const char *actor, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* Removes a word or a range in the open transaction. Errors: INVALID_REQUEST, NOT_FOUND (word, range). */
MUST_CHECK bool hit_match_drop(const struct work *work, const char *fact, const char *text, struct error *err) NONNULL(1, 2, 3, 4);

/* Writes the members `words` and `ranges`. */
MUST_CHECK bool hit_matches_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* The matcher of all words and ranges, in the arena of the work. */
MUST_CHECK bool hit_matches_load(const struct work *work, const struct hit_matcher **ret_matcher, struct error *err)
    NONNULL(1, 2, 3);

/* ---- What a process has read ---- */

struct hit_matchers *hit_matchers_new(void) RETURNS_NONNULL;
void hit_matchers_free(struct hit_matchers *matchers);

/* The word and the range of a request; 0: none. */
struct hit_found {
    int64_t word_id;
    int64_t range_id;
};

/* Finds the words and ranges of requests. Reads new rules when the last ones were read HIT_MATCHERS_READ_S ago; the connection is
 * idle. When they cannot be read, the last ones hold. Thread-safe. */
void hit_matchers_find(const struct work *work, const char *const *agents, const char *const *addresses, size_t count,
                       struct hit_found *ret_found) NONNULL(1, 2, 3, 5);

/* The next requests read the rules. After a change by this process. */
void hit_matchers_forget(const struct work *work) NONNULL(1);
