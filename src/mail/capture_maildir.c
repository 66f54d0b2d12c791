#include "mail/capture_maildir.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct capture_maildir {
    int tmp_fd; /* the three folders */
    int new_fd;
    int cur_fd;
    struct capture_maildir_bounds bounds;
    enum capture_maildir_sync sync;
    atomic_uint_fast64_t tmp_counter;

    pthread_mutex_t mutex;                /* guards what follows */
    struct capture_maildir_usage used;    /* in new/ and cur/, as far as we know */
    struct capture_maildir_usage pending; /* reserved by deliveries under way */
    int64_t measured_us;                  /* monotonic: when `used` was last counted */
};

/* While full, the folders are counted again at most this often, to notice that mail was deleted. */
enum { CAPTURE_MAILDIR_REMEASURE_US = 1000000 };

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static void dir_close(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

static bool fail_errno(struct error *err, const char *what)
{
    int cause = errno;
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The capture outbox cannot be used right now.");
    return error_because(err, "%s: %s", what, strerror(cause));
}

/* A stream over a folder that leaves `fd` open. */
static DIR *open_entries(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return NULL;
    DIR *dir = fdopendir(copy);
    if (dir == NULL)
        close(copy);
    return dir;
}

/* Adds the messages of one folder to `usage`. A file that goes away meanwhile is not counted. */
static bool measure_folder(int fd, struct capture_maildir_usage *usage, struct error *err)
{
    CLEANUP(dir_close) DIR *dir = open_entries(fd);
    if (dir == NULL)
        return fail_errno(err, "outbox: open folder");
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 || fail_errno(err, "outbox: read folder");
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        usage->messages++;
        usage->bytes += (uint64_t)status.st_size;
    }
}

static bool remove_leftovers(int tmp_fd, struct error *err)
{
    CLEANUP(dir_close) DIR *dir = open_entries(tmp_fd);
    if (dir == NULL)
        return fail_errno(err, "outbox: open tmp");
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 || fail_errno(err, "outbox: read tmp");
        if (entry->d_name[0] != '.')
            unlinkat(tmp_fd, entry->d_name, 0);
    }
}

static bool measure_locked(struct capture_maildir *outbox, struct error *err)
{
    struct capture_maildir_usage usage = { 0 };
    if (!measure_folder(outbox->new_fd, &usage, err) || !measure_folder(outbox->cur_fd, &usage, err))
        return false;
    outbox->used = usage;
    outbox->measured_us = clock_monotonic_us();
    return true;
}

bool capture_maildir_measure(struct capture_maildir *outbox, struct capture_maildir_usage *ret_usage, struct error *err)
{
    pthread_mutex_lock(&outbox->mutex);
    bool done = measure_locked(outbox, err);
    if (done)
        *ret_usage = outbox->used;
    pthread_mutex_unlock(&outbox->mutex);
    return done;
}

static bool open_folder(int base_fd, const char *name, int *ret_fd, struct error *err)
{
    if (mkdirat(base_fd, name, 0700) != 0 && errno != EEXIST)
        return fail_errno(err, "outbox: make folder");
    *ret_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd >= 0 || fail_errno(err, "outbox: open folder");
}

static bool open_folders(struct capture_maildir *outbox, const char *path, struct error *err)
{
    CLEANUP(fd_close) int base_fd = -1;
    if (!open_folder(AT_FDCWD, path, &base_fd, err) || !open_folder(base_fd, "tmp", &outbox->tmp_fd, err) ||
        !open_folder(base_fd, "new", &outbox->new_fd, err) || !open_folder(base_fd, "cur", &outbox->cur_fd, err))
        return false;
    if (outbox->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fsync(base_fd) != 0)
        return fail_errno(err, "outbox: fsync");
    return true;
}

bool capture_maildir_open(const char *path, struct capture_maildir_bounds bounds, enum capture_maildir_sync sync,
                          struct capture_maildir **ret_outbox, struct error *err)
{
    struct capture_maildir *outbox = malloc(sizeof(*outbox));
    if (outbox == NULL)
        abort();
    *outbox = (struct capture_maildir){ .tmp_fd = -1, .new_fd = -1, .cur_fd = -1, .bounds = bounds, .sync = sync };
    pthread_mutex_init(&outbox->mutex, NULL);
    if (!open_folders(outbox, path, err) || !remove_leftovers(outbox->tmp_fd, err) || !measure_locked(outbox, err)) {
        capture_maildir_close(outbox);
        return false;
    }
    *ret_outbox = outbox;
    return true;
}

void capture_maildir_close(struct capture_maildir *outbox)
{
    if (outbox == NULL)
        return;
    fd_close(&outbox->tmp_fd);
    fd_close(&outbox->new_fd);
    fd_close(&outbox->cur_fd);
    pthread_mutex_destroy(&outbox->mutex);
    free(outbox);
}

