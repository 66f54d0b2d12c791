/*
 * API key scopes by name: the permissions that a key is given and shows.
 */
#pragma once

#include "base/error.h"
#include "base/json_write.h"
#include "base/values.h"

/* Reads scopes into bits. Without names the result is SCOPE_ALL. Errors: INVALID_REQUEST with `param`. */
MUST_CHECK bool key_scopes_read(const char *const *names, size_t count, const char *param, uint32_t *ret_scopes, struct error *err)
    NONNULL(3, 4, 5);

/* Writes the scopes as a list of names. */
void key_scopes_write(struct json_writer *json, uint32_t held) NONNULL(1);
