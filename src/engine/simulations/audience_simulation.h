/*
 * Simulation of an audience: the latest version of an automation, walked for some
 * contacts in simulated time. Nothing is written and nothing is sent. There is no
 * payload, nobody opens or clicks, and no event comes.
 *
 * Results are allocated in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/nodes/simulate.h"

enum { SIMULATED_CONTACTS_MAX = 100 };

/* How many contacts left a node by a branch. A contact that comes again counts again. */
struct branch_count {
    const struct graph_node *node;
    const char *branch; /* NULL: the only way out, or the end */
    int64_t count;
    bool may_differ; /* people decide it: it is by engagement or by an event */
};

struct simulated_contact {
    const char *email;
    struct simulation simulation;
};

struct audience_simulation {
    int64_t version_id;
    const struct simulated_contact *contacts;
    size_t contact_count;
    const struct branch_count *branches; /* by node, in the order of the graph */
    size_t branch_count;
};

/* Simulates the first contacts of an audience, at most `limit`. The runs begin at work->now_us.
 * Errors: AUTOMATION_NOT_FOUND, AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool audience_simulate(const struct work *work, int64_t automation_id, int64_t audience_id, size_t limit,
                                  struct audience_simulation *ret_simulation, struct error *err) NONNULL(1, 5, 6);

/* A branch that no contact took although the audience alone decides it. */
bool branch_is_unused(const struct audience_simulation *simulation, const struct branch_count *branch) NONNULL(1, 2) PURE;

/* Writes the path and the times of each contact, the branches, and a warning for each unused one. */
void audience_simulation_write(const struct work *work, const struct audience_simulation *simulation, struct json_writer *json)
    NONNULL(1, 2, 3);
