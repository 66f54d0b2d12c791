#include "main/signals.h"

#include <signal.h>
#include <time.h>

static sigset_t end_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void signals_block(void)
{
    sigset_t set = end_signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

bool signals_wait(int wait_ms)
{
    sigset_t set = end_signals();
    struct timespec wait = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L };
    return sigtimedwait(&set, NULL, &wait) > 0;
}
