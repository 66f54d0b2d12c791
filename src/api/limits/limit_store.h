/*
 * Limit store: counts the calls of sliding windows. A window belongs to one
 * credential and one policy. It has one-second slots. A call counts until its
 * slot is older than the window, so no 60 seconds hold more calls than the
 * limit. A refused call does not count.
 *
 * A store is a table of operations. The memory store counts for one process.
 * Valkey or Redis (limit_redis.h) counts for all processes that share it. A
 * store may be used from any thread.
 */
#pragma once

#include "api/call.h"

enum {
    LIMIT_WINDOW_S = 60,
    LIMIT_SLOTS = LIMIT_WINDOW_S + 1, /* the current second and the 60 before it */
};

struct limit_window {
    const char *installation;  /* separates installations that share a store */
    enum credential_kind kind; /* keys and sessions are numbered separately */
    int64_t id;
    const struct rate_policy *policy;
};

struct limit_count {
    bool admitted;
    int64_t counted; /* calls in the window, including this one when it was admitted */
    int64_t reset_s; /* when the oldest of them leaves the window, in Unix epoch seconds of the store's clock */
    int64_t now_s;   /* the time of that clock */
};

struct limit_store;

struct limit_store_operations {
    /* Counts a call unless the window holds `limit` of them. `now_us` is used by a store without a clock of its own. False: the
     * store does not answer; the call waited a bounded time, once, to find out. */
    bool (*count)(struct limit_store *store, const struct limit_window *window, int64_t limit, int64_t now_us,
                  struct limit_count *ret_count);
    /* True when the store answered the last request. */
    bool (*answers)(const struct limit_store *store);
    void (*close)(struct limit_store *store);
    bool may_wait; /* `count` may wait for the network */
};

/* The first member of every kind of store. */
struct limit_store {
    const struct limit_store_operations *operations;
};

/* A store in the memory of this process. */
struct limit_store *limit_memory_new(void) RETURNS_NONNULL;
