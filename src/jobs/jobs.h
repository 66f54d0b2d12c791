/*
 * Jobs: work with effects outside the database, and work that takes long. A job
 * is a row, committed together with the work that asked for it. A worker leases
 * the row and executes the job outside any transaction. Then it settles the job
 * in one transaction, together with the changes of the database that result, the
 * charge, the stored response and the audit row.
 *
 * A worker that dies loses its jobs when its connections are gone; a worker that
 * hangs loses them when its lease of five minutes ends. The job then runs again:
 * `execute` must be safe to repeat. Its rounds must be short; long work asks for
 * another round. A caller may be parked on a job (mode `job` of an operation). A
 * notification on the channel posthorn_jobs wakes the process whose caller waits.
 *
 * schemas/jobs.json declares the types; docs/modules/jobs.md explains the queue.
 */
#pragma once

#include "engine/core/job_payload.h"
#include "engine/core/work.h"

struct dns;
struct embeddings;
struct model;
struct asset_store;
struct renderer;
struct capture_maildir;
struct sender;
struct job_services;
struct spam_filter;

/* One leased job. The arena of `work` belongs to the job; `work.conn` belongs to the worker thread. */
struct job {
    struct work work;
    int64_t id;
    int64_t created_us;  /* when it was enqueued, by the business clock */
    const void *payload; /* the struct of its type, from catalogue/jobs.h: struct campaign_payload */
    int attempts;        /* including this one */
    struct job_services *services;
    void *result; /* set by `execute` for `settle`, in the arena */
};

/* The services of the process that jobs may use. */
struct job_services {
    struct renderer *renderer;           /* the renderer */
    struct capture_maildir *outbox;      /* the capture folder */
    struct sender *sender;               /* delivers messages to relays */
    struct asset_store *assets;          /* hosted images */
    const char *image_program;           /* path of posthorn-image */
    bool fetch_allow_loopback;           /* DANGEROUS, for tests */
    struct dns *dns;                     /* the resolver */
    const struct model *model;           /* writes designs; NULL: none is named */
    const struct embeddings *embeddings; /* makes vectors for searches; NULL: none is named */
    struct spam_filter *spam;            /* judges messages; NULL: none is named */
};

/* The implementation of a declared job: job_NAME in src/jobs/types. */
struct job_type {
    int max_attempts;    /* attempts after errors that are retryable */
    bool is_quick;       /* its statements have the priority of quick work: others wait for the end of the job (ADR 15) */
    bool reports_cancel; /* the job runs although its caller has cancelled, to end early and report; see job_is_cancelled */

    /* The effect; no transaction is open. May be NULL. Return false with a retryable error for another attempt. */
    bool (*execute)(struct job *job, struct error *err);

    /* In the settling transaction: saves the outcome and writes the body of the answer for a caller who waits. It may ask for
     * another round with job_run_again instead of ending the job. */
    bool (*settle)(struct job *job, struct json_writer *answer, int *ret_status, struct error *err);

    /* In a transaction of its own, when the job failed for good. May be NULL. */
    bool (*on_failure)(struct job *job, const struct error *why, struct error *err);
};

/* Asks for another round at `run_after_us` instead of the end of the job (a schedule, more contacts to check). For settle. */
void job_run_again(struct job *job, int64_t run_after_us) NONNULL(1);

/* As job_run_again, at once and among the jobs that wait for other machines (the DNS). For settle. */
void job_run_again_in_network(struct job *job) NONNULL(1);

/* Names an object that this job made or changed, for the audit row. For settle. */
void job_subject(struct job *job, const char *wire_id) NONNULL(1, 2);

/* Enqueues a job that goes on with the work of a call: it holds the price of the call and charges it when it succeeds. This job
 * then charges nothing. For settle. */
MUST_CHECK bool job_hand_on(struct job *job, struct new_job next, int64_t *ret_job_id, struct error *err) NONNULL(1, 3, 4);

/* Names the model that was asked, and the tokens that it took, for the audit row. For settle. */
void job_used_model(struct job *job, const char *engine, struct opt_int tokens_in, struct opt_int tokens_out) NONNULL(1, 2);

/* Multiplies the price of the call by the number of items; 0 charges nothing. For settle. */
void job_charge_items(struct job *job, int64_t items) NONNULL(1);

/* Begins the lease anew. A part of `execute` that may take minutes calls it first, so that only each part must end within a lease.
 * Errors: SERVICE_UNAVAILABLE when the lease was lost; another worker has the job then. For execute. */
MUST_CHECK bool job_renew(struct job *job, struct error *err) NONNULL(1, 2);

/* Releases the idempotency key of the call: the answer is not stored, and a repeated call runs again. For settle. */
void job_release_key(struct job *job) NONNULL(1);

/* Opens a second connection, for work on another thread; the caller disconnects it. For execute. */
MUST_CHECK bool job_connect(struct job *job, struct db_conn **ret_conn, struct error *err) NONNULL(1, 2, 3);

/* Runs a piece of slow work when it is its turn: one piece of an organization at a time while other organizations are active.
 * `work` belongs to the calling thread, and its connection is asked who is active. `act` is guarded (base/guard.h), so a passed
 * bound ends the turn, too. Any thread of the job. Errors: of the database, and of `act`. */
MUST_CHECK bool job_run_in_turn(struct job *job, const struct work *work, bool (*act)(void *context, struct error *err),
                                void *context, struct error *err) NONNULL(1, 2, 3, 5);

/* Reports progress to a caller who waits, and renews the lease. For execute; failures are ignored. */
void job_progress(struct job *job, double progress, double total, const char *note) NONNULL(1);

/* Whether its caller has cancelled. For execute. */
bool job_is_cancelled(struct job *job) NONNULL(1);
