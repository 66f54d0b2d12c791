/*
 * Guard: runs a computation on a caller's data. A passed bound of memory (of an
 * arena, or of the machine) becomes an error of that computation, see
 * base/unwind.h.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

/* Runs run(context, err) and returns its result. False when a bound of memory was passed, with PAYLOAD_TOO_LARGE that names
 * `subject` ("call", "job"). Memory that the computation took from arenas stays allocated until the arenas are freed. */
MUST_CHECK bool guard_run(bool (*run)(void *context, struct error *err), void *context, const char *subject, struct error *err)
    NONNULL(1, 3, 4);
