#include "api/limits/limits.h"

#include "base/clock.h"
#include "base/panic.h"

#include <math.h>
#include <stdlib.h>

enum { DEFAULT_LIMIT = 100 };

struct limits {
    struct limit_store *store;
    const char *installation;
};

struct limits *limits_new(struct limit_store *store, const char *installation)
{
    struct limits *limits = calloc(1, sizeof(*limits));
    if (limits == NULL)
        panic(PANIC_NO_MEMORY);
    limits->store = store != NULL ? store : limit_memory_new();
    limits->installation = installation;
    return limits;
}

void limits_free(struct limits *limits)
{
    if (limits == NULL)
        return;
    limits->store->operations->close(limits->store);
    free(limits);
}

bool limits_may_wait(const struct limits *limits)
{
    return limits->store->operations->may_wait;
}

bool limits_are_counted(const struct limits *limits)
{
    return limits->store->operations->answers(limits->store);
}

static struct rate_state full_window(int64_t limit, int64_t now_us)
{
    return (struct rate_state){ .limit = limit, .remaining = limit, .reset_s = now_us / US_PER_S + LIMIT_WINDOW_S };
}

struct rate_state limits_unlimited(const struct rate_policy *policy, int64_t now_us)
{
    return full_window(policy != NULL && policy->limit > 0 ? policy->limit : DEFAULT_LIMIT, now_us);
}

/* Asks the store about the window; `counts` says whether this call is counted in it. */
static bool ask_window(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                       bool counts, struct rate_state *ret_rate)
{
    *ret_rate = limits_unlimited(policy, now_us);
    if (policy->limit <= 0 || who->rate_multiplier <= 0)
        return true;
    double scaled = floor(policy->limit * who->rate_multiplier);
    int64_t limit = scaled < 1e15 ? (int64_t)scaled : (int64_t)1e15;
    struct limit_window window = {
        .installation = limits->installation,
        .kind = who->kind,
        .id = who->kind == CREDENTIAL_SESSION ? who->session_id : who->key_id,
        .policy = policy,
    };
    struct limit_count count;
    /* A store admits nothing to a window without room, so it does not count this call. */
    if (!limits->store->operations->count(limits->store, &window, counts ? limit : 0, now_us, &count)) {
        *ret_rate = full_window(limit, now_us);
        return true;
    }
    int64_t wait_s = count.reset_s - count.now_s;
    /* A lowered limit may be below the calls already counted. */
    *ret_rate = (struct rate_state){
        .limit = limit,
        .remaining = count.counted < limit ? limit - count.counted : 0,
        .reset_s = count.reset_s,
        .wait_s = wait_s > 0 ? wait_s : 1,
    };
    return counts ? count.admitted : count.counted < limit;
}

bool limits_admit(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                  struct rate_state *ret_rate)
{
    return ask_window(limits, who, policy, now_us, true, ret_rate);
}

bool limits_have_room(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                      struct rate_state *ret_rate)
{
    return ask_window(limits, who, policy, now_us, false, ret_rate);
}
