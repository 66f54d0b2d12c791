/*
 * Runs of automations: lists, single runs with the log of their nodes, and the
 * cancellation of one. Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

enum { RUN_LOGS_MAX = 100 };

/* Which runs to list. An id of 0 and a text of NULL select nothing apart; -1 is an id that names no row. */
struct run_filter {
    struct opt_int from_us; /* of the start, inclusive */
    struct opt_int to_us;   /* exclusive */
    const char *status;
    int64_t automation_id;
    int64_t instance_id;
    int64_t trigger_id;
    const char *recipient; /* as the caller wrote it */
    const char *mode;
};

/* A page of runs, newest first. Errors: INVALID_REQUEST (from, recipientEmail, cursor). One round trip. */
MUST_CHECK bool run_list(const struct work *work, const struct run_filter *filter, int64_t limit, const char *cursor,
                         struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* Writes one run, `with_logs` also what its nodes did. Errors: AUTOMATION_RUN_NOT_FOUND. One round trip. */
MUST_CHECK bool run_get(const struct work *work, int64_t run_id, bool with_logs, struct json_writer *json, struct error *err)
    NONNULL(1, 4, 5);

/* Cancels an open run and writes it. A run that is canceled already is written unchanged.
 * Errors: AUTOMATION_RUN_NOT_FOUND, RUN_NOT_CANCELLABLE. Four round trips. */
MUST_CHECK bool run_cancel(const struct work *work, int64_t run_id, struct json_writer *json, struct error *err) NONNULL(1, 3, 4);
