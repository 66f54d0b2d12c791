#include "db/cluster_locks.h"

#include "db/cluster.h"
#include "db/cluster_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- One lock ---- */

int lock_open(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int open_existing(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

bool lock_try(int fd, enum lock_byte byte, short type)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool lock_is_held(int fd, enum lock_byte byte)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool lock_has_runner(const char *path)
{
    int fd = open_existing(path);
    bool is_held = lock_is_held(fd, LOCK_OF_RUNNER);
    cluster_leave(fd);
    return is_held;
}

void cluster_leave(int lock_fd)
{
    if (lock_fd >= 0)
        close(lock_fd);
}

/* ---- The runner's lock ---- */

bool cluster_lock_runner(const char *data_dir, int *ret_lock_fd, bool *ret_held, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    *ret_held = false;
    if (!cluster_make_data_dir(&paths, err))
        return false;
    int fd = lock_open(paths.runner_lock);
    if (fd < 0)
        return cluster_fail_with_errno(err, "Opening the runner's lock", paths.runner_lock);
    /*
     * Do not wait for the lock. The process that started this runner found it
     * free. A runner that waits would start after `posthorn stop`.
     */
    *ret_held = lock_try(fd, LOCK_OF_RUNNER, F_WRLCK);
    if (*ret_held)
        *ret_lock_fd = fd;
    else
        close(fd);
    return true;
}

int cluster_open_runner_lock(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    return open_existing(cluster_paths(arena, data_dir).runner_lock);
}

bool cluster_runner_holds(int lock_fd)
{
    return lock_is_held(lock_fd, LOCK_OF_RUNNER);
}

bool cluster_has_runner(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    return lock_has_runner(cluster_paths(arena, data_dir).runner_lock);
}

int cluster_lock_start(const char *data_dir)
{
    int fd = cluster_open_runner_lock(data_dir);
    if (fd < 0 || lock_try(fd, LOCK_OF_START, F_WRLCK))
        return fd;
    close(fd);
    errno = EAGAIN;
    return -1;
}

/* ---- The clients' lock ---- */

bool cluster_no_clients(const char *data_dir, int *ret_lock_fd)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    int fd = lock_open(paths.clients_lock);
    if (fd < 0)
        return false;
    if (!lock_try(fd, LOCK_OF_CLIENTS, F_WRLCK)) {
        close(fd);
        return false;
    }
    *ret_lock_fd = fd;
    return true;
}
