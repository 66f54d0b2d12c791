/* Exit statuses of operations, for scripts (docs/reference/command-line.md). */
#pragma once

#include "base/error.h"

enum exit_status {
    EXIT_STATUS_DONE = 0,
    EXIT_STATUS_REFUSED = 1,
    EXIT_STATUS_MISUSED = 2,
    EXIT_STATUS_NOT_FOUND = 3,
    EXIT_STATUS_NOT_ALLOWED = 4,
    EXIT_STATUS_TRY_LATER = 5,
    EXIT_STATUS_NOT_BUILT = 6,
    EXIT_STATUS_INTERRUPTED = 130, /* 128 + SIGINT, as shells report it */
};

/* The exit status for an HTTP status. */
int exit_status_of(int http_status);

/* Prints their meanings, one per line. */
void print_exit_statuses(void);
