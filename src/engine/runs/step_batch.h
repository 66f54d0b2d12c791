/*
 * Step batch: one transaction that steps due runs of a brand. It locks up to
 * STEP_BATCH_MAX due runs, reads what their nodes must know, steps each run until
 * it waits or ends, and writes everything together: visits, runs, mail, events
 * and counts. The row lock of a run is its lease, and the commit is the only
 * effect, so a process that is killed has done all of it or nothing.
 *
 * A run that cannot be stepped now stays due: another transaction has its event
 * or its message, it did very many steps already, the transaction has used its
 * processor time, or its next step needs facts that were not read. docs/modules/automations-running.md describes it all.
 *
 * Locks: automation_runs (those of others are left out), addresses and messages
 * (the same), then those of engine/delivery/carriers.h, audience_runs,
 * automation_counts, trigger_payloads.
 */
#pragma once

#include "engine/runs/graph_cache.h"

#include <stdatomic.h>

enum {
    STEP_BATCH_MAX = 500,
    STEP_LOCKED_MESSAGES_MAX = 1000,      /* of one transaction; a run has one for each of at most GRAPH_NODES_MAX nodes */
    STEP_BATCH_PROCESSOR_US = 200 * 1000, /* of the decisions of one transaction; the runs behind go on in the next one */
};

/* A position in the due runs of a brand, which are ordered by time and id. */
struct step_mark {
    int64_t due_us;
    int64_t id;
};

struct step_batch_result {
    size_t taken;
    size_t left;            /* of these: stay due */
    struct step_mark last;  /* every due run up to here was stepped, or another process has it */
    bool is_last;           /* there were no more due runs behind them */
    struct opt_int next_us; /* the earliest time at which one of the stepped runs is due again */
};

/* The runs of the transaction that is under way, in memory that outlives the process. */
struct step_slot {
    atomic_int count; /* written last; 0: no transaction */
    int64_t brand_id;
    int64_t run_ids[STEP_BATCH_MAX];
};

/* Which due runs a transaction takes. */
struct step_taking {
    struct step_mark mark;
    int limit;               /* at most STEP_BATCH_MAX */
    struct opt_int until_us; /* the latest due time; unset: the time of the work */
    struct int_list only;    /* without items: any run */
    struct int_list except;  /* runs that are left out */
    struct step_slot *slot;  /* names the runs until the caller empties it; NULL: none */
    int64_t processor_us;    /* 0: STEP_BATCH_PROCESSOR_US */
};

/* Steps due runs of the brand of the work, and commits. Crashes of the runs of `only` are forgotten with it. The organization of
 * the work need not be set. Work that fails leaves no trace. */
MUST_CHECK bool step_batch_run(const struct work *work, struct graph_cache *cache, const struct step_taking *taking,
                               struct step_batch_result *ret_result, struct error *err) NONNULL(1, 2, 3, 4);

/* Fails the first run of the taking, and commits: a run that no transaction can step must not stop the others. `ret_id`: the run;
 * 0: there is none. */
MUST_CHECK bool step_batch_fail_first(const struct work *work, const struct step_taking *taking, const char *reason,
                                      int64_t *ret_id, struct error *err) NONNULL(1, 2, 3, 4);
