/*
 * Integrations: the catalogue of providers whose events a brand can receive
 * (schemas/integrations.json). A provider is connected while one of its
 * connections is in use (connections.h).
 */
#pragma once

#include "catalogue/integrations.h"
#include "engine/core/work.h"

/* Writes a page of the catalogue. One round trip. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool integration_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                                 struct error *err) NONNULL(1, 4, 5);
