#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>

void panic_at(const char *reason, const char *file, int line)
{
    fprintf(stderr, "posthorn: %s (%s:%d)\n", reason, file, line);
    abort();
}
