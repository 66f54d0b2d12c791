#include "base/scheduling.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOW_NICE = 10, /* added to the nice value; about a ninth of the share of other work */
    MIN_NICE = -20,
    MAX_NICE = 19,
    SLOW_SLICE_NS = 100 * 1000 * 1000, /* the longest that Linux accepts */
    PATH_BYTES = 64,
    NICE_BYTES = 16,
};

int scheduling_processors(void)
{
    cpu_set_t usable;
    int count = sched_getaffinity(0, sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

/* ---- Policy and nice value ---- */

/* struct sched_attr of sched_setattr(2), which the headers of Linux define together with what sched.h defines. */
struct policy_attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* of the two ordinary policies: the time slice in ns; 0: that of the system */
    uint64_t deadline;
    uint64_t period;
};

static int later_nice(int nice)
{
    return nice + LOW_NICE < MAX_NICE ? nice + LOW_NICE : MAX_NICE;
}

/* Changes the policy of one thread; 0 is the calling one. Its nice value is not made smaller. A policy other than the two of
 * ordinary programs is left alone. */
static void set_policy(pid_t thread, uint32_t policy, uint64_t slice_ns, int min_nice)
{
    struct policy_attr attr = { .size = sizeof(attr) };
    if (syscall(SYS_sched_getattr, thread, &attr, sizeof(attr), 0) != 0 ||
        (attr.policy != SCHED_OTHER && attr.policy != SCHED_BATCH))
        return;
    attr.size = sizeof(attr);
    attr.policy = policy;
    attr.runtime = slice_ns;
    attr.flags = 0;
    attr.nice = attr.nice > min_nice ? attr.nice : min_nice;
    (void)syscall(SYS_sched_setattr, thread, &attr, 0);
}

void scheduling_slow_thread(void)
{
    set_policy(0, SCHED_BATCH, SLOW_SLICE_NS, MIN_NICE);
}

void scheduling_low_thread(void)
{
    /* Relative to the first thread of the process: a low thread may have started this one. */
    set_policy(0, SCHED_BATCH, SLOW_SLICE_NS, later_nice(getpriority(PRIO_PROCESS, (id_t)getpid())));
}

void scheduling_reset(void)
{
    set_policy(0, SCHED_OTHER, 0, MIN_NICE);
}

/* ---- Another process ---- */

/* Where Linux groups processes by session (autogroup, sched(7)), a nice value counts within the session only, and the session has
 * one of its own. Every server process of PostgreSQL is a session. */
static bool set_session_nice(pid_t pid, int nice)
{
    char path[PATH_BYTES];
    char text[NICE_BYTES];
    snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)pid);
    int size = snprintf(text, sizeof(text), "%d", nice);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    bool done = write(fd, text, (size_t)size) >= 0 || errno != EAGAIN;
    close(fd);
    return done;
}

bool scheduling_low_process(pid_t pid)
{
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno != 0)
        return true;
    if (!set_session_nice(pid, later_nice(nice)))
        return false;
    set_policy(pid, SCHED_BATCH, SLOW_SLICE_NS, later_nice(nice));
    return true;
}
