#include "api/dispatch/activity.h"

#include "base/clock.h"
#include "base/panic.h"

#include <pthread.h>
#include <stdlib.h>

enum { QUIET_MS = 1000 };
static const int64_t look_every_us = INT64_C(500) * US_PER_MS;
static const int64_t tell_every_us = US_PER_S;
static const int64_t delivery_us = INT64_C(5) * US_PER_S;

struct last_sign {
    int64_t organization_id; /* 0: none yet */
    int64_t at_us;           /* monotonic */
};

/* The last sign, and the last sign of any other organization: one of the two belongs to another organization than a given one, and
 * no other organization has had a later sign. */
struct last_signs {
    struct last_sign latest;
    struct last_sign before;
};

struct activity {
    pthread_mutex_t lock;
    int64_t quiet_us;
    int64_t looked_at_us; /* monotonic; 0: never */
    int64_t told_at_us;   /* the same */
    struct last_signs calls;
    struct last_signs deliveries;
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

static void note(struct activity *activity, struct last_signs *signs, int64_t organization_id)
{
    if (organization_id <= 0)
        return;
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&activity->lock);
    if (signs->latest.organization_id != organization_id)
        signs->before = signs->latest;
    signs->latest = (struct last_sign){ organization_id, now_us };
    pthread_mutex_unlock(&activity->lock);
}

void activity_note(struct activity *activity, int64_t organization_id)
{
    note(activity, &activity->calls, organization_id);
}

void activity_note_delivery(struct activity *activity, int64_t organization_id)
{
    note(activity, &activity->deliveries, organization_id);
}

/* Under the lock. Notes the time when it is due. */
static bool is_due(int64_t *last_us, int64_t every_us, int64_t now_us)
{
    bool due = *last_us == 0 || now_us - *last_us >= every_us;
    if (due)
        *last_us = now_us;
    return due;
}

bool activity_must_look(struct activity *activity)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&activity->lock);
    bool due = is_due(&activity->looked_at_us, look_every_us, now_us);
    pthread_mutex_unlock(&activity->lock);
    return due;
}

size_t activity_take_latest(struct activity *activity, int64_t ret_organization_ids[ACTIVITY_ORGANIZATIONS])
{
    int64_t now_us = clock_monotonic_us();
    size_t count = 0;
    pthread_mutex_lock(&activity->lock);
    const struct last_sign signs[ACTIVITY_ORGANIZATIONS] = { activity->calls.latest, activity->calls.before };
    if (signs[0].organization_id != 0 && is_due(&activity->told_at_us, tell_every_us, now_us))
        for (size_t i = 0; i < ACTIVITY_ORGANIZATIONS; i++)
            if (signs[i].organization_id != 0 && now_us - signs[i].at_us < activity->quiet_us)
                ret_organization_ids[count++] = signs[i].organization_id;
    pthread_mutex_unlock(&activity->lock);
    return count;
}

static bool has_other(const struct last_signs *signs, int64_t organization_id, int64_t since_us)
{
    const struct last_sign *other = signs->latest.organization_id == organization_id ? &signs->before : &signs->latest;
    return other->organization_id != 0 && other->at_us > since_us;
}

bool activity_has_others(struct activity *activity, int64_t organization_id)
{
    int64_t now_us = clock_monotonic_us();
    pthread_mutex_lock(&activity->lock);
    bool found = has_other(&activity->calls, organization_id, now_us - activity->quiet_us) ||
                 has_other(&activity->deliveries, organization_id, now_us - delivery_us);
    pthread_mutex_unlock(&activity->lock);
    return found;
}
