/*
 * Step batch: one transaction that steps due runs of a brand. It locks up to
 * STEP_BATCH_MAX due runs, reads what their nodes must know, steps each run until
 * it waits or ends, and writes everything together: visits, runs, mail, events
 * and counts. The row lock of a run is its lease, and the commit is the only
 * effect, so a process that is killed has done all of it or nothing.
 *
 * A run that cannot be stepped now stays due: another transaction has its event
 * or its message, it did very many steps already, or its next step needs facts
 * that were not read. docs/modules/automations-running.md describes it all.
 *
 * Locks: automation_runs (those of others are left out), addresses and messages
 * (the same), then those of engine/delivery/carriers.h, audience_runs,
 * automation_counts, trigger_payloads.
 */
#pragma once

#include "engine/runs/graph_cache.h"

enum { STEP_BATCH_MAX = 500 };

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

/* Steps up to `limit` runs of the brand of the work that are due behind the mark, and commits. The organization of the work need
 * not be set. Work that fails leaves no trace. */
MUST_CHECK bool step_batch_run(const struct work *work, struct graph_cache *cache, struct step_mark mark, int limit,
                               struct step_batch_result *ret_result, struct error *err) NONNULL(1, 2, 5, 6);

/* Fails the first due run behind the mark, and commits: a run that no transaction can step must not stop the others. `ret_id`: the
 * run; 0: there is none. */
MUST_CHECK bool step_batch_fail_first(const struct work *work, struct step_mark mark, const char *reason, int64_t *ret_id,
                                      struct error *err) NONNULL(1, 3, 4, 5);
