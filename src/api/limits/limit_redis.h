/*
 * The limit store that several processes share: Valkey, or Redis 5 and later.
 * One call is one run of a script there, which is atomic, counts by the server's
 * own clock and lets idle windows expire.
 *
 * The gate asks on threads that must not wait: connecting takes 250 ms at most,
 * and so does an answer. A store that failed is left alone, and the gate is open,
 * until a thread of the store's own, which tries once a second and also asks the
 * DNS, has had an answer.
 */
#pragma once

#include "api/limits/limit_store.h"

/* Tries the store once; one that does not answer is no error, as it may come. Errors: INVALID_REQUEST with the param
 * --limit-store for a bad address. */
MUST_CHECK bool limit_redis_new(const char *address, struct limit_store **ret_store, struct error *err) NONNULL(1, 2, 3);

/* The address without user and password, and what kind of server answers, "" when none does. For the doctor. */
struct limit_redis_facts {
    char name[256];
    char server[64];
    char problem[128];
};
void limit_redis_look(struct limit_store *store, struct limit_redis_facts *ret_facts) NONNULL(1, 2);
