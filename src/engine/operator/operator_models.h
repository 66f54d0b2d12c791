/*
 * Keys of the servers of models, for the operator (posthorn admin model). Every
 * change commits with an audit row, which names the server.
 */
#pragma once

#include "engine/secrets/model_keys.h"

/* Each writes its result. Errors: INVALID_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_set_model_key(const struct work *work, const char *server, const char *key, struct json_writer *json,
                                       struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_remove_model_key(const struct work *work, const char *server, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);
