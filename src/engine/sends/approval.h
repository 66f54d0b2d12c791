/*
 * Approvals: an organization can demand that an administrator approves a campaign
 * send before it begins. Such a send is inserted with the approval
 * state pending and without a job, so nothing can deliver it. The approval
 * enqueues its job, in the same transaction. A rejected send is canceled.
 *
 * The decision is made under the lock of the send's row. Of two administrators
 * who decide at once the second sees the first decision: the same one gets the
 * same answer, the other one is refused. An approval after the scheduled time
 * begins the send at once. The audience and the allowance of the plan are judged
 * when the send begins, as for a scheduled send.
 *
 * Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/sends/send_request.h"

enum { APPROVAL_NOTE_MAX_CHARS = 500 };

/* Decides whether a checked request waits for an administrator. `above` is the setting of the organization; unset: approvals are
 * off. `count` is the number of recipients; unset: it is known only at the scheduled time, and the send waits. An inline list
 * counts with all its addresses, because a suppression may be lifted before the send begins. */
bool approval_is_needed(struct opt_int above, const struct checked_request *checked, struct opt_int count) NONNULL(2);

struct approval_decision {
    bool approves;
    const char *note;   /* NULL: none */
    int64_t session_id; /* 0: the operator */
};

/* Approves or rejects a send of the brand in the open transaction, and returns its row. The same decision again changes nothing.
 * Errors: INVALID_REQUEST (note), SEND_NOT_FOUND, SEND_NOT_PENDING_APPROVAL. */
MUST_CHECK bool send_decide(const struct work *work, int64_t send_id, const struct approval_decision *decision,
                            struct send_row **ret_send, struct error *err) NONNULL(1, 3, 4, 5);

/* Finds the brand of a send of the organization. Errors: SEND_NOT_FOUND. */
MUST_CHECK bool send_find_brand(const struct work *work, int64_t send_id, int64_t *ret_brand_id, struct error *err)
    NONNULL(1, 3, 4);

/* Sets the number of recipients above which sends wait for an approval; unset: none waits. Sends that wait go on waiting. */
MUST_CHECK bool approval_set(const struct work *work, struct opt_int above, struct error *err) NONNULL(1, 3);
