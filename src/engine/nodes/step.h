/*
 * Steps: what a node of an automation does with a run. A step is a function of
 * its input alone. It reads no clock, no database and no random number, so that
 * a simulation, a replay of recorded steps and the stepper decide alike.
 *
 *     in: the node, the times, the facts          out: go on, wait, mail, end, fail
 *
 * Results are allocated in the arena of the caller. Any thread.
 */
#pragma once

#include "base/values.h"
#include "engine/nodes/graph.h"

enum { STEP_VISITS_MAX = 1000 }; /* a run that visits more nodes fails */

/* A message of the run, and what its recipient did. Only human activity counts. */
struct step_message {
    const char *node_id;
    int64_t id;                    /* automation_sends.id; in a simulation any number */
    struct opt_int handed_over_us; /* accepted by the relay; unset: not yet, or never */
    bool is_settled;               /* it has a result; without handed_over_us it was skipped, bounced or failed */
    struct opt_int opened_us;      /* the first open; a click implies one */
    struct opt_int clicked_us;     /* the first click */
};

/* An event of the run's address that was fired after the run began. */
struct step_event {
    int64_t trigger_id;
    int64_t at_us;
};

/* What is known about the recipient. Only what step_needs asks for is there. */
struct step_facts {
    const json_t *contact; /* email, firstName, lastName, userId, subscribed, customFields, …; NULL: deleted or not asked for */
    const json_t *payload; /* NULL: none */
    const struct step_message *messages;
    size_t message_count;
    const struct step_event *events; /* in the order of time */
    size_t event_count;
};

struct step_in {
    const struct graph *graph;
    const struct graph_node *node;
    int64_t seed;       /* of splits: a number of the automation */
    int64_t contact_id; /* of splits */
    int64_t entered_us; /* when the run reached the node */
    int64_t started_us; /* when the run began */
    int64_t now_us;
    const char *time_zone;     /* IANA name, of the brand */
    const char *forced_branch; /* of a test run; NULL: none */
    const struct step_facts *facts;
    int64_t
        *compared_bytes; /* counts what conditions compare, as a measure of time that does not depend on the machine; NULL: no */
};

enum step_kind {
    STEP_GO,   /* to the node behind `branch`, at once */
    STEP_WAIT, /* look again at due_us, or when the message or the event comes */
    STEP_MAIL, /* hand over the mail of this node, then go on */
    STEP_END,
    STEP_FAIL,
};

struct step_out {
    enum step_kind kind;
    const char *branch;     /* STEP_GO; NULL: the only way out */
    struct opt_int due_us;  /* STEP_WAIT; unset: only a message or an event ends the wait */
    int64_t waits_message;  /* STEP_WAIT: struct step_message.id; 0: none */
    int64_t waits_trigger;  /* STEP_WAIT: the trigger; 0: none */
    const char *reason;     /* STEP_FAIL, STEP_END by an exit condition */
    const char *facts_json; /* an object: what decided, without values of a payload; a replay decides alike from it */
};

/* What step_decide and step_exits must know at a node. A message needs more: the sender reads it. */
struct step_needs {
    bool contact;
    bool payload;
    bool messages;
    bool events;
};
struct step_needs step_needs(const struct graph_node *node) NONNULL(1) PURE;

/* Decides one step of the node. */
void step_decide(struct arena *arena, const struct step_in *in, struct step_out *ret_out) NONNULL(1, 2, 3);

/* Whether the config of the trigger ends a run now (`exit`); `ret_reason` says why. Checked before each step. */
bool step_exits(struct arena *arena, const struct step_in *in, const char **ret_reason) NONNULL(1, 2, 3);

/* The branch that a finished step took, by its recorded facts alone. NULL: the facts do not determine one. */
const char *step_replay(struct arena *arena, const struct graph_node *node, const json_t *facts) NONNULL(1, 2, 3);
