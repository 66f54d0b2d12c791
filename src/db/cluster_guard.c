#include "db/cluster_runner.h"

#include "db/cluster_paths.h"
#include "db/cluster_process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* A rename of a parent folder causes no event, so the lock is also compared this often. */
enum { LOOK_MS = 1000 };

struct guard {
    struct arena *arena;
    const char *lock_path;
    int lock_fd;
    int events_fd; /* inotify; -1: none */
    void (*on_gone)(void);
};

/* Whether the path no longer names the file that is locked. An error that may pass, such as a denied access, is no answer. */
static bool is_gone(const struct guard *guard)
{
    struct stat held;
    struct stat named;
    if (fstat(guard->lock_fd, &held) != 0)
        return false;
    if (stat(guard->lock_path, &named) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    return named.st_dev != held.st_dev || named.st_ino != held.st_ino;
}

static void await_event(const struct guard *guard)
{
    char events[4096];
    struct pollfd watched = { .fd = guard->events_fd, .events = POLLIN };
    if (poll(&watched, 1, LOOK_MS) > 0)
        (void)!read(guard->events_fd, events, sizeof(events)); /* which event it was does not matter */
}

static void *guard_thread(void *data)
{
    struct guard *guard = data;
    while (!is_gone(guard))
        await_event(guard);
    guard->on_gone();
    if (guard->events_fd >= 0)
        close(guard->events_fd);
    arena_free(guard->arena);
    return NULL;
}

static int watch_folder(const char *folder)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    uint32_t changes = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (fd < 0 || inotify_add_watch(fd, folder, changes) >= 0)
        return fd;
    close(fd);
    return -1;
}

bool cluster_runner_guard(const char *data_dir, int lock_fd, void (*on_gone)(void), struct error *err)
{
    struct arena *arena = arena_new(0);
    struct guard *guard = arena_alloc(arena, sizeof(*guard));
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    *guard = (struct guard){ .arena = arena, .lock_path = paths.runner_lock, .lock_fd = lock_fd, .on_gone = on_gone };
    guard->events_fd = watch_folder(paths.data_dir);
    pthread_t thread;
    if (process_start_thread(&thread, guard_thread, guard)) {
        pthread_detach(thread);
        return true;
    }
    if (guard->events_fd >= 0)
        close(guard->events_fd);
    arena_free(arena);
    return fail(err, ERR_SERVICE_UNAVAILABLE, "data", "The system cannot create another thread. Try again.");
}
