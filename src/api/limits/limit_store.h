/*
 * Limit stores: where the calls of rolling windows are counted. A window is that
 * of one credential and one policy. It is kept in one-second slots: a call
 * counts until its slot is older than the window, so no 60 seconds ever see more
 * than the limit. A refused call does not count.
 *
 * A store is a table of operations: memory counts for one process, Valkey or
 * Redis (limit_redis.h) for all that share it. Any thread may use one.
 */
#pragma once

#include "api/call.h"

enum {
    LIMIT_WINDOW_S = 60,
    LIMIT_SLOTS = LIMIT_WINDOW_S + 1, /* the running second and the 60 before it */
};

struct limit_window {
    const char *installation;  /* tells installations apart that share a store */
    enum credential_kind kind; /* keys and sessions have numbers of their own */
    int64_t id;
    const struct rate_policy *policy;
};

struct limit_count {
    bool admitted;
    int64_t counted; /* calls in the window, this one with them when it was admitted */
    int64_t reset_s; /* when the oldest of them leaves it, in Unix epoch seconds of the store's clock */
    int64_t now_s;   /* by that clock */
};

struct limit_store;

struct limit_store_operations {
    /* Counts a call unless the window holds `limit` of them. `now_us` is the time of a store without a clock of its own.
     * False: the store does not answer, which takes it a bounded time to find out, once. */
    bool (*count)(struct limit_store *store, const struct limit_window *window, int64_t limit, int64_t now_us,
                  struct limit_count *ret_count);
    /* Whether it answered when it was asked last. */
    bool (*answers)(const struct limit_store *store);
    void (*close)(struct limit_store *store);
};

/* The beginning of every kind of store. */
struct limit_store {
    const struct limit_store_operations *operations;
};

/* The store of one process, in its memory. */
struct limit_store *limit_memory_new(void) RETURNS_NONNULL;
