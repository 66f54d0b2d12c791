/*
 * The ledger of calls: what a committed call leaves behind besides its work,
 * always in the work's own transaction. The idempotent response, the charge,
 * the audit row, and the job that must do the rest.
 */
#pragma once

#include "engine/core/job_payload.h"
#include "engine/core/work.h"

/* Everything the ledger needs to know of the call, kept with a job so that the job can settle it. */
struct ledger_entry {
    const char *operation;
    const char *transport;
    const char *client; /* NULL when unknown */
    const char *request_id;
    int64_t key_id;                       /* 0: not an API key */
    int64_t session_id;                   /* 0: not a session; neither: the local owner or the operator */
    const unsigned char *idempotency_key; /* SHA-256 of the caller's key, NULL when none */
    const unsigned char *fingerprint;     /* SHA-256 of operation, brand, path and canonical body */
    int64_t credits;                      /* to be charged on success */
    int64_t credit_cost;                  /* X-Credit-Cost of the response; -1: no header */
    bool writes_audit;
    const char *const *subjects;
    size_t subject_count;
};

/* ---- Idempotency ---- */

enum ledger_claim { LEDGER_FRESH, LEDGER_REPLAY, LEDGER_JOIN };

struct ledger_replay {
    int status;
    const char *body;
    int64_t credit_cost;
    int64_t job_id; /* LEDGER_JOIN: the job that works on it */
};

/* Claims the key inside the open transaction. Another transaction's claim is waited for up to 5 s.
 * Errors: IDEMPOTENCY_CONFLICT, IDEMPOTENCY_IN_PROGRESS. */
MUST_CHECK bool ledger_claim(const struct work *work, const struct ledger_entry *entry, enum ledger_claim *ret_claim,
                             struct ledger_replay *ret_replay, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Credits ---- */

/* The credits that are left in this period; not set when the plan has no bound. */
MUST_CHECK bool ledger_credits_left(const struct work *work, struct opt_int *ret_left, struct error *err) NONNULL(1, 2, 3);

/* Fails with INSUFFICIENT_CREDITS when the plan has not `credits` left. Takes no lock: the charge is what counts. */
MUST_CHECK bool ledger_check_credits(const struct work *work, int64_t credits, struct error *err) NONNULL(1, 3);

/* ---- The end of a write ---- */

/* Writes audit row, charge and stored response in the open transaction, and commits it when `commit` is not NULL; all in
 * one round trip. `body` NULL stores no response. */
MUST_CHECK bool ledger_settle(const struct work *work, const struct ledger_entry *entry, int status, const char *body,
                              struct db_tx *commit, struct error *err) NONNULL(1, 2, 6);

/* Forgets a claimed key: the refusal of a job changed nothing. */
MUST_CHECK bool ledger_release(const struct work *work, const struct ledger_entry *entry, struct error *err) NONNULL(1, 2, 3);

/* ---- Several calls in one transaction ---- */

/* A call that shares its transaction with others. It has no price and claims no key beforehand: a key that is in use shows
 * at the beginning, and one that somebody else claims meanwhile makes the end fail, so that nothing is kept of any. */
struct ledger_call {
    const struct work *work;
    const struct ledger_entry *entry;
    int status;
    const char *body; /* NULL: no response is stored */
};

/* Adds what finds the keys that are in use, and lets no statement of the transaction wait for a lock longer than
 * LEDGER_SHARED_WAIT_MS. Gives the index for ledger_used_keys_read. */
enum { LEDGER_SHARED_WAIT_MS = 100 };
size_t ledger_used_keys_ask(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_batch *batch)
    NONNULL(1, 2, 4);

/* Marks the calls whose key is in use; ret_used has an item a call. True when there is one. */
bool ledger_used_keys_read(const struct db_batch *batch, size_t index, const struct ledger_call *calls, size_t count,
                           bool *ret_used) NONNULL(1, 3, 5);

/* Writes the audit rows and stored responses of all, and commits, in one round trip. */
MUST_CHECK bool ledger_settle_all(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_tx *commit,
                                  struct error *err) NONNULL(1, 2, 4, 5);

/* ---- Jobs ---- */

/* Enqueues a job in the open transaction. `entry` non-NULL: the job settles the call. */
MUST_CHECK bool ledger_enqueue(const struct work *work, struct new_job job, int64_t run_after_us, const struct ledger_entry *entry,
                               int64_t *ret_job_id, struct error *err) NONNULL(1, 5, 6);

/* An entry as JSON and back, for the job row. */
char *ledger_entry_write(struct arena *arena, const struct ledger_entry *entry) NONNULL(1, 2) RETURNS_NONNULL;
bool ledger_entry_read(struct arena *arena, const char *json, struct ledger_entry *ret_entry) NONNULL(1, 2, 3);
