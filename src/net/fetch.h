/*
 * Fetch: a guarded HTTP client for addresses that strangers name. Several are
 * fetched side by side, each by GET, and handed over one by one as they arrive.
 *
 * What it promises: only http and https, only web ports, only public addresses
 * (net/guard_address.h, asked about each socket before it connects, so that
 * redirects and names that change their answer are covered); no proxy, cookies,
 * credentials or caches; TLS verified; redirects followed by hand and counted;
 * bytes counted while they stream, for each and for all together; compressed
 * answers refused, so that no small answer can become a large one; a deadline
 * for each and for all.
 *
 * Blocks its caller, one thread. No state remains.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fetch_outcome {
    FETCH_OK,
    FETCH_REFUSED, /* its server, or one it redirects to, is not on the public internet; no connection was made */
    FETCH_FAILED,  /* scheme, port, credentials, name, connection, TLS, a status but 200, redirects, compressed, cut short */
    FETCH_TOO_LARGE,
    FETCH_TOO_SLOW,
};

enum { FETCH_REASON_BYTES = 120 };

struct fetch_answer {
    enum fetch_outcome outcome;
    char reason[FETCH_REASON_BYTES]; /* what went wrong, a part of a sentence without addresses; "" when nothing did */
    const unsigned char *bytes;      /* of FETCH_OK; gone when the callback returns */
    size_t size;
};

struct fetch_config {
    size_t max_bytes;       /* of one */
    size_t max_total_bytes; /* of all together */
    int64_t each_ms;        /* redirects included */
    int64_t all_ms;
    unsigned max_parallel;
    unsigned max_redirects;
    bool allow_loopback; /* DANGEROUS, for tests: 127.0.0.0/8, ::1 and any port are taken too */

    /* Called for each address once, in the order of arrival; `index` is its place in `urls`. */
    void (*arrived)(void *context, size_t index, const struct fetch_answer *answer);
    /* Asked now and then; true ends everything, and what has not arrived is FETCH_TOO_SLOW. May be NULL. */
    bool (*should_stop)(void *context);
    void *context;
};

/* The bounds that field experience asks for: 15 MB and 15 s each, 50 MB and 60 s together, 8 at a time, 5 redirects. */
struct fetch_config fetch_config_default(void);

void fetch_all(const struct fetch_config *config, const char *const *urls, size_t count) NONNULL(1);
