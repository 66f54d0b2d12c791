/*
 * Guard: runs a computation on a caller's data. A passed bound of memory (of an
 * arena, or of the machine) becomes an error of that computation, see
 * base/unwind.h.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

/* Runs run(context, err) and returns its result. When a bound of memory was passed: false, with PAYLOAD_TOO_LARGE for `subject`
 * ("call", "job"). What the computation owned by arenas is still there, and is freed with them. */
MUST_CHECK bool guard_run(bool (*run)(void *context, struct error *err), void *context, const char *subject, struct error *err)
    NONNULL(1, 3, 4);
