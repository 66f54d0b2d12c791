/*
 * For unit tests that record errors themselves: cmocka's fail() gives way to
 * that of base/error.h, and fail_msg does without it. Included before any
 * other header of the project.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail
#undef fail_msg
#define fail_msg(...)                                                                                                              \
    do {                                                                                                                           \
        print_error(__VA_ARGS__);                                                                                                  \
        print_error("\n");                                                                                                         \
        _fail(__FILE__, __LINE__);                                                                                                 \
    } while (0)

#include "base/error.h"
