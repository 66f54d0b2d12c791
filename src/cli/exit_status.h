/* The exit statuses of an operation, for scripts to branch on (docs/reference/command-line.md). */
#pragma once

#include "base/error.h"

enum exit_status {
    EXIT_STATUS_DONE = 0,
    EXIT_STATUS_REFUSED = 1,
    EXIT_STATUS_MISUSED = 2,
    EXIT_STATUS_NOT_FOUND = 3,
    EXIT_STATUS_NOT_ALLOWED = 4,
    EXIT_STATUS_NOT_NOW = 5,
    EXIT_STATUS_NOT_BUILT = 6,
    EXIT_STATUS_INTERRUPTED = 130, /* as a shell tells of SIGINT */
};

/* Of an answer with this HTTP status. */
int exit_status_of(int http_status);

/* What they mean, a line each. */
void print_exit_statuses(void);
