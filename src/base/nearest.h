/*
 * Nearest names: finds the accepted name that a caller probably meant by an
 * unknown one. Letters are compared without case, "_", "-" and spaces, so
 * email_id and EmailId are other spellings of emailId. The cost is bounded by
 * NEAREST_MAX_BYTES of each name. Nothing here allocates.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum { NEAREST_MAX_BYTES = 60 }; /* a longer name is not like any other */

/* True when both are spellings of one name. */
bool name_is_respelt(const char *one, const char *other) NONNULL(1, 2) PURE;

/* The accepted name that `given` spells differently; NULL when none is, or two are. */
const char *name_respelt(const char *given, const char *const *names, size_t count) NONNULL(1);

/* The accepted name that was probably meant: another spelling, one with a few other letters, or the only one that begins or ends
 * with the given one (id, emailId). NULL when none is alike. */
const char *name_nearest(const char *given, const char *const *names, size_t count) NONNULL(1);

/* Suggests the nearest name and lists the accepted ones, as many as there is room for. Returns false, as `fail` does. */
bool error_suggest_name(struct error *err, const char *given, const char *const *names, size_t count) NONNULL(1, 2);
