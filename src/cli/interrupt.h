/*
 * Ctrl-C as a wish: the first interrupt is remembered and asks the work to
 * stop, wherever it is done, until it has; a second one ends the process as ever. One for
 * the process.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

/* Before any thread is started, so that all of them leave the signal to the one that waits for it. */
void interrupt_block(void);

/* From now on the first interrupt calls `stop`, on a thread of its own, and again every second until interrupt_end. */
void interrupt_begin(void (*stop)(void *context), void *context) NONNULL(1);

/* `stop` is not called any more. */
void interrupt_end(void);

bool interrupt_came(void);

/* Waits so long, or until an interrupt. */
void interrupt_pause_ms(long milliseconds);
