/*
 * Argument decoding: fills the generated struct of an operation from the
 * arguments of a call, by the tables of the catalogue. It checks everything
 * that the declaration defines: types, bounds, required members, unknown keys.
 * The scalars of a tool call are coerced first without loss ("5" → 5, "true" →
 * true, JSON text where an object or a list is wanted), because clients send
 * them; enum input_reading says how far this goes. An error suggests the
 * nearest name, or the declared form of the value.
 */
#pragma once

#include "api/call.h"
#include "crypto/ids.h"

/* Fills `args`, a zeroed struct of shape->size. The texts live as long as the input. Errors: INVALID_REQUEST with a dotted path
 * as param. */
MUST_CHECK bool decode_arguments(struct arena *arena, const struct id_codec *ids, const struct arg_shape *shape,
                                 const struct call_input *input, void *args, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* After the refusal of an unknown name: suggests the nearest of the accepted ones, or the member of `shape` that holds names of
 * the caller's own. Returns false. */
bool decode_suggest_name(const struct arg_shape *shape, const char *given, const char *const *names, size_t count,
                         struct error *err) NONNULL(1, 2, 5);

/* True when an argument is given and not null. The path of a member of an object of the body is "object.member". */
bool decode_is_given(const struct call_input *input, const char *path) NONNULL(1, 2) PURE;

/* True when the condition of an operation holds for this input. */
bool decode_when_holds(const struct op_when *when, const struct call_input *input) NONNULL(1, 2);
