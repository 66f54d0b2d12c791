/*
 * Private to engine/runs: the runs of a step batch while they are stepped, and
 * the visits of nodes to write. Everything is in the arena of the batch.
 */
#pragma once

#include "engine/runs/step_batch.h"
#include "sql/run_steps.h"

enum {
    RUN_STEPS_MAX = 100,      /* of one run in one transaction; it goes on in the next one */
    BATCH_VISITS_MAX = 10000, /* of all runs in one transaction */
    BATCH_GRAPHS_MAX = 8,     /* versions in one transaction */
};

enum run_state {
    RUN_GOES,    /* its next step is to be decided */
    RUN_MAILS,   /* its node sends a message */
    RUN_WAITS,   /* until due_us, a message or an event */
    RUN_LEFT,    /* goes on in the next transaction, at its node */
    RUN_SKIPPED, /* nothing of it is written */
    RUN_COMPLETED,
    RUN_FAILED,
};

struct stepped_run {
    const struct step_take_row *row;
    const struct cached_graph *version;
    const struct graph_node *node;
    int64_t visit;
    int64_t entered_us;
    enum run_state state;
    struct opt_int due_us;   /* RUN_WAITS */
    int64_t waits_message;   /* RUN_WAITS; 0: none */
    int64_t waits_trigger;   /* RUN_WAITS; 0: none */
    const char *error;       /* RUN_FAILED */
    const char *facts_json;  /* RUN_MAILS: of the step */
    struct step_needs known; /* the facts that were read */
    struct step_facts facts;
    struct step_message *messages; /* of facts, with room for one more */
    int64_t knows_trigger;         /* the trigger whose events were read; 0: none */
    bool has_ended_event_wait;     /* in this transaction: the next wait for an event reads events in the next one */
};

/* One visit of a node, to write. */
struct visit_record {
    int64_t run_id;
    int64_t visit;
    const struct graph_node *node;
    const char *status;
    const char *branch; /* NULL: the only way out, or none */
    const char *facts_json;
    const char *error; /* NULL: none */
    int64_t entered_us;
    bool has_ended;
};

struct step_batch {
    struct work work; /* with the organization */
    struct graph_cache *cache;
    struct stepped_run *runs;
    size_t count;
    struct visit_record *records;
    size_t record_count;
    int64_t decide_until_us;          /* by clock_thread_processor_us; the first run is stepped once in any case */
    bool has_appended;                /* mail: further messages wait for the next transaction */
    struct int_list refused_launches; /* audience runs whose mail has no room in the allowance */
    struct int_list resumed_launches; /* those whose mail has room again */
};

/* Begins the visit of the node at which a taken run is. */
void stepped_run_begin(struct step_batch *batch, struct stepped_run *run) NONNULL(1, 2);

/* Decides steps until the run leaves RUN_GOES. */
void stepped_run_go(struct step_batch *batch, struct stepped_run *run) NONNULL(1, 2);

/* Ends the step of a run in RUN_MAILS with its message, and moves the run to the next node. */
void stepped_run_mailed(struct step_batch *batch, struct stepped_run *run, int64_t message_id) NONNULL(1, 2);

/* Ends the step of the run's node and the run, with the reason. */
void stepped_run_fail(struct step_batch *batch, struct stepped_run *run, const char *reason) NONNULL(1, 2, 3);

/* Lets the run wait at its node, with the reason. */
void stepped_run_put_off(struct step_batch *batch, struct stepped_run *run, int64_t due_us, const char *reason) NONNULL(1, 2, 4);

/* Reads what the steps of the runs must know (step_facts.c). */
MUST_CHECK bool step_facts_load(struct step_batch *batch, struct error *err) NONNULL(1, 2);

/* Whether the run begins to wait for an event whose earlier ones were not read. */
bool stepped_run_asks_events(const struct stepped_run *run) NONNULL(1) PURE;

/* Lets the run go on in the next transaction. */
void stepped_run_leave(struct step_batch *batch, struct stepped_run *run) NONNULL(1, 2);

/* Reads the events of the runs that ask for them. These runs go on, or are left when another transaction has their address. */
MUST_CHECK bool step_facts_load_events(struct step_batch *batch, struct error *err) NONNULL(1, 2);

/* Appends the messages of runs in RUN_MAILS (step_mail.c). */
MUST_CHECK bool step_mail_append(struct step_batch *batch, struct error *err) NONNULL(1, 2);

/* Writes the batch and commits it (step_write.c). */
MUST_CHECK bool step_write(struct step_batch *batch, struct db_tx *tx, struct error *err) NONNULL(1, 2, 3);
