/*
 * Termination signals: SIGTERM and SIGINT are waited for instead of handled, so
 * that shutdown is ordinary code. They are blocked before any thread starts, so
 * that every thread inherits the mask.
 */
#pragma once

#include <stdbool.h>

void signals_block(void);

/* Waits up to `wait_ms`; true when one of the signals came. */
bool signals_wait(int wait_ms);
