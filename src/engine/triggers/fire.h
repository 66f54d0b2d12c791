/*
 * Firing a trigger: checks the payload by the contract, saves the contact, records
 * the fire, and starts a run of each published automation that listens. All of it
 * is one transaction of the work. Callers of the API and webhooks of integrations
 * use the same function.
 *
 * Results are allocated in the arena of the work. No result holds a value of the
 * payload: warnings and errors name keys and types only.
 */
#pragma once

#include "engine/contacts/contacts.h"
#include "engine/core/work.h"

struct fire_request {
    int64_t trigger_id;
    const json_t *payload; /* anything; one that does not fit the contract is refused */
    const char *provider;  /* of an integration; NULL: the API */
};

/* An automation that could not start, and why. */
struct fire_refusal {
    int64_t automation_id;
    const char *reason;
};

/* A value that was not saved, or not as it was given. */
struct fire_warning {
    const char *code;    /* FIELD_TYPE_MISMATCH, FIELD_NOT_STORED, FIELD_NAME_NORMALIZED, or that of a finding of the contract */
    const char *field;   /* dotted path in the payload */
    const char *message; /* one sentence */
    const char *expected_type; /* NULL: none */
    const char *actual_type;   /* NULL: none */
};

struct fire_result {
    int64_t instance_id;
    int64_t contact_id;
    struct int_list automation_ids; /* that matched */
    struct int_list run_ids;
    const struct fire_refusal *refusals;
    size_t refusal_count;
    const struct fire_warning *warnings;
    size_t warning_count;
    bool wakes_runs; /* runs were started or woken: the steppers are to be notified */
};

/* Fires a trigger in the open transaction of the work. The caller commits, so all runs of a fire start together or none does.
 * Errors: TRIGGER_EVENT_NOT_FOUND, INVALID_PAYLOAD (with all findings in details), NO_PUBLISHED_AUTOMATION. Nothing is written
 * then. An event of an integration needs no published automation: its contact is saved and the fire is recorded. The caller
 * notifies the steppers of the runs (runs_notify). */
MUST_CHECK bool trigger_fire(const struct work *work, const struct fire_request *request, struct fire_result *ret_result,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The same for several fires in one transaction, with as many round trips as one fire has: make each fire, ask for all of one brand
 * and of different addresses, in the order of their keys, and finish them after the batch ran. A fire that is refused does not
 * touch the others; fire_take has its error. A fault of the database fails all of them. All but fire_new may be repeated in
 * another transaction. */
struct fire;
struct fire *fire_new(const struct work *work, const struct fire_request *request) NONNULL(1, 2) RETURNS_NONNULL;
/* The key of the address; NULL when the payload has no valid one. */
const char *fire_lock_key(const struct fire *fire) NONNULL(1);
int64_t fire_trigger_id(const struct fire *fire) NONNULL(1) PURE;
void fires_ask(const struct work *work, struct fire *const *fires, size_t count, struct db_batch *batch) NONNULL(1, 2, 4);
/* Whether the fire starts so many runs that other calls should not wait for it. Behind the batch of fires_ask. */
bool fire_is_large(const struct fire *fire, const struct db_batch *batch) NONNULL(1, 2);
MUST_CHECK bool fires_finish(struct fire *const *fires, const struct db_batch *batch, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool fire_take(const struct fire *fire, struct fire_result *ret_result, struct error *err) NONNULL(1, 2, 3);

/* The resource "triggerFired". */
void fire_write(const struct work *work, const struct fire_result *result, struct json_writer *json) NONNULL(1, 2, 3);
