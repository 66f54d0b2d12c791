#include "cli/interrupt.h"

#include "base/panic.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { PAUSE_STEP_MS = 50, AGAIN_S = 1 };

static struct {
    pthread_t wait_thread;
    void (*stop)(void *context);
    void *context;
    atomic_bool was_received;
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
    /* Repeated, because the work may just be starting and could not be stopped yet. */
    for (struct timespec pause = { .tv_sec = AGAIN_S };; nanosleep(&pause, NULL)) {
        /* Not cancelled while it holds a lock. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        atomic_store(&interrupt.was_received, true);
        interrupt.stop(interrupt.context);
        pthread_setcancelstate(state, &state);
    }
    return NULL;
}

void interrupt_begin(void (*stop)(void *context), void *context)
{
    interrupt.stop = stop;
    interrupt.context = context;
    if (pthread_create(&interrupt.wait_thread, NULL, wait_for_interrupt, NULL) != 0)
        panic(PANIC_NO_THREAD);
}

void interrupt_end(void)
{
    pthread_cancel(interrupt.wait_thread);
    pthread_join(interrupt.wait_thread, NULL);
}

bool interrupt_received(void)
{
    return atomic_load(&interrupt.was_received);
}

void interrupt_pause_ms(long milliseconds)
{
    struct timespec step = { .tv_nsec = PAUSE_STEP_MS * 1000000L };
    for (long passed = 0; passed < milliseconds && !interrupt_received(); passed += PAUSE_STEP_MS)
        nanosleep(&step, NULL);
}
