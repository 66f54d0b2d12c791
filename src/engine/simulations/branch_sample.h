/*
 * Branch sample: the branches that a sample of contacts takes through a graph that
 * is about to be published. The contacts are those of the audience, or those whose
 * events fired the trigger in the last 30 days.
 *
 * A sample never fails a publication: it runs in a savepoint with a time limit for
 * each statement, and a sample that cannot be taken is reported as such.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/simulations/branch_counts.h"

enum { BRANCH_SAMPLE_MAX = 100 };

struct branch_sample_of {
    const struct graph *graph; /* without issues and blockers */
    int64_t seed;              /* of its splits */
    int64_t audience_id;       /* 0: none */
    int64_t trigger_id;        /* read when there is no audience; 0: none */
};

struct branch_sample {
    struct branch_counts branches;
    size_t contact_count; /* walked contacts; 0: there are none */
    bool is_refused;      /* the contacts could not be read: too slow, or a filter is faulty */
};

/* Takes a sample in the open transaction of the work. Errors: of a lost connection only. */
MUST_CHECK bool branch_sample_take(const struct work *work, const struct branch_sample_of *of, struct branch_sample *ret_sample,
                                   struct error *err) NONNULL(1, 2, 3, 4);
