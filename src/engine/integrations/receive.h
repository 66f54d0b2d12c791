/*
 * Receiving events of providers: checks that a request comes from the provider
 * of its connection, and fires the trigger of its event. A repeated event fires
 * nothing. An event without an address is recorded as rejected.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/integrations/adapter.h"

enum {
    INTEGRATION_BODY_MAX_BYTES = 1024 * 1024,
    INTEGRATION_EVENTS_KEPT_DAYS = 30,
    INTEGRATION_BODY_REPEAT_S = 5 * 60, /* an event without an id is a repetition within this time */
};

enum integration_outcome {
    INTEGRATION_FIRED,    /* the fire is recorded */
    INTEGRATION_REPEATED, /* the event was taken before */
    INTEGRATION_IGNORED,  /* the connection has no such event */
    INTEGRATION_REJECTED, /* it has no address, or one that is not valid; recorded */
};

struct integration_delivery {
    const char *provider;
    const char *connection; /* wire id */
    const char *body;
    const json_t *headers; /* texts by lower-case name */

    /* Set by the check. */
    int64_t brand_id;
    int64_t organization_id;
    int64_t connection_id;
    struct proof_request request;
    struct integration_notice notice;
};

/* Checks the proof, then reads the event. Writes nothing. Errors: NOT_FOUND for a connection that is unknown, revoked or of another
 * provider, AUTHENTICATION_REQUIRED, INVALID_REQUEST, SERVICE_UNAVAILABLE without a master key. */
MUST_CHECK bool integration_delivery_check(const struct work *work, struct integration_delivery *delivery, struct error *err)
    NONNULL(1, 2, 3);

/* Fires a checked event in the open transaction of the work, whose brand is that of the delivery. `ret_instance_id` is the recorded
 * fire; 0: none. Errors: those of a fire that are not about its payload. */
MUST_CHECK bool integration_delivery_apply(const struct work *work, const struct integration_delivery *delivery,
                                           enum integration_outcome *ret_outcome, int64_t *ret_instance_id, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* The outcome on the wire. */
const char *integration_outcome_name(enum integration_outcome outcome) RETURNS_NONNULL;
