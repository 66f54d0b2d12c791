/*
 * Jobs: what must happen in the world. A job is a row committed with the work
 * that asked for it; a worker leases it, performs its effect outside any
 * transaction, and settles it in one transaction together with what the effect
 * means for the database, the charge, the stored response and the audit row.
 *
 * A worker that dies loses its jobs when its connections are gone, one that
 * hangs when its lease of five minutes is over; then the job runs again:
 * `perform` must be safe to repeat and its rounds short; long work asks for
 * another round. A caller may be parked on a job (mode `job` of an operation);
 * a notification on the channel posthorn_jobs tells every process which job
 * moved.
 */
#pragma once

#include "engine/core/work.h"

#include <jansson.h>

struct dns;
struct asset_store;
struct renderer;
struct capture_maildir;
struct sender;
struct job_services;

/* One leased job. The arena of `work` is the job's; `work.conn` belongs to the worker thread. */
struct job {
    struct work work;
    int64_t id;
    const char *kind;
    const json_t *payload;
    int attempts; /* this one included */
    struct job_services *services;
    void *performed; /* what `perform` hands to `settle`, in the arena */
};

/* What jobs may use of the world besides the database. */
struct job_services {
    struct renderer *renderer;      /* HTML work */
    struct capture_maildir *outbox; /* the capture outbox */
    struct sender *sender;          /* hands messages to relays */
    struct asset_store *assets;     /* hosted images */
    const char *image_program;      /* path of posthorn-image */
    bool fetch_allow_loopback;      /* DANGEROUS, for tests */
    struct dns *dns;                /* names of mail servers */
};

struct job_kind {
    const char *name;
    int max_attempts;    /* tries for errors that are retryable */
    bool reports_cancel; /* is run although its caller has gone, to end early and say what was done; see job_is_cancelled */

    /* The effect; no transaction is open. May be NULL. Return false with a retryable error to be tried again. */
    bool (*perform)(struct job *job, struct error *err);

    /* In the settling transaction: writes the outcome and, when a caller waits, the body of the answer.
     * May ask for another round with job_run_again instead of ending. */
    bool (*settle)(struct job *job, struct json_writer *answer, int *ret_status, struct error *err);

    /* In a transaction of its own, when the job failed for good; may be NULL. */
    bool (*give_up)(struct job *job, const struct error *why, struct error *err);
};

extern const struct job_kind *const job_kinds[]; /* NULL-ended */

/* Asks for another round at `run_after_us` instead of settling (a schedule, a campaign with more ranges). For settle. */
void job_run_again(struct job *job, int64_t run_after_us) NONNULL(1);

/* Names an object that this job made or changed, for the audit row. For settle. */
void job_subject(struct job *job, const char *wire_id) NONNULL(1, 2);

/* The price of the call is that of one item: tells how many there were, 0 to charge nothing. For settle. */
void job_charge_items(struct job *job, int64_t items) NONNULL(1);

/* A second connection, for work on a thread of its own; the caller disconnects it. For perform. */
MUST_CHECK bool job_connect(struct job *job, struct db_conn **ret_conn, struct error *err) NONNULL(1, 2, 3);

/* Reports progress to a caller that waits. For perform; failures are ignored. */
void job_progress(struct job *job, double progress, double total, const char *note) NONNULL(1);

/* Whether its caller asked to stop. For perform. */
bool job_is_cancelled(struct job *job) NONNULL(1);
