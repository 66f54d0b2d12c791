/*
 * Integrations: providers whose events a brand can receive. The catalogue is
 * declared (schemas/integrations.json); connecting one is not built, so none is
 * ever connected.
 */
#pragma once

#include "catalogue/integrations.h"
#include "engine/core/work.h"

/* A page of the catalogue. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool integration_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                                 struct error *err) NONNULL(1, 4, 5);
