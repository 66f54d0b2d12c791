/*
 * Firing a trigger: checks the payload by the contract, saves the contact, records
 * the fire, and starts a run of each published automation that listens. All of it
 * is one transaction of the work. Callers of the API and webhooks of integrations
 * use the same function.
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

struct fire_result {
    int64_t instance_id;
    int64_t contact_id;
    bool is_partial;                /* some starts are tried again: state partially_fired */
    struct int_list automation_ids; /* that matched */
    struct int_list run_ids;
    const struct fire_refusal *refusals;
    size_t refusal_count;
    struct contact_saved contact; /* for its warnings */
};

/* Errors: TRIGGER_EVENT_NOT_FOUND, INVALID_PAYLOAD (with all findings in details), NO_PUBLISHED_AUTOMATION. Nothing is written
 * then. */
MUST_CHECK bool trigger_fire(const struct work *work, const struct fire_request *request, struct fire_result *ret_result,
                             struct error *err) NONNULL(1, 2, 3, 4);
