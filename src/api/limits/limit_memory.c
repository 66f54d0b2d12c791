/* Memory limit store: sliding windows in the memory of one process. Counting and expiry cost O(1) a call on average. */
#include "api/limits/limit_store.h"

#include "base/clock.h"
#include "base/panic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHARDS = 16,        /* locks */
    BUCKETS = 1024,     /* hash chains a shard */
    MAX_WINDOWS = 8192, /* windows a shard; above it idle ones are dropped */
};

struct window {
    struct window *next;
    enum credential_kind kind;
    int64_t id;
    const struct rate_policy *policy;
    int64_t newest_s;
    int64_t total;
    int64_t slots[LIMIT_SLOTS];
};

struct shard {
    pthread_mutex_t lock;
    size_t count;
    int64_t swept_s; /* when idle windows were last removed */
    struct window *buckets[BUCKETS];
};

struct memory_store {
    struct limit_store base;
    struct shard shards[SHARDS];
};

static void drop_windows(struct shard *shard, int64_t idle_before_s)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct window **link = &shard->buckets[i]; *link != NULL;) {
            struct window *window = *link;
            if (window->newest_s >= idle_before_s) {
                link = &window->next;
                continue;
            }
            *link = window->next;
            free(window);
            shard->count--;
        }
    }
}

static struct window *find_or_add_window(struct shard *shard, uint64_t hash, const struct limit_window *wanted, int64_t now_s)
{
    struct window **head = &shard->buckets[hash / SHARDS % BUCKETS];
    for (struct window *window = *head; window != NULL; window = window->next)
        if (window->id == wanted->id && window->kind == wanted->kind && window->policy == wanted->policy)
            return window;

    if (shard->count >= MAX_WINDOWS && shard->swept_s != now_s) {
        drop_windows(shard, now_s - LIMIT_WINDOW_S);
        shard->swept_s = now_s;
    }
    struct window *window = calloc(1, sizeof(*window));
    if (window == NULL)
        panic(PANIC_NO_MEMORY);
    *window = (struct window){ .next = *head, .kind = wanted->kind, .id = wanted->id, .policy = wanted->policy, .newest_s = now_s };
    *head = window;
    shard->count++;
    return window;
}

/* Clears the slots between the last call and now. A clock that went back changes nothing. */
static void window_advance(struct window *window, int64_t now_s)
{
    int64_t steps = now_s - window->newest_s;
    if (steps <= 0)
        return;
    if (steps >= LIMIT_SLOTS) {
        memset(window->slots, 0, sizeof(window->slots));
        window->total = 0;
    } else {
        for (int64_t second = window->newest_s + 1; second <= now_s; second++) {
            window->total -= window->slots[second % LIMIT_SLOTS];
            window->slots[second % LIMIT_SLOTS] = 0;
        }
    }
    window->newest_s = now_s;
}

/* When the oldest counted call leaves the window. */
static int64_t reset_at(const struct window *window)
{
    for (int64_t second = window->newest_s - LIMIT_SLOTS + 1; second <= window->newest_s; second++)
        if (second >= 0 && window->slots[second % LIMIT_SLOTS] > 0)
            return second + LIMIT_SLOTS;
    return window->newest_s + LIMIT_WINDOW_S;
}

static bool memory_count(struct limit_store *store, const struct limit_window *wanted, int64_t limit, int64_t now_us,
                         struct limit_count *ret_count)
{
    struct memory_store *memory = (struct memory_store *)store;
    int64_t now_s = now_us / US_PER_S;
    uint64_t hash = (uint64_t)wanted->id * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)wanted->policy->index * UINT64_C(0xc2b2ae3d27d4eb4f) + (uint64_t)wanted->kind;
    hash ^= hash >> 29;
    struct shard *shard = &memory->shards[hash % SHARDS];
    pthread_mutex_lock(&shard->lock);
    struct window *window = find_or_add_window(shard, hash, wanted, now_s);
    window_advance(window, now_s);
    bool admitted = window->total < limit;
    if (admitted) {
        window->slots[window->newest_s % LIMIT_SLOTS]++;
        window->total++;
    }
    *ret_count =
        (struct limit_count){ .admitted = admitted, .counted = window->total, .reset_s = reset_at(window), .now_s = now_s };
    pthread_mutex_unlock(&shard->lock);
    return true;
}

static bool memory_answers(const struct limit_store *store)
{
    (void)store;
    return true;
}

static void memory_close(struct limit_store *store)
{
    struct memory_store *memory = (struct memory_store *)store;
    for (size_t i = 0; i < SHARDS; i++) {
        drop_windows(&memory->shards[i], INT64_MAX);
        pthread_mutex_destroy(&memory->shards[i].lock);
    }
    free(memory);
}

struct limit_store *limit_memory_new(void)
{
    static const struct limit_store_operations kind = { memory_count, memory_answers, memory_close, .may_wait = false };
    struct memory_store *memory = calloc(1, sizeof(*memory));
    if (memory == NULL)
        panic(PANIC_NO_MEMORY);
    memory->base.operations = &kind;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&memory->shards[i].lock, NULL);
    return &memory->base;
}
