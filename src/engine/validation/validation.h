/*
 * Address validation: verdicts about the addresses of contacts, and background
 * validations of many contacts.
 *
 * A background validation is opened, gets its targets (contacts of the brand, in
 * any number of statements and transactions), and is started. A job then checks
 * the targets in rounds. Each round stores its verdicts, charges the checked
 * addresses and advances the cursor in one transaction, so that a crash repeats
 * a round and never charges one twice. An address that could not be checked
 * costs nothing. When the credits run out, the remaining targets stay unchecked.
 *
 * An import adds its targets with its own set-based SQL, in the transaction
 * that saves the contacts:
 *
 *     insert into validation_targets (brand_id, validation_id, contact_id)
 *     select :brand_id, :validation_id, c.id from … on conflict do nothing
 *
 * All functions run in the open transaction of the work. Results are allocated
 * in its arena. An address costs CREDITS_CONTACT_VALIDATION credits (plans.h).
 */
#pragma once

#include "engine/core/work.h"
#include "mail/address_verdict.h"
#include "sql/validation.h"

enum {
    VALIDATION_MAX_WAITED_FOR = 100, /* a caller waits for so many addresses; more are validated in the background */
    VALIDATION_ROUND_TARGETS = 300,  /* contacts per round, which keeps a round short */
};

/* ---- Credits ---- */

/* Fails with INSUFFICIENT_CREDITS when the remaining credits do not suffice for so many addresses. If their number is unknown,
 * pass 1, so that an empty balance fails early. */
MUST_CHECK bool validation_check_credits(const struct work *work, int64_t addresses, struct error *err) NONNULL(1, 3);

/* ---- Background validation ---- */

/* Opens a background validation. It does nothing until it is started. */
MUST_CHECK bool validation_open(const struct work *work, int64_t *ret_validation_id, struct error *err) NONNULL(1, 2, 3);

/* Adds the contacts with these merge keys as targets. Keys without a contact, and duplicates, are ignored. */
MUST_CHECK bool validation_add(const struct work *work, int64_t validation_id, struct text_list email_keys, struct error *err)
    NONNULL(1, 4);

/* Starts a validation, once. Returns the id of its job (wire form: work_id(work, ID_JOB, …)), or 0 when it has no target and is
 * deleted. Targets that are added later are not checked. `waiting_job_id`: a job whose caller waits, or 0. It is returned when the
 * targets are at most VALIDATION_MAX_WAITED_FOR, and then makes the only round itself. */
MUST_CHECK bool validation_start(const struct work *work, int64_t validation_id, int64_t waiting_job_id, int64_t *ret_job_id,
                                 struct error *err) NONNULL(1, 4, 5);

/* Deletes a validation that was not started, with its targets. */
MUST_CHECK bool validation_drop(const struct work *work, int64_t validation_id, struct error *err) NONNULL(1, 3);

/* ---- Verdicts ---- */

/* Stores the verdicts about addresses of contacts of this brand. Ignores addresses without a contact, and addresses that could
 * not be checked. */
MUST_CHECK bool validation_keep(const struct work *work, const struct address_list *list, struct error *err) NONNULL(1, 2, 3);

/* ---- Rounds of the job ---- */

struct validation_round {
    int64_t validation_id;
    int64_t job_id;      /* holds the credits of the round */
    bool is_open;        /* false: the validation does not exist or has ended */
    bool is_last;        /* no targets are left, or no credits */
    int64_t from_cursor; /* the round has the targets after this one … */
    int64_t to_cursor;   /* … up to and including this one */
    int64_t unpaid;      /* the next targets for which the credits do not suffice */
    struct address_list list;
};

/* Reads the next targets, limited by the remaining credits, which the job holds from here on. No transaction is open. */
MUST_CHECK bool validation_round_open(const struct work *work, int64_t job_id, int64_t validation_id,
                                      struct validation_round *ret_round, struct error *err) NONNULL(1, 4, 5);

/* Stores the verdicts of a round, charges it, releases its hold and advances the cursor. After the last round, `ret_totals` has the
 * counts of all targets; else it is NULL. */
MUST_CHECK bool validation_round_settle(const struct work *work, const struct validation_round *round,
                                        struct validation_totals_row **ret_totals, struct error *err) NONNULL(1, 2, 3, 4);

/* Stores the verdicts of the only round of a validation whose caller waits, and ends the validation. The settling job charges the
 * checked addresses and releases its hold. */
MUST_CHECK bool validation_settle_waited(const struct work *work, const struct validation_round *round, struct error *err)
    NONNULL(1, 2, 3);

/* Ends a validation that cannot continue, and releases the hold of its job. Its verdicts stay. */
MUST_CHECK bool validation_give_up(const struct work *work, int64_t job_id, int64_t validation_id, struct error *err) NONNULL(1, 4);
