#include "api/dispatch/activity.h"

#include "base/clock.h"
#include "base/panic.h"

#include <pthread.h>
#include <stdlib.h>

enum { QUIET_MS = 1000 };

struct last_call {
    int64_t organization_id; /* 0: none yet */
    int64_t at_us;           /* monotonic */
};

/* The last call, and the last call of any other organization: one of the two belongs to another organization than a given one, and
 * no other organization has had a later call. */
struct activity {
    pthread_mutex_t lock;
    int64_t quiet_us;
    struct last_call latest;
    struct last_call before;
};

struct activity *activity_new(int64_t quiet_ms)
{
    struct activity *activity = calloc(1, sizeof(*activity));
    if (activity == NULL)
        panic(PANIC_NO_MEMORY);
    activity->quiet_us = (quiet_ms > 0 ? quiet_ms : QUIET_MS) * US_PER_MS;
    pthread_mutex_init(&activity->lock, NULL);
    return activity;
}

void activity_free(struct activity *activity)
{
    if (activity == NULL)
        return;
    pthread_mutex_destroy(&activity->lock);
    free(activity);
}

void activity_note(struct activity *activity, int64_t organization_id)
{
    if (organization_id <= 0)
        return;
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&activity->lock);
    if (activity->latest.organization_id != organization_id)
        activity->before = activity->latest;
    activity->latest = (struct last_call){ organization_id, now_us };
    pthread_mutex_unlock(&activity->lock);
}

bool activity_has_others(struct activity *activity, int64_t organization_id)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&activity->lock);
    bool is_own = activity->latest.organization_id == organization_id;
    struct last_call other = is_own ? activity->before : activity->latest;
    bool found = other.organization_id != 0 && now_us - other.at_us < activity->quiet_us;
    pthread_mutex_unlock(&activity->lock);
    return found;
}
