/*
 * Scopes by their names: what a key is given, and what it is shown to have.
 */
#pragma once

#include "base/error.h"
#include "base/json_write.h"
#include "base/values.h"

/* The bits of these scopes; of none those of `all`. Errors: INVALID_REQUEST with `param`. */
MUST_CHECK bool key_scopes_read(const char *const *names, size_t count, const char *param, uint32_t *ret_scopes, struct error *err)
    NONNULL(3, 4, 5);

/* The list of their names. */
void key_scopes_write(struct json_writer *json, uint32_t held) NONNULL(1);
