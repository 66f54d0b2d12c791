/*
 * Simulation of an audience: the latest version of an automation, walked for some
 * contacts in simulated time. Nothing is written and nothing is sent. There is no
 * payload, nobody opens or clicks, and no event comes.
 *
 * Results are allocated in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/simulations/branch_counts.h"

enum { SIMULATED_CONTACTS_MAX = 100 };

struct simulated_contact {
    const char *email;
    struct simulation simulation;
};

struct audience_simulation {
    int64_t version_id;
    const struct simulated_contact *contacts;
    size_t contact_count;
    struct branch_counts branches;
};

/* Simulates the first contacts of an audience, at most `limit`. The runs begin at work->now_us.
 * Errors: AUTOMATION_NOT_FOUND, AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool audience_simulate(const struct work *work, int64_t automation_id, int64_t audience_id, size_t limit,
                                  struct audience_simulation *ret_simulation, struct error *err) NONNULL(1, 5, 6);

/* Writes the path and the times of each contact, the branches, and a warning for each unused one. */
void audience_simulation_write(const struct work *work, const struct audience_simulation *simulation, struct json_writer *json)
    NONNULL(1, 2, 3);
