/*
 * Starting runs: inserts runs of a version, set-based, in the open transaction
 * of the work. A fire starts one run for each automation that matches, a launch
 * one for each contact of an audience. The stepper does the first step of each run
 * behind the commit.
 */
#pragma once

#include "engine/core/work.h"

enum { RUN_STARTS_MAX = 5000 };

/* A run to start. */
struct run_start {
    int64_t id; /* drawn for it; 0: the next one */
    int64_t automation_id;
    int64_t version_id;
    const char *trigger_node; /* the id of the trigger node, where the run begins */
    int64_t trigger_id;       /* 0: none */
    int64_t instance_id;      /* of the fire; 0: none */
    int64_t payload_id;       /* 0: none */
    int64_t audience_run_id;  /* 0: none */
    int64_t contact_id;
    const char *email;
    const char *email_key;
};

/* Inserts the runs and writes their events. The ids are in the order of the starts (at most RUN_STARTS_MAX). A run is counted as
 * started with its first step, so that fires of one automation do not wait for each other. The caller counts the recipients of a
 * launch in audience_runs.open_runs, also those whose runs start later, and notifies the steppers (runs_notify). One round trip. */
MUST_CHECK bool runs_start(const struct work *work, const struct run_start *starts, size_t count, struct int_list *ret_ids,
                           struct error *err) NONNULL(1, 2, 4, 5);

/* The same in a batch of the caller, which runs between both. `ret_index`: the place of the statement. */
MUST_CHECK bool runs_start_ask(const struct work *work, const struct run_start *starts, size_t count, struct db_batch *batch,
                               size_t *ret_index, struct error *err) NONNULL(1, 2, 4, 5, 6);
struct int_list runs_start_take(const struct work *work, const struct db_batch *batch, size_t index) NONNULL(1, 2);

/* An event of a trigger, at an address. */
struct run_events {
    struct int_list trigger_ids;
    struct text_list email_keys; /* of the same length */
};

/* Wakes the runs that wait for one of these events, in the transaction of the fires. The rows of the fires may be written before or
 * after this call. The caller notifies the steppers when `ret_woken` is true. */
MUST_CHECK bool runs_wake_by_events(const struct work *work, const struct run_events *events, bool *ret_woken, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The same in a batch of the caller. The index is that of runs_have_woken. */
size_t runs_wake_by_events_ask(const struct work *work, const struct run_events *events, struct db_batch *batch) NONNULL(1, 2, 3);
bool runs_have_woken(const struct db_batch *batch, size_t index) NONNULL(1);

/* Wakes the runs that wait for engagement with these messages (automation_sends.id), in the transaction that records it. The rows
 * of the engagement may be written before or after this call. */
MUST_CHECK bool runs_wake_by_messages(const struct work *work, struct int_list message_ids, struct error *err) NONNULL(1, 3);

/* Notifies the steppers (channel posthorn_step): behind the commit when a transaction is open, else at once. PostgreSQL lets one
 * transaction with a notification commit at a time, so many short ones notify after their commit. A lost notification costs a
 * second: the steppers look themselves. */
MUST_CHECK bool runs_notify(const struct work *work, struct error *err) NONNULL(1, 2);

/* The same behind the commit of the caller: no transaction may be open. It does not wait for the disk. */
MUST_CHECK bool runs_notify_at_once(const struct work *work, struct error *err) NONNULL(1, 2);
