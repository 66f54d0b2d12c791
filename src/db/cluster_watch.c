#include "db/cluster_runner.h"

#include "base/clock.h"
#include "base/scheduling.h"
#include "db/cluster.h"
#include "db/cluster_locks.h"
#include "db/cluster_process.h"
#include "db/runner_record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOK_MS = 1000,               /* how often the watch reads the lock of the runner */
    LOOK_BESIDE_PIDFD_MS = 10000, /* the same while a pidfd reports the end of the runner */
    /* The pause between two starts by one watch. It doubles, up to the maximum, while runners end before they are ready. */
    PAUSE_MS = 1000,
    MAX_PAUSE_MS = 30000,
};

struct cluster_watch {
    struct arena *arena;
    struct cluster_paths paths;
    const char *const *runner_argv;
    pthread_t thread;
    int stop_fd;
    int pidfd;         /* of the runner, or of the process that is to become it; -1: unknown */
    int start_lock_fd; /* held while the runner that this watch started has no lock of its own; -1: not held */
    int64_t next_start_us;
    int64_t pause_us;
};

/* ---- The runner's process ---- */

static void drop(int *fd)
{
    cluster_leave(*fd);
    *fd = -1;
}

/* The id is read again, because it may have passed to another process before it was opened. */
static int open_runner(const struct cluster_watch *watch)
{
    ARENA_SCOPE arena = arena_new(0);
    pid_t pid = runner_pid_of(arena, &watch->paths);
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd >= 0 && runner_pid_of(arena, &watch->paths) != pid)
        drop(&fd);
    return fd;
}

static bool lock_start(struct cluster_watch *watch)
{
    int fd = open(watch->paths.runner_lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && lock_try(fd, LOCK_OF_START, F_WRLCK) && !lock_is_held(fd, LOCK_OF_RUNNER)) {
        watch->start_lock_fd = fd;
        return true;
    }
    cluster_leave(fd);
    return false;
}

/* Sets the earliest time of the next start by this watch. `was_ready`: the last runner had become ready before it ended. */
static void plan_next_start(struct cluster_watch *watch, bool was_ready)
{
    bool doubles = !was_ready && watch->pause_us > 0;
    watch->pause_us = doubles ? 2 * watch->pause_us : PAUSE_MS * US_PER_MS;
    if (watch->pause_us > MAX_PAUSE_MS * US_PER_MS)
        watch->pause_us = MAX_PAUSE_MS * US_PER_MS;
    watch->next_start_us = clock_monotonic_us() + watch->pause_us;
}

static void start_runner(struct cluster_watch *watch)
{
    struct error ignored = { .code = ERR_NONE };
    /* Read under the lock: an operator may have stopped the runner meanwhile. */
    struct runner_record record = runner_record_read(&watch->paths);
    int log_fd = record.exists ? cluster_open_runner_log(&watch->paths) : -1;
    if (log_fd < 0) {
        drop(&watch->start_lock_fd);
        return;
    }
    plan_next_start(watch, record.is_ready);
    runner_record_write(&watch->paths, 0);
    if (!process_start_detached(watch->runner_argv, log_fd, &watch->pidfd, &ignored))
        drop(&watch->start_lock_fd);
    close(log_fd);
}

/* Starts another runner where the last one was killed. */
static void replace_runner(struct cluster_watch *watch)
{
    bool is_starting = watch->start_lock_fd >= 0 && watch->pidfd >= 0 && !process_pidfd_ended(watch->pidfd);
    if (is_starting)
        return;
    drop(&watch->start_lock_fd);
    drop(&watch->pidfd);
    if (!runner_record_read(&watch->paths).exists)
        watch->pause_us = 0;
    else if (clock_monotonic_us() >= watch->next_start_us && lock_start(watch))
        start_runner(watch);
}

static void look(struct cluster_watch *watch)
{
    if (!lock_has_runner(watch->paths.runner_lock)) {
        replace_runner(watch);
        return;
    }
    drop(&watch->start_lock_fd);
    if (watch->pidfd >= 0 && !process_pidfd_ended(watch->pidfd))
        return;
    drop(&watch->pidfd);
    watch->pidfd = open_runner(watch);
}

/* ---- The thread ---- */

/* Returns when there may be something to do. False: the watch ends. */
static bool await_event(const struct cluster_watch *watch)
{
    struct pollfd watched[] = { { .fd = watch->stop_fd, .events = POLLIN }, { .fd = watch->pidfd, .events = POLLIN } };
    bool is_served = watch->pidfd >= 0 && watch->start_lock_fd < 0;
    poll(watched, ARRAY_COUNT(watched), is_served ? LOOK_BESIDE_PIDFD_MS : LOOK_MS);
    return watched[0].revents == 0;
}

static void *watch_thread(void *data)
{
    struct cluster_watch *watch = data;
    scheduling_reset();
    do
        look(watch);
    while (await_event(watch));
    return NULL;
}

static void free_watch(struct cluster_watch *watch)
{
    drop(&watch->start_lock_fd);
    drop(&watch->pidfd);
    drop(&watch->stop_fd);
    arena_free(watch->arena);
}

bool cluster_watch_new(const char *data_dir, const char *const runner_argv[], struct cluster_watch **ret_watch, struct error *err)
{
    struct arena *arena = arena_new(0);
    struct cluster_watch *watch = arena_alloc(arena, sizeof(*watch));
    *watch = (struct cluster_watch){
        .arena = arena,
        .paths = cluster_paths(arena, data_dir),
        .runner_argv = runner_argv,
        .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .pidfd = -1,
        .start_lock_fd = -1,
    };
    if (watch->stop_fd < 0 || !process_start_thread(&watch->thread, watch_thread, watch)) {
        free_watch(watch);
        return fail(err, ERR_SERVICE_UNAVAILABLE, "data", "The system cannot create another thread. Try again.");
    }
    *ret_watch = watch;
    return true;
}

void cluster_watch_free(struct cluster_watch *watch)
{
    static const uint64_t stop = 1;
    if (watch == NULL)
        return;
    (void)!write(watch->stop_fd, &stop, sizeof(stop));
    pthread_join(watch->thread, NULL);
    free_watch(watch);
}
