/*
 * Simulation: a whole run in simulated time. It decides each step as the stepper
 * does (step.h), takes the opens and clicks of a scenario, and moves its clock to
 * the next time at which something happens. Nothing is read or written.
 *
 * No event of another trigger occurs, so a wait for an event ends with its
 * timeout. Results are allocated in the arena. Any thread.
 */
#pragma once

#include "engine/nodes/step.h"

/* An open or a click of the message of a node, so long after the message. */
struct scenario_event {
    const char *node_id;
    size_t list_index; /* of the node in the request, for errors */
    bool is_click;
    int64_t after_us;
};

/* The branch that a split takes. */
struct scenario_split {
    const char *node_id;
    const char *branch;
};

struct scenario {
    const struct scenario_event *events;
    size_t event_count;
    const struct scenario_split *splits;
    size_t split_count;
};

/* Checks that the nodes of a scenario have the type that it needs. Errors: INVALID_REQUEST (scenario.splits.0.nodeId). */
MUST_CHECK bool scenario_check(const struct graph *graph, const struct scenario *scenario, struct error *err) NONNULL(1, 2, 3);

/* What the conditions of one run may compare, in about a second or two. */
enum { SIMULATION_COMPARED_MAX = 1024 * 1024 * 1024 };

struct simulated_run {
    const struct graph *graph; /* with exactly one trigger */
    const struct scenario *scenario;
    const json_t *contact; /* NULL: none */
    const json_t *payload; /* NULL: none */
    int64_t seed;
    int64_t contact_id;
    int64_t started_us;
    const char *time_zone;
    int64_t max_compared; /* bytes that conditions may compare */
};

struct simulated_visit {
    const struct graph_node *node;
    const char *status; /* of a step of a run: completed, failed or skipped */
    const char *branch; /* NULL: none */
    const char *facts_json;
    const char *error; /* NULL: none */
    int64_t entered_us;
    int64_t left_us;
    bool is_mail;
};

struct simulation {
    struct simulated_visit *visits; /* in the order of time */
    size_t count;
    const char *error; /* the run failed; NULL: it completed */
    int64_t ended_us;
    int64_t compared; /* bytes that conditions have compared */
    bool is_cut;      /* they were too many, and the run failed for it */
};

void simulate(struct arena *arena, const struct simulated_run *run, struct simulation *ret_simulation) NONNULL(1, 2, 3);
