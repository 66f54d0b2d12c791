/*
 * Suspect runs: runs that a stepper had in its transaction when its process
 * ended. Each end counts (step_crashes). Suspect runs are stepped apart from the
 * others, in transactions of half the size of the last one, until the run that
 * ends the process is alone. A run that was alone at SUSPECT_CRASHES_MAX ends
 * fails. A run that is stepped is suspect no longer.
 *
 * The thread of the stepper calls these functions.
 */
#pragma once

#include "engine/runs/step_batch.h"

enum { SUSPECT_CRASHES_MAX = 3 };

struct suspect_runs {
    struct int_list all;       /* due ones, which ordinary transactions leave out */
    struct step_taking taking; /* the next transaction of suspect runs */
    bool must_fail;            /* it has one run, which fails */
};

/* Counts the end of the processes whose slot files were left. */
MUST_CHECK bool suspect_runs_count(const struct work *work, const char *data_dir, int64_t database, struct error *err)
    NONNULL(1, 2, 4);

/* Reads the due suspect runs of the brand of the work. `all` is empty when there is none. */
MUST_CHECK bool suspect_runs_find(const struct work *work, struct suspect_runs *ret_suspects, struct error *err) NONNULL(1, 2, 3);
