/*
 * People: the contacts of a simulation, and the walk of one of them through a
 * graph. Private to engine/simulations. Rows belong to the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/nodes/simulate.h"
#include "sql/simulations.h"

struct people {
    struct simulation_contact_row *rows;
    size_t count;
};

/* The graph that people walk, and the random choices of its splits. */
struct walked_graph {
    const struct graph *graph;
    int64_t seed;
    const char *time_zone;
    int64_t max_compared; /* of the conditions of a walk (simulate.h) */
};

/* The first contacts of an audience. Errors: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool people_of_audience(const struct work *work, int64_t audience_id, size_t limit, struct people *ret_people,
                                   struct error *err) NONNULL(1, 4, 5);

/* The contacts whose events fired a trigger last, in the last 30 days. */
MUST_CHECK bool people_of_trigger(const struct work *work, int64_t trigger_id, size_t limit, struct people *ret_people,
                                  struct error *err) NONNULL(1, 4, 5);

/* Walks one contact from work->now_us. Nothing happens to their messages. Results belong to the arena. */
MUST_CHECK bool people_walk(const struct work *work, struct arena *arena, const struct walked_graph *walked,
                            const struct simulation_contact_row *row, struct simulation *ret_simulation, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);
