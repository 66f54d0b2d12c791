/*
 * Scheduling: tells Linux which threads and processes do slow work, so that it
 * delays no quick work on the same processors. All work goes on when a request is
 * not possible (an old kernel, a container that forbids it), so nothing here
 * fails.
 *
 * Slow work has the policy SCHED_BATCH and a long time slice. It keeps its share
 * of the processor, but a thread that wakes up does not wait for the end of the
 * slice (Linux 6.12 and later; sched(7)). Low work has a higher nice value, too:
 * it gets a smaller share while others want the processor, and all of it
 * otherwise.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <sys/types.h>

/* The processors that this process may use; at least 1. */
int scheduling_processors(void);

/* Marks the calling thread as slow. Threads and processes that it starts inherit this; scheduling_reset ends it. */
void scheduling_slow_thread(void);

/* The same with a higher nice value, which an unprivileged thread keeps for ever. */
void scheduling_low_thread(void);

/* The same for another process with one thread, of the same user unless this process is root. False when the kernel asks to try
 * again a while later. */
MUST_CHECK bool scheduling_low_process(pid_t pid);

/* Ends the mark of scheduling_slow_thread for the calling thread. It makes system calls only, so it may be called between fork and
 * exec. */
void scheduling_reset(void);
