/*
 * Decoding: arguments of a call into the generated struct of its operation, by
 * the tables of the catalogue. Everything the declaration says is checked here
 * once: types, bounds, required members, unknown keys. A tool call's scalars
 * are coerced faithfully before ("5" → 5, "true" → true, JSON text where an
 * object or a list is wanted), because clients send these.
 */
#pragma once

#include "api/call.h"
#include "crypto/ids.h"

/* Fills `args`, a zeroed struct of shape->size. The texts live as long as the input.
 * Errors: INVALID_REQUEST with param as a dotted path. */
MUST_CHECK bool decode_arguments(struct arena *arena, const struct id_codec *ids, const struct arg_shape *shape,
                                 const struct call_input *input, void *args, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Whether the condition of an operation holds for this input. */
bool decode_when_holds(const struct op_when *when, const struct call_input *input) NONNULL(1, 2);
