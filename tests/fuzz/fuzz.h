/* The entry of a fuzzer, and the assertion of the properties it checks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Runs one input. A crash, or a failed requirement, is a finding. Always returns 0. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static inline void require(bool holds)
{
    if (!holds)
        abort();
}
