/*
 * Renderer turns: which request gets which of the places of a renderer pool. A
 * place is a process, which serves one request at a time.
 *
 * An organization has one place at most. Organizations that wait take turns, and
 * the requests of one organization are served in the order of their arrival. The
 * process of the first place is started at once, that of a further place when a
 * request has waited for half a second. Times are of the monotonic clock, in
 * microseconds. Not thread-safe: the pool locks. Private to src/render.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum { RENDERER_PLACES = 2, RENDERER_PATIENCE_MS = 500 /* a start of a process takes about as long */ };

struct renderer_place {
    bool is_busy;
    bool was_used;           /* so that its process runs, or ran until it died */
    int64_t organization_id; /* whose request uses it, while it is busy */
    int64_t turn;            /* of this request */
    int64_t used_at_us;      /* the end of its last request */
};

/* A request that waits for a place. */
struct renderer_waiter {
    struct renderer_waiter *next;
    int64_t organization_id;
    int64_t turn;
    int64_t since_us;
};

/* Zeroed: nothing runs, nobody waits. */
struct renderer_turns {
    struct renderer_place places[RENDERER_PLACES];
    struct renderer_waiter *first; /* in the order of their arrival */
    int64_t turn;                  /* the highest one of the requests that got a place */
};

/* Adds a request behind the others. The waiter belongs to the caller, who removes it. */
void renderer_turns_add(struct renderer_turns *turns, struct renderer_waiter *waiter, int64_t organization_id, int64_t now_us)
    NONNULL(1, 2);
void renderer_turns_remove(struct renderer_turns *turns, const struct renderer_waiter *waiter) NONNULL(1, 2);

/* Takes a place for a waiter; NULL: it is not its turn, or no place is free. It still has to be removed. */
struct renderer_place *renderer_turns_take(struct renderer_turns *turns, const struct renderer_waiter *waiter, int64_t now_us)
    NONNULL(1, 2);

/* Takes a place whose process has been idle for this time, to end it. */
MUST_CHECK bool renderer_turns_take_idle(struct renderer_place *place, int64_t idle_us, int64_t now_us) NONNULL(1);

/* Ends the use of a place. */
void renderer_turns_release(struct renderer_place *place, int64_t now_us) NONNULL(1);

/* The time at which a waiter may start a further process. */
int64_t renderer_turns_patient_until(const struct renderer_waiter *waiter) NONNULL(1);
