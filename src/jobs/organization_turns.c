#include "jobs/organization_turns.h"

#include "base/clock.h"
#include "base/panic.h"
#include "sql/activity.h"

#include <pthread.h>
#include <stdlib.h>

enum { ASK_AGAIN_MS = 200 }; /* whether the others are still active */

/* An organization that has turns. Few have some at a time: at most one for each thread that works. */
struct turns_of {
    int64_t organization_id;
    int count;
    struct turns_of *next;
};

struct organization_turns {
    pthread_mutex_t lock; /* protects the list */
    pthread_cond_t ended;
    struct turns_of *first;
};

struct organization_turns *organization_turns_new(void)
{
    struct organization_turns *turns = calloc(1, sizeof(*turns));
    if (turns == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->ended, NULL);
    return turns;
}

void organization_turns_free(struct organization_turns *turns)
{
    if (turns == NULL)
        return;
    pthread_cond_destroy(&turns->ended);
    pthread_mutex_destroy(&turns->lock);
    free(turns);
}

static bool has_others(const struct work *work, bool *ret_found, struct error *err)
{
    struct active_organizations_others_params params = { .organization_id = work->organization_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t calls_at = db_batch_add(batch, &active_organizations_others_statement, &params);
    size_t deliveries_at = db_batch_add(batch, &delivering_organizations_statement, NULL);
    if (!db_batch_run(batch, err))
        return false;
    const struct active_organizations_others_row *calls = db_batch_rows(batch, calls_at)->rows;
    const struct db_rows *deliveries = db_batch_rows(batch, deliveries_at);
    const struct delivering_organizations_row *delivering = deliveries->rows;
    *ret_found = calls->found;
    for (size_t i = 0; i < deliveries->count; i++)
        *ret_found |= delivering[i].organization_id != work->organization_id;
    return true;
}

/* ---- Under the lock ---- */

static struct turns_of **find(struct organization_turns *turns, int64_t organization_id)
{
    struct turns_of **link = &turns->first;
    while (*link != NULL && (*link)->organization_id != organization_id)
        link = &(*link)->next;
    return link;
}

static void take(struct organization_turns *turns, int64_t organization_id)
{
    struct turns_of **link = find(turns, organization_id);
    if (*link == NULL) {
        *link = calloc(1, sizeof(**link));
        if (*link == NULL)
            panic(PANIC_NO_MEMORY);
        (*link)->organization_id = organization_id;
    }
    (*link)->count++;
}

/* Takes a turn. Beside others it waits for one, but not long. */
static bool take_or_wait(struct organization_turns *turns, int64_t organization_id, bool is_alone)
{
    struct timespec until = clock_deadline(ASK_AGAIN_MS);
    int waited = 0;
    while (!is_alone && waited == 0 && *find(turns, organization_id) != NULL)
        waited = pthread_cond_clockwait(&turns->ended, &turns->lock, CLOCK_MONOTONIC, &until);
    if (waited == 0)
        take(turns, organization_id);
    return waited == 0;
}

/* ---- The interface ---- */

bool organization_turns_begin(struct organization_turns *turns, const struct work *work, struct error *err)
{
    for (;;) {
        bool others;
        if (!has_others(work, &others, err))
            return false;
        pthread_mutex_lock(&turns->lock);
        bool taken = take_or_wait(turns, work->organization_id, !others);
        pthread_mutex_unlock(&turns->lock);
        if (taken)
            return true;
    }
}

void organization_turns_end(struct organization_turns *turns, int64_t organization_id)
{
    pthread_mutex_lock(&turns->lock);
    struct turns_of **link = find(turns, organization_id);
    struct turns_of *found = *link;
    if (found != NULL && --found->count == 0) {
        *link = found->next;
        free(found);
    }
    pthread_cond_broadcast(&turns->ended);
    pthread_mutex_unlock(&turns->lock);
}
