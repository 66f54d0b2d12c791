/*
 * Query string parser (application/x-www-form-urlencoded, WHATWG URL §5.1):
 * pairs are split at '&', '+' is a space, escapes are decoded once.
 */
#pragma once

#include "api/call.h"
#include "base/arena.h"
#include "base/error.h"

/* Errors: INVALID_REQUEST (a key given twice, naming it; a malformed escape; too many pairs). NULL reads as empty. */
MUST_CHECK bool query_read(struct arena *arena, const char *query, struct name_value_list *ret_pairs, struct error *err)
    NONNULL(1, 3, 4);
