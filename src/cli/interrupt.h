/*
 * Interrupts (Ctrl-C): the first interrupt asks the work to stop, and repeats
 * this until the work has stopped. A second one ends the process as usual. One
 * instance per process.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

/* Blocks the signal. Call it before any thread starts, so that only the waiting thread gets the signal. */
void interrupt_block(void);

/* From now on the first interrupt calls `stop` on a thread of its own, and again every second until interrupt_end. */
void interrupt_begin(void (*stop)(void *context), void *context) NONNULL(1);

/* After this, `stop` is not called any more. */
void interrupt_end(void);

bool interrupt_received(void);

/* Waits this long, or until an interrupt. */
void interrupt_pause_ms(long milliseconds);
