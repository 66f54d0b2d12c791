/*
 * Redis limit store: shared by several processes, in Valkey or in Redis 5 and
 * later. One call runs one script there. The script is atomic, counts by the
 * server's clock and lets idle windows expire.
 *
 * The rate limit runs on threads that must not wait: connecting takes 250 ms at
 * most, and so does an answer. A failed store opens a circuit breaker: it is
 * not asked, and no call is refused. A retry thread sends a half-open probe
 * once a second, and also resolves the host name; its first answer closes the
 * breaker.
 */
#pragma once

#include "api/limits/limit_store.h"

/* Probes the store once. A store that does not answer is no error. Errors: INVALID_REQUEST with the param --limit-store for a bad
 * address. */
MUST_CHECK bool limit_redis_new(const char *address, struct limit_store **ret_store, struct error *err) NONNULL(1, 2, 3);

/* The address without user and password, and the server's version ("" when it does not answer). For `posthorn doctor`. */
struct limit_redis_facts {
    char name[256];
    char server[64];
    char problem[128];
};
void limit_redis_probe(struct limit_store *store, struct limit_redis_facts *ret_facts) NONNULL(1, 2);