/* A Maildir name has no '/' and no ':', which begins the flags. */
static bool name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";
    size_t size = strnlen(name, CAPTURE_MAILDIR_NAME_MAX_BYTES + 1);
    return size > 0 && size <= CAPTURE_MAILDIR_NAME_MAX_BYTES && name[0] != '.' && strspn(name, allowed) == size;
}

static bool was_moved_by_reader(const struct capture_maildir *outbox, const char *name)
{
    static const char *const flags[] = { ":2,", ":2,S" };
    for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
        char moved[CAPTURE_MAILDIR_NAME_MAX_BYTES + 8];
        snprintf(moved, sizeof(moved), "%s%s", name, flags[i]);
        if (faccessat(outbox->cur_fd, moved, F_OK, 0) == 0)
            return true;
    }
    return false;
}

static bool fits_locked(const struct capture_maildir *outbox, struct capture_maildir_usage more)
{
    return outbox->used.messages + outbox->pending.messages + more.messages <= outbox->bounds.max_messages &&
           outbox->used.bytes + outbox->pending.bytes + more.bytes <= outbox->bounds.max_bytes;
}

static bool reserve_locked(struct capture_maildir *outbox, struct capture_maildir_usage more, struct error *err)
{
    bool is_stale = clock_monotonic_us() - outbox->measured_us >= CAPTURE_MAILDIR_REMEASURE_US;
    if (!fits_locked(outbox, more) && is_stale && !measure_locked(outbox, err))
        return false;
    if (!fits_locked(outbox, more))
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                    "The capture outbox is full (%llu messages, %llu bytes at most); delete mail from it.",
                    (unsigned long long)outbox->bounds.max_messages, (unsigned long long)outbox->bounds.max_bytes);
    outbox->pending.messages += more.messages;
    outbox->pending.bytes += more.bytes;
    return true;
}

/* Reserves room for the message, less the file it replaces, and tells what was reserved. */
static bool reserve(struct capture_maildir *outbox, const char *name, size_t size, struct capture_maildir_usage *ret_reserved,
                    struct error *err)
{
    struct stat old;
    bool replaces = fstatat(outbox->new_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    *ret_reserved = (struct capture_maildir_usage){ .messages = !replaces, .bytes = size };
    if (replaces)
        ret_reserved->bytes -= (uint64_t)old.st_size < size ? (uint64_t)old.st_size : size;

    pthread_mutex_lock(&outbox->mutex);
    bool done = reserve_locked(outbox, *ret_reserved, err);
    pthread_mutex_unlock(&outbox->mutex);
    return done;
}

/* A delivery has ended. If the folders were counted between its rename and this, it counts twice until the next count. */
static void settle(struct capture_maildir *outbox, struct capture_maildir_usage reserved, bool delivered)
{
    pthread_mutex_lock(&outbox->mutex);
    outbox->pending.messages -= reserved.messages;
    outbox->pending.bytes -= reserved.bytes;
    if (delivered) {
        outbox->used.messages += reserved.messages;
        outbox->used.bytes += reserved.bytes;
    }
    pthread_mutex_unlock(&outbox->mutex);
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_tmp(const struct capture_maildir *outbox, const char *tmp_name, const void *bytes, size_t size, struct error *err)
{
    CLEANUP(fd_close) int fd = openat(outbox->tmp_fd, tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_errno(err, "outbox: create");
    if (!write_all(fd, bytes, size))
        return fail_errno(err, "outbox: write");
    if (outbox->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fdatasync(fd) != 0)
        return fail_errno(err, "outbox: fdatasync");
    return true;
}

static bool write_and_rename(struct capture_maildir *outbox, const char *name, const void *bytes, size_t size, struct error *err)
{
    char tmp_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 48];
    uint64_t count = atomic_fetch_add(&outbox->tmp_counter, 1);
    snprintf(tmp_name, sizeof(tmp_name), "%s.%d.%llu", name, (int)getpid(), (unsigned long long)count);

    bool done = write_tmp(outbox, tmp_name, bytes, size, err);
    if (done && renameat(outbox->tmp_fd, tmp_name, outbox->new_fd, name) != 0)
        done = fail_errno(err, "outbox: rename");
    if (!done) {
        unlinkat(outbox->tmp_fd, tmp_name, 0);
        return false;
    }
    if (outbox->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fsync(outbox->new_fd) != 0)
        return fail_errno(err, "outbox: fsync folder");
    return true;
}

bool capture_maildir_deliver(struct capture_maildir *outbox, const char *name, const void *bytes, size_t size, struct error *err)
{
    if (!name_is_valid(name))
        return fail(err, ERR_INTERNAL_ERROR, NULL, "A message has a name that cannot be a file.");
    if (was_moved_by_reader(outbox, name))
        return true;
    struct capture_maildir_usage reserved;
    if (!reserve(outbox, name, size, &reserved, err))
        return false;
    bool delivered = write_and_rename(outbox, name, bytes, size, err);
    settle(outbox, reserved, delivered);
    return delivered;
}
