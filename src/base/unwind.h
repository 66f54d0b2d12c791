/*
 * Unwind: leaves a computation that has passed a bound, and nothing else.
 *
 * unwind_catch runs a function. When a function below it passes a bound of
 * memory, unwind_throw leaves all functions in between and executes their
 * cleanup attributes (base/compiler.h), in the way in which pthread_cancel
 * does; then unwind_catch returns false. Calls may be nested; the innermost
 * one of the thread returns.
 *
 * Code that can be left in this way keeps three rules. Everything that must be
 * undone is owned by a cleanup attribute or an arena. No lock is held while an
 * arena is used. A callback of a C library uses no arena without its own
 * unwind_catch, because the library's frames have no cleanups.
 *
 * The sources are compiled with -fexceptions, which makes the compiler emit
 * the tables that the unwinder of the Itanium C++ ABI reads. Nothing is paid
 * for until something is thrown.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

/* Runs run(context). False when it was left by unwind_throw. */
MUST_CHECK bool unwind_catch(void (*run)(void *context), void *context) NONNULL(1);

/* Whether an unwind_catch of this thread is active. */
bool unwind_is_caught(void);

/* Returns from the innermost unwind_catch of this thread. The process ends with `reason` when there is none. */
NORETURN void unwind_throw(const char *reason) NONNULL(1);
