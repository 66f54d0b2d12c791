#include "cli/exit_status.h"

#include <stdio.h>

static const struct {
    enum exit_status status;
    const char *words;
} meanings[] = {
    { EXIT_STATUS_DONE, "success, or the reader of the output has exited" },
    { EXIT_STATUS_REFUSED, "refused, or failed" },
    { EXIT_STATUS_MISUSED, "the command line is invalid; no call was made" },
    { EXIT_STATUS_NOT_FOUND, "not found" },
    { EXIT_STATUS_NOT_ALLOWED, "the key is missing, invalid or lacks permission" },
    { EXIT_STATUS_TRY_LATER, "try again later: no answer, too many calls, or the service is unavailable" },
    { EXIT_STATUS_NOT_BUILT, "not implemented in this version" },
    { EXIT_STATUS_INTERRUPTED, "interrupted" },
};

int exit_status_of(int http_status)
{
    switch (http_status) {
    case 401:
    case 403:
        return EXIT_STATUS_NOT_ALLOWED;
    case 404:
    case 410:
        return EXIT_STATUS_NOT_FOUND;
    case 429:
    case 503:
        return EXIT_STATUS_TRY_LATER;
    case 501:
        return EXIT_STATUS_NOT_BUILT;
    default:
        return http_status >= 200 && http_status < 300 ? EXIT_STATUS_DONE : EXIT_STATUS_REFUSED;
    }
}

void print_exit_statuses(void)
{
    printf("Exit status:\n");
    for (size_t i = 0; i < ARRAY_COUNT(meanings); i++)
        printf("  %3d  %s\n", (int)meanings[i].status, meanings[i].words);
}
