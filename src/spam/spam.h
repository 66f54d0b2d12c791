/*
 * Spam check: asks the spam filter that the operator has named (--spam) for its
 * verdict on a whole message. It speaks to spamd (SpamAssassin) by its own
 * protocol, and to rspamd by HTTP. A filter gets the message and nothing else;
 * nothing is learned or reported.
 *
 * The filter may be on this machine or in a private network, because the
 * operator has chosen it. Its answer is untrusted: it is bounded and checked.
 * There is no second attempt.
 *
 * A call blocks its caller on one thread, until its deadline at most. Results
 * belong to the arena. Any thread may call; calls may run at the same time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SPAM_CHECK_MS = 30 * 1000, /* a filter that asks the DNS takes seconds */
    SPAM_PING_MS = 5 * 1000,
    SPAM_ANSWER_MAX_BYTES = 1024 * 1024,
    SPAM_RULES_MAX = 500,
    SPAM_NAME_MAX_BYTES = 100,
    SPAM_DESCRIPTION_MAX_CHARS = 200,
};

struct spam_filter;

struct spam_rule {
    const char *name;        /* as the filter names it: letters, digits and underscores */
    double score;            /* points; below 0: it speaks for the message */
    const char *description; /* "" when the filter has none */
    const char *left_out;    /* why the rule says nothing about the design, as a sentence; NULL: it counts */
};

struct spam_verdict {
    const char *version; /* of the filter; NULL: it does not say */
    double score;        /* as the filter says */
    double threshold;    /* from here on it takes the message for spam */
    bool is_spam;        /* as the filter says */
    const char *action;  /* what it would do with the message, as it names it; NULL: it does not say */
    const struct spam_rule *rules;
    size_t count;
    bool names_rules; /* false: the filter is set up to report no rules with scores */
};

/* When a call ends early. */
struct spam_patience {
    int64_t until_us; /* clock_monotonic_us */
    /* Called often, at least five times a second. True ends the call. May be NULL. */
    bool (*should_stop)(void *context);
    void *context;
};

/* Reads the value of --spam: spamd:HOST:PORT or rspamd:http://HOST:PORT. It connects to nothing. `*ret_filter` is NULL for NULL.
 * Errors: INVALID_REQUEST with param --spam. */
MUST_CHECK bool spam_filter_new(const char *named, struct spam_filter **ret_filter, struct error *err) NONNULL(2, 3);

/* NULL is allowed. */
void spam_filter_free(struct spam_filter *filter);

/* SpamAssassin or rspamd. */
const char *spam_filter_name(const struct spam_filter *filter) NONNULL(1) RETURNS_NONNULL PURE;

/* What --spam names. */
const char *spam_filter_address(const struct spam_filter *filter) NONNULL(1) RETURNS_NONNULL PURE;

/* Asks for the verdict on a message with CRLF line ends.
 * Errors: SERVICE_UNAVAILABLE with the reason: no connection, too slow, too large, cut short, not understood, stopped. */
MUST_CHECK bool spam_check(struct spam_filter *filter, struct arena *arena, struct bytes message, struct spam_patience patience,
                           struct spam_verdict *ret_verdict, struct error *err) NONNULL(1, 2, 5, 6);

/* Whether the filter answers. `*ret_version` is its version, NULL when it does not say. Errors: as of spam_check. */
MUST_CHECK bool spam_ping(struct spam_filter *filter, struct arena *arena, struct spam_patience patience, const char **ret_version,
                          struct error *err) NONNULL(1, 2, 4, 5);
