/*
 * Ending on request: SIGTERM and SIGINT are waited for instead of handled, so
 * that shutdown is ordinary code. Blocked before any thread starts, so that
 * every thread inherits it.
 */
#pragma once

#include <stdbool.h>

void signals_block(void);

/* Waits up to `wait_ms`; true when the process was asked to end. */
bool signals_wait(int wait_ms);
