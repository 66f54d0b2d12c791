#include "api/limits.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * The window is kept in one-second slots: a call counts until its slot is older
 * than the window, so no 60 seconds ever see more than the limit. Counting and
 * expiring are O(1) a call on average.
 */
enum {
    SLOTS = 61,      /* the running second and the 60 before it */
    SHARDS = 16,     /* locks */
    BUCKETS = 1024,  /* hash chains a shard */
    MAX_WINDOWS = 8192, /* windows a shard; past it idle ones are dropped */
    DEFAULT_LIMIT = 100,
    DEFAULT_WINDOW_S = 60,
};

struct window {
    struct window *next;
    int64_t key_id;
    const struct rate_policy *policy;
    int64_t newest_s;
    int64_t total;
    int64_t slots[SLOTS];
};

struct shard {
    pthread_mutex_t lock;
    size_t count;
    int64_t swept_s; /* when idle windows were looked for last */
    struct window *buckets[BUCKETS];
};

struct limits {
    struct shard shards[SHARDS];
};

struct limits *limits_new(void)
{
    struct limits *limits = calloc(1, sizeof(*limits));
    if (limits == NULL)
        abort();
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&limits->shards[i].lock, NULL);
    return limits;
}

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

void limits_free(struct limits *limits)
{
    if (limits == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        drop_windows(&limits->shards[i], INT64_MAX);
        pthread_mutex_destroy(&limits->shards[i].lock);
    }
    free(limits);
}

static struct window *window_of(struct shard *shard, uint64_t hash, int64_t key_id, const struct rate_policy *policy, int64_t now_s)
{
    struct window **head = &shard->buckets[hash / SHARDS % BUCKETS];
    for (struct window *window = *head; window != NULL; window = window->next)
        if (window->key_id == key_id && window->policy == policy)
            return window;

    if (shard->count >= MAX_WINDOWS && shard->swept_s != now_s) {
        drop_windows(shard, now_s - DEFAULT_WINDOW_S);
        shard->swept_s = now_s;
    }
    struct window *window = calloc(1, sizeof(*window));
    if (window == NULL)
        abort();
    *window = (struct window){ .next = *head, .key_id = key_id, .policy = policy, .newest_s = now_s };
    *head = window;
    shard->count++;
    return window;
}

/* Empties the slots that the clock has passed since the last call. A clock that went back moves nothing. */
static void advance(struct window *window, int64_t now_s)
{
    int64_t steps = now_s - window->newest_s;
    if (steps <= 0)
        return;
    if (steps >= SLOTS) {
        memset(window->slots, 0, sizeof(window->slots));
        window->total = 0;
    } else {
        for (int64_t second = window->newest_s + 1; second <= now_s; second++) {
            window->total -= window->slots[second % SLOTS];
            window->slots[second % SLOTS] = 0;
        }
    }
    window->newest_s = now_s;
}

/* When the oldest counted call leaves the window. */
static int64_t reset_at(const struct window *window)
{
    for (int64_t second = window->newest_s - SLOTS + 1; second <= window->newest_s; second++)
        if (second >= 0 && window->slots[second % SLOTS] > 0)
            return second + SLOTS;
    return window->newest_s + DEFAULT_WINDOW_S;
}

struct rate_state limits_unlimited(const struct rate_policy *policy, int64_t now_us)
{
    int64_t limit = policy != NULL && policy->limit > 0 ? policy->limit : DEFAULT_LIMIT;
    return (struct rate_state){ .limit = limit, .remaining = limit, .reset_s = now_us / US_PER_S + DEFAULT_WINDOW_S };
}

bool limits_admit(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                  struct rate_state *ret_rate)
{
    *ret_rate = limits_unlimited(policy, now_us);
    if (policy->limit <= 0 || who->rate_multiplier <= 0)
        return true;
    double scaled = floor(policy->limit * who->rate_multiplier);
    int64_t limit = scaled < 1e15 ? (int64_t)scaled : (int64_t)1e15;

    int64_t now_s = now_us / US_PER_S;
    uint64_t hash = (uint64_t)who->key_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)policy->index * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash ^= hash >> 29;
    struct shard *shard = &limits->shards[hash % SHARDS];
    pthread_mutex_lock(&shard->lock);
    struct window *window = window_of(shard, hash, who->key_id, policy, now_s);
    advance(window, now_s);
    bool admitted = window->total < limit;
    if (admitted) {
        window->slots[window->newest_s % SLOTS]++;
        window->total++;
    }
    /* A limit that was lowered meanwhile may be below what has been counted. */
    int64_t remaining = window->total < limit ? limit - window->total : 0;
    *ret_rate = (struct rate_state){ .limit = limit, .remaining = remaining, .reset_s = reset_at(window) };
    pthread_mutex_unlock(&shard->lock);
    return admitted;
}
