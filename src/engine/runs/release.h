/*
 * Releasing runs: the held runs of an automation or a launch go on, and the failed
 * runs of a launch are taken up, in the open transaction of the work. A part is done
 * at once. When more are left, a job does the next part, and enqueues the one
 * behind it in the transaction of its own part. So no statement takes long, and a
 * process that ends loses one part at most, which is done again.
 */
#pragma once

#include "engine/core/work.h"

enum { RUNS_RELEASE_PART = 5000 };

struct runs_to_release {
    int64_t automation_id;
    int64_t audience_run_id; /* 0: of all launches that are not paused, and of none */
    int64_t after_id;        /* runs up to this one are done */
    bool takes_up;           /* the failed runs of the launch: each visits the node where it failed once more */
};

/* Releases the next runs in the order of their ids, wakes the steppers, and enqueues the rest. An automation that is paused again
 * keeps its held runs; its next resume begins anew. A launch that has ended keeps its failed runs. */
MUST_CHECK bool runs_release(const struct work *work, struct runs_to_release which, struct error *err) NONNULL(1, 3);
