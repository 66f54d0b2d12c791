/*
 * Launch target: the eligible contacts of a launch, counted, or made into runs.
 * The statements are generated, because they contain the filters of the audience.
 * Private to the runs module.
 */
#pragma once

#include "engine/core/work.h"

struct launch_target {
    int64_t audience_id;
    bool is_transactional; /* contacts that are not subscribed are eligible, too */
    bool is_accepted;      /* the launch is accepted already, so a deleted audience is used, too */
};

/* Counts the eligible contacts. Errors: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool launch_target_count(const struct work *work, struct launch_target target, int64_t *ret_count, struct error *err)
    NONNULL(1, 3, 4);

/* When which share of the recipients is due. Shares grow, the last one is `whole`. */
struct launch_tranches {
    struct int_list shares;
    struct int_list times_us;
    int64_t whole;
    const char *order_key; /* hexadecimal: the order is that of the keyed hashes of addresses; NULL: of the addresses */
};

/* Inserts the runs of all eligible contacts with their events, and their number into the launch, which is running then, or
 * completed without recipients. Errors: as above. */
MUST_CHECK bool launch_target_start(const struct work *work, int64_t audience_run_id, struct launch_target target,
                                    const char *trigger_node, const struct launch_tranches *tranches, struct error *err)
    NONNULL(1, 4, 5, 6);
