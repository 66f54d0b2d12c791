/*
 * Validation: what is known of the addresses of contacts, and the background
 * validations that find it out for many.
 *
 * A background validation is opened, given its targets (contacts of the brand,
 * in as many statements and transactions as its maker likes), and started: a
 * job then looks at them in rounds. Each round keeps its verdicts, charges what
 * it checked and moves on in one transaction, so that a crash repeats a round
 * and never charges one twice. An address that could not be checked costs
 * nothing. What is left when the credits run out stays unchecked.
 *
 * An import adds its targets with its own set-based SQL, in the transaction
 * that saves the contacts:
 *
 *     insert into validation_targets (brand_id, validation_id, contact_id)
 *     select :brand_id, :validation_id, c.id from … on conflict do nothing
 *
 * All functions work in the open transaction of the work; results live in its
 * arena. `credits` of an address: CREDITS_CONTACT_VALIDATION of plans.h.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/address_verdict.h"
#include "sql/validation.h"

enum {
    VALIDATION_MAX_WAITED_FOR = 100, /* addresses that a caller waits for; more are validated in the background */
    VALIDATION_ROUND_TARGETS = 300,  /* contacts of one round, which must be over soon */
};

/* ---- Before ---- */

/* Fails with INSUFFICIENT_CREDITS when the plan has not the credits for so many addresses. Where their number is not known
 * yet, ask for one: an empty balance is refused up front. */
MUST_CHECK bool validation_check_credits(const struct work *work, int64_t addresses, struct error *err) NONNULL(1, 3);

/* ---- In the background ---- */

/* Opens a background validation. Nothing happens until it is started. */
MUST_CHECK bool validation_open(const struct work *work, int64_t *ret_validation_id, struct error *err) NONNULL(1, 2, 3);

/* Adds the contacts with these merge keys as targets; keys that no contact has, and repetitions, are passed over. */
MUST_CHECK bool validation_add(const struct work *work, int64_t validation_id, struct text_list email_keys, struct error *err)
    NONNULL(1, 4);

/* Starts it: gives the id of the job that will do it (its wire form is work_id(work, ID_JOB, …)), or 0 when it has no target
 * and is forgotten. Once; targets that are added later are not looked at. */
MUST_CHECK bool validation_start(const struct work *work, int64_t validation_id, int64_t *ret_job_id, struct error *err)
    NONNULL(1, 3, 4);

/* Forgets a validation that was not started, with its targets. */
MUST_CHECK bool validation_drop(const struct work *work, int64_t validation_id, struct error *err) NONNULL(1, 3);

/* ---- Verdicts ---- */

/* Keeps what was found out about the addresses of contacts of this brand. Addresses that are no contact's, and those that
 * could not be checked, leave nothing. */
MUST_CHECK bool validation_keep(const struct work *work, const struct address_list *list, struct error *err) NONNULL(1, 2, 3);

/* ---- A round, for the job ---- */

struct validation_round {
    int64_t validation_id;
    bool is_open;        /* false: the validation is gone or has ended */
    bool is_last;        /* nothing is left, or nothing that could be paid */
    int64_t from_cursor; /* the targets of this round are behind it … */
    int64_t to_cursor;   /* … up to here */
    struct address_list list;
};

/* Reads the next targets, as many as there are credits for. */
MUST_CHECK bool validation_round_open(const struct work *work, int64_t validation_id, struct validation_round *ret_round,
                                      struct error *err) NONNULL(1, 3, 4);

/* Keeps the verdicts of a round whose list was judged, charges it and moves on. When it was the last, `ret_totals` tells what
 * became of all targets; else it is NULL. */
MUST_CHECK bool validation_round_settle(const struct work *work, const struct validation_round *round,
                                        struct validation_totals_row **ret_totals, struct error *err) NONNULL(1, 2, 3, 4);

/* Ends a validation that cannot go on; what was found out stays. */
MUST_CHECK bool validation_give_up(const struct work *work, int64_t validation_id, struct error *err) NONNULL(1, 3);
