#include "cli/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { PAUSE_STEP_MS = 50, AGAIN_S = 1 };

static struct {
    pthread_t waiter;
    void (*stop)(void *context);
    void *context;
    atomic_bool came;
} interrupt;

static sigset_t interrupt_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return set;
}

void interrupt_block(void)
{
    sigset_t set = interrupt_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *wait_for_interrupt(void *nothing)
{
    sigset_t set = interrupt_signals();
    int signal;
    int state;
    (void)nothing;
    while (sigwait(&set, &signal) != 0)
        continue;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    /* Again and again: the work may just have been about to begin, where nobody could ask it to stop. */
    for (struct timespec pause = { .tv_sec = AGAIN_S };; nanosleep(&pause, NULL)) {
        /* Not to be ended while it holds a lock. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        atomic_store(&interrupt.came, true);
        interrupt.stop(interrupt.context);
        pthread_setcancelstate(state, &state);
    }
    return NULL;
}

void interrupt_begin(void (*stop)(void *context), void *context)
{
    interrupt.stop = stop;
    interrupt.context = context;
    if (pthread_create(&interrupt.waiter, NULL, wait_for_interrupt, NULL) != 0)
        abort();
}

void interrupt_end(void)
{
    pthread_cancel(interrupt.waiter);
    pthread_join(interrupt.waiter, NULL);
}

bool interrupt_came(void)
{
    return atomic_load(&interrupt.came);
}

void interrupt_pause_ms(long milliseconds)
{
    struct timespec step = { .tv_nsec = PAUSE_STEP_MS * 1000000L };
    for (long passed = 0; passed < milliseconds && !interrupt_came(); passed += PAUSE_STEP_MS)
        nanosleep(&step, NULL);
}
