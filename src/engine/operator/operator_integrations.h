/*
 * Operator functions for connections of providers of events (posthorn admin
 * integration), in the brand of the work. Every change commits with an audit row.
 */
#pragma once

#include "engine/integrations/connections.h"

/* Each writes its result. Errors: INVALID_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE. `secret` NULL: one is made, and shown once. */
MUST_CHECK bool operator_add_integration(const struct work *work, const struct integration_connection *connection,
                                         struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_rotate_integration(const struct work *work, const char *wire_id, const char *secret,
                                            struct json_writer *json, struct error *err) NONNULL(1, 2, 4, 5);
MUST_CHECK bool operator_revoke_integration(const struct work *work, const char *wire_id, struct json_writer *json,
                                            struct error *err) NONNULL(1, 2, 3, 4);
