/*
 * Panic: ends the process for a fault of the program or of the machine (no
 * memory, no threads). The data of a caller, a row, a file or a peer never
 * leads here: a bound that such data can pass is an error (base/error.h) or
 * unwinds its computation (base/unwind.h).
 *
 * tests/panics.mjs lists every call with its reason, and refuses abort().
 */
#pragma once

#include "base/compiler.h"

/* The reasons that many functions share. */
#define PANIC_NO_MEMORY     "out of memory"
#define PANIC_NO_THREAD     "a thread cannot be started"
#define PANIC_NO_DESCRIPTOR "no file descriptor is left"

/* Writes the reason and the place to standard error, and aborts. `reason` is a string literal. */
#define panic(reason) panic_at("" reason, __FILE__, __LINE__)
NORETURN void panic_at(const char *reason, const char *file, int line) NONNULL(1, 2);
