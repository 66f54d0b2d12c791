#include "render/renderer_turns.h"

#include "base/clock.h"

#include <stddef.h>

enum { NOBODY = -1 };

static const struct renderer_place *place_of(const struct renderer_turns *turns, int64_t organization_id)
{
    for (int i = 0; i < RENDERER_PLACES; i++)
        if (turns->places[i].is_busy && turns->places[i].organization_id == organization_id)
            return &turns->places[i];
    return NULL;
}

/* The turn behind all requests of the organization, and none before the turns that were taken already. So the second request of one
 * organization comes behind the first one of another, which arrived later. */
static int64_t next_turn(const struct renderer_turns *turns, int64_t organization_id)
{
    int64_t turn = turns->turn;
    const struct renderer_place *place = place_of(turns, organization_id);
    if (place != NULL && place->turn >= turn)
        turn = place->turn + 1;
    for (const struct renderer_waiter *waiter = turns->first; waiter != NULL; waiter = waiter->next)
        if (waiter->organization_id == organization_id && waiter->turn >= turn)
            turn = waiter->turn + 1;
    return turn;
}

void renderer_turns_add(struct renderer_turns *turns, struct renderer_waiter *waiter, int64_t organization_id, int64_t now_us)
{
    *waiter = (struct renderer_waiter){ .organization_id = organization_id,
                                        .turn = next_turn(turns, organization_id),
                                        .since_us = now_us };
    struct renderer_waiter **link = &turns->first;
    while (*link != NULL)
        link = &(*link)->next;
    *link = waiter;
}

void renderer_turns_remove(struct renderer_turns *turns, const struct renderer_waiter *waiter)
{
    struct renderer_waiter **link = &turns->first;
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
}

/* The waiter whose turn it is; NULL: the organizations of all of them have a place. */
static const struct renderer_waiter *next_waiter(const struct renderer_turns *turns)
{
    const struct renderer_waiter *next = NULL;
    for (const struct renderer_waiter *waiter = turns->first; waiter != NULL; waiter = waiter->next)
        if (place_of(turns, waiter->organization_id) == NULL && (next == NULL || waiter->turn < next->turn))
            next = waiter;
    return next;
}

int64_t renderer_turns_patient_until(const struct renderer_waiter *waiter)
{
    return waiter->since_us + RENDERER_PATIENCE_MS * US_PER_MS;
}

/* The first free place whose process runs or may be started. */
static struct renderer_place *free_place(struct renderer_turns *turns, bool may_start)
{
    for (int i = 0; i < RENDERER_PLACES; i++) {
        struct renderer_place *place = &turns->places[i];
        if (!place->is_busy && (i == 0 || place->was_used || may_start))
            return place;
    }
    return NULL;
}

struct renderer_place *renderer_turns_take(struct renderer_turns *turns, const struct renderer_waiter *waiter, int64_t now_us)
{
    if (next_waiter(turns) != waiter)
        return NULL;
    struct renderer_place *place = free_place(turns, now_us >= renderer_turns_patient_until(waiter));
    if (place == NULL)
        return NULL;
    place->is_busy = true;
    place->was_used = true;
    place->organization_id = waiter->organization_id;
    place->turn = waiter->turn;
    if (waiter->turn > turns->turn)
        turns->turn = waiter->turn;
    return place;
}

bool renderer_turns_take_idle(struct renderer_place *place, int64_t idle_us, int64_t now_us)
{
    if (place->is_busy || !place->was_used || now_us - place->used_at_us < idle_us)
        return false;
    place->is_busy = true;
    place->was_used = false;
    place->organization_id = NOBODY;
    return true;
}

void renderer_turns_release(struct renderer_place *place, int64_t now_us)
{
    place->is_busy = false;
    place->used_at_us = now_us;
}
