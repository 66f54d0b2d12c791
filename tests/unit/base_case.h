/*
 * For the tests of base: a bound that aborts the process is seen from outside.
 */
#pragma once

#include "own_fail.h"

#include "base/compiler.h"

/* Runs the function in a process of its own, which must end by SIGABRT. */
void assert_aborts(void (*function)(void)) NONNULL(1);
