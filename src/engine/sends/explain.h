/*
 * Delivery explanation: why an address received a message, or did not. It lists
 * every decision from the audience to the relay's last reply, and of automations
 * from the fire to the next step. One pipeline reads the rows that delivery and
 * runs write anyway; nothing is recorded for it.
 */
#pragma once

#include "engine/compose/message_id.h"
#include "engine/core/work.h"
#include "sql/explain.h"

enum { EXPLAIN_SENDS_MAX = 50, EXPLAIN_RUNS_MAX = 20 };

/* Writes one object: the data about the address, the brand's newest sends with their outcome for it, and its newest fires and runs
 * of automations. `send_id` other than 0
 * selects one send. An unknown address gets a summary that says so. Errors: INVALID_REQUEST (email), SEND_NOT_FOUND. */
MUST_CHECK bool send_why(const struct work *work, const char *email, int64_t send_id, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 4, 5);

/* Writes the object of send_why for one message: the address and the send that its Message-ID identifies. `work` has the brand of
 * the message. Errors: SEND_NOT_FOUND, also for a test message. */
MUST_CHECK bool send_why_message(const struct work *work, const struct message_origin *origin, struct json_writer *json,
                                 struct error *err) NONNULL(1, 2, 3, 4);

/* One sentence about the outcome of a send for the address, in the arena of the work (explain_text.c). */
char *explain_sentence(const struct work *work, const struct explain_decisions_row *row) NONNULL(1, 2) RETURNS_NONNULL;

/* One sentence about whether the address can receive campaigns now. */
char *explain_person_sentence(const struct work *work, const struct explain_decisions_row *row) NONNULL(1, 2) RETURNS_NONNULL;

/* The members "fires" and "runs" (explain_runs.c): struct explain_fires_row and struct explain_runs_row, one more than
 * EXPLAIN_RUNS_MAX when there are more. */
void explain_write_automations(const struct work *work, const struct db_rows *fires, const struct db_rows *runs,
                               struct json_writer *json) NONNULL(1, 2, 3, 4);

/* The tranche of a recipient of a gradual send (explain_text.c). */
struct explain_tranche {
    int64_t tranche; /* 0: the send is not gradual, or the address is not one of its recipients */
    int64_t of;      /* the number of tranches */
    bool is_waiting; /* it is not released yet */
    struct opt_int due_us;
};
struct explain_tranche explain_tranche_of(const struct work *work, const struct explain_decisions_row *row) NONNULL(1, 2);
