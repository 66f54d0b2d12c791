/*
 * Ledger of calls: audit log, credits and idempotency keys. A committed call
 * writes its audit row, its charge, its stored response (for a replay with the
 * same idempotency key) and its job in the transaction of its work.
 */
#pragma once

#include "engine/core/job_payload.h"
#include "engine/core/work.h"

/* The data of a call that the ledger writes. A job stores it, so that the job can settle the call. */
struct ledger_entry {
    const char *operation;
    const char *transport;
    const char *client; /* NULL when unknown */
    const char *request_id;
    int64_t key_id;                       /* 0: not an API key */
    int64_t session_id;                   /* 0: not a session; both 0: the local owner or the operator */
    const unsigned char *idempotency_key; /* SHA-256 of the caller's key; NULL: none */
    const unsigned char *fingerprint;     /* SHA-256 of operation, brand, path and canonical body */
    int64_t credits;                      /* charged on success */
    int64_t hold;                         /* for ledger_enqueue: the credits that the job holds until it ends */
    int64_t job_id;                       /* the job that settles the call and releases its hold; 0: none */
    int64_t credit_cost;                  /* X-Credit-Cost of the response; -1: no header */
    bool writes_audit;
    bool releases_key; /* the response is not stored, and the key may be used for another call. Not stored with a job */
    const char *const *subjects;
    size_t subject_count;
    const char *engine; /* the model that was asked; NULL: none. Not stored with a job */
    struct opt_int tokens_in;
    struct opt_int tokens_out;
};

/* ---- Idempotency ---- */

enum ledger_claim { LEDGER_FRESH, LEDGER_REPLAY, LEDGER_JOIN };

struct ledger_replay {
    int status;
    const char *body;
    int64_t credit_cost;
    int64_t job_id; /* LEDGER_JOIN: the job of the first call */
};

/* Claims the key in the open transaction. Waits up to 5 s for another transaction's claim.
 * Errors: IDEMPOTENCY_CONFLICT, IDEMPOTENCY_IN_PROGRESS. */
MUST_CHECK bool ledger_claim(const struct work *work, const struct ledger_entry *entry, enum ledger_claim *ret_claim,
                             struct ledger_replay *ret_replay, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Credits ---- */

/* The remaining credits of this period, without those that jobs hold; unset when the plan is unlimited. */
MUST_CHECK bool ledger_credits_left(const struct work *work, struct opt_int *ret_left, struct error *err) NONNULL(1, 2, 3);

/* Fails with INSUFFICIENT_CREDITS when fewer than `credits` remain. In a transaction, no other call of the organization passes
 * this check before the end of the transaction, so a charge or a hold of `credits` in it cannot exceed the limit. */
MUST_CHECK bool ledger_check_credits(const struct work *work, int64_t credits, struct error *err) NONNULL(1, 3);

/* Holds credits for a round of a job, in a transaction of its own: of `wanted` items with the price `credits` as many as can be
 * paid. Replaces what the job has held. An unlimited plan holds nothing. */
MUST_CHECK bool ledger_hold_items(const struct work *work, int64_t job_id, int64_t credits, int64_t wanted, int64_t *ret_items,
                                  struct error *err) NONNULL(1, 5, 6);

/* Releases the credits that a job holds; no error when it holds none. */
MUST_CHECK bool ledger_release_hold(const struct work *work, int64_t job_id, struct error *err) NONNULL(1, 3);

/* ---- Settling a write ---- */

/* Writes the audit row, the charge and the response in the open transaction, releases the hold of entry->job_id, and commits if
 * `commit` is not NULL, in one round trip. `body` NULL stores no response; entry->releases_key deletes the claimed key instead. */
MUST_CHECK bool ledger_settle(const struct work *work, const struct ledger_entry *entry, int status, const char *body,
                              struct db_tx *commit, struct error *err) NONNULL(1, 2, 6);

/* Deletes a claimed key and releases the hold of entry->job_id, after a job was refused and changed nothing. */
MUST_CHECK bool ledger_release(const struct work *work, const struct ledger_entry *entry, struct error *err) NONNULL(1, 2, 3);

/* ---- Several calls in one transaction (group commit) ---- */

/* A call that shares its transaction with others. It costs no credits and claims no key beforehand. ledger_used_keys_ask finds a
 * key that is in use. A key that another transaction claims meanwhile makes ledger_settle_all fail, so that nothing of the group is
 * committed. */
struct ledger_call {
    const struct work *work;
    const struct ledger_entry *entry;
    int status;
    const char *body; /* NULL: no response is stored */
};

/* Adds statements that find the keys in use, and that limit every lock wait of the transaction to LEDGER_SHARED_WAIT_MS. Returns
 * the index for ledger_used_keys_read. */
enum { LEDGER_SHARED_WAIT_MS = 100 };
size_t ledger_used_keys_ask(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_batch *batch)
    NONNULL(1, 2, 4);

/* Marks the calls whose key is in use; `ret_used` has one item per call. True when any key is in use. */
bool ledger_used_keys_read(const struct db_batch *batch, size_t index, const struct ledger_call *calls, size_t count,
                           bool *ret_used) NONNULL(1, 3, 5);

/* Writes the audit rows and responses of all calls, and commits, in one round trip. */
MUST_CHECK bool ledger_settle_all(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_tx *commit,
                                  struct error *err) NONNULL(1, 2, 4, 5);

/* ---- Jobs ---- */

/* Enqueues a job in the open transaction. `entry` non-NULL: the job settles the call, and holds entry->hold credits, which
 * ledger_check_credits has found. */
MUST_CHECK bool ledger_enqueue(const struct work *work, struct new_job job, int64_t run_after_us, const struct ledger_entry *entry,
                               int64_t *ret_job_id, struct error *err) NONNULL(1, 5, 6);

/* Writes an entry as JSON for the job row, and reads it back. */
char *ledger_entry_write(struct arena *arena, const struct ledger_entry *entry) NONNULL(1, 2) RETURNS_NONNULL;
bool ledger_entry_read(struct arena *arena, const char *json, struct ledger_entry *ret_entry) NONNULL(1, 2, 3);
