#include "mail/capture_maildir.h"

#include "base/clock.h"
#include "base/panic.h"

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

    pthread_mutex_t mutex;                /* guards the members below */
    struct capture_maildir_usage used;    /* in new/ and cur/, by the last count */
    struct capture_maildir_usage pending; /* reserved by deliveries in progress */
    int64_t measured_us;                  /* monotonic: the time of the last count */
};

/* A full Maildir counts its folders again at most this often, to notice deleted mail. */
enum { CAPTURE_MAILDIR_REMEASURE_US = 1000000 };

static void capture_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static void dir_close(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

static bool capture_fail(struct error *err, const char *what)
{
    int cause = errno;
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The capture outbox cannot be used right now.");
    return error_because(err, "%s: %s", what, strerror(cause));
}

/* Opens a stream over a folder; closing it leaves `fd` open. */
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

/* Adds the messages of one folder to `usage`. A file that disappears meanwhile is not counted. */
static bool measure_folder(int fd, struct capture_maildir_usage *usage, struct error *err)
{
    CLEANUP(dir_close) DIR *dir = open_entries(fd);
    if (dir == NULL)
        return capture_fail(err, "capture Maildir: open folder");
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 || capture_fail(err, "capture Maildir: read folder");
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        usage->messages++;
        usage->bytes += (uint64_t)status.st_size;
    }
}

static bool remove_tmp_files(int tmp_fd, struct error *err)
{
    CLEANUP(dir_close) DIR *dir = open_entries(tmp_fd);
    if (dir == NULL)
        return capture_fail(err, "capture Maildir: open tmp");
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 || capture_fail(err, "capture Maildir: read tmp");
        if (entry->d_name[0] != '.')
            unlinkat(tmp_fd, entry->d_name, 0);
    }
}

static bool measure_locked(struct capture_maildir *maildir, struct error *err)
{
    struct capture_maildir_usage usage = { 0 };
    if (!measure_folder(maildir->new_fd, &usage, err) || !measure_folder(maildir->cur_fd, &usage, err))
        return false;
    maildir->used = usage;
    maildir->measured_us = clock_monotonic_us();
    return true;
}

bool capture_maildir_measure(struct capture_maildir *maildir, struct capture_maildir_usage *ret_usage, struct error *err)
{
    pthread_mutex_lock(&maildir->mutex);
    bool done = measure_locked(maildir, err);
    if (done)
        *ret_usage = maildir->used;
    pthread_mutex_unlock(&maildir->mutex);
    return done;
}

static bool open_folder(int base_fd, const char *name, int *ret_fd, struct error *err)
{
    if (mkdirat(base_fd, name, 0700) != 0 && errno != EEXIST)
        return capture_fail(err, "capture Maildir: make folder");
    *ret_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd >= 0 || capture_fail(err, "capture Maildir: open folder");
}

static bool open_folders(struct capture_maildir *maildir, const char *path, struct error *err)
{
    CLEANUP(capture_fd_close) int base_fd = -1;
    if (!open_folder(AT_FDCWD, path, &base_fd, err) || !open_folder(base_fd, "tmp", &maildir->tmp_fd, err) ||
        !open_folder(base_fd, "new", &maildir->new_fd, err) || !open_folder(base_fd, "cur", &maildir->cur_fd, err))
        return false;
    if (maildir->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fsync(base_fd) != 0)
        return capture_fail(err, "capture Maildir: fsync");
    return true;
}

bool capture_maildir_open(const char *path, struct capture_maildir_bounds bounds, enum capture_maildir_sync sync,
                          struct capture_maildir **ret_maildir, struct error *err)
{
    struct capture_maildir *maildir = malloc(sizeof(*maildir));
    if (maildir == NULL)
        panic(PANIC_NO_MEMORY);
    *maildir = (struct capture_maildir){ .tmp_fd = -1, .new_fd = -1, .cur_fd = -1, .bounds = bounds, .sync = sync };
    pthread_mutex_init(&maildir->mutex, NULL);
    if (!open_folders(maildir, path, err) || !remove_tmp_files(maildir->tmp_fd, err) || !measure_locked(maildir, err)) {
        capture_maildir_close(maildir);
        return false;
    }
    *ret_maildir = maildir;
    return true;
}

void capture_maildir_close(struct capture_maildir *maildir)
{
    if (maildir == NULL)
        return;
    capture_fd_close(&maildir->tmp_fd);
    capture_fd_close(&maildir->new_fd);
    capture_fd_close(&maildir->cur_fd);
    pthread_mutex_destroy(&maildir->mutex);
    free(maildir);
}

/* A Maildir name has no '/' and no ':', which starts the flags. */
static bool name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";
    size_t size = strnlen(name, CAPTURE_MAILDIR_NAME_MAX_BYTES + 1);
    return size > 0 && size <= CAPTURE_MAILDIR_NAME_MAX_BYTES && name[0] != '.' && strspn(name, allowed) == size;
}

static bool was_moved_by_reader(const struct capture_maildir *maildir, const char *name)
{
    static const char *const flags[] = { ":2,", ":2,S" };
    for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
        char moved[CAPTURE_MAILDIR_NAME_MAX_BYTES + 8];
        snprintf(moved, sizeof(moved), "%s%s", name, flags[i]);
        if (faccessat(maildir->cur_fd, moved, F_OK, 0) == 0)
            return true;
    }
    return false;
}

static bool fits_locked(const struct capture_maildir *maildir, struct capture_maildir_usage more)
{
    return maildir->used.messages + maildir->pending.messages + more.messages <= maildir->bounds.max_messages &&
           maildir->used.bytes + maildir->pending.bytes + more.bytes <= maildir->bounds.max_bytes;
}

static bool reserve_locked(struct capture_maildir *maildir, struct capture_maildir_usage more, struct error *err)
{
    bool is_stale = clock_monotonic_us() - maildir->measured_us >= CAPTURE_MAILDIR_REMEASURE_US;
    if (!fits_locked(maildir, more) && is_stale && !measure_locked(maildir, err))
        return false;
    if (!fits_locked(maildir, more))
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                    "The capture outbox is full (%llu messages, %llu bytes at most); delete mail from it.",
                    (unsigned long long)maildir->bounds.max_messages, (unsigned long long)maildir->bounds.max_bytes);
    maildir->pending.messages += more.messages;
    maildir->pending.bytes += more.bytes;
    return true;
}

/* Reserves room for the message, less the file that it replaces. */
static bool reserve(struct capture_maildir *maildir, const char *name, size_t size, struct capture_maildir_usage *ret_reserved,
                    struct error *err)
{
    struct stat old;
    bool replaces = fstatat(maildir->new_fd, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    *ret_reserved = (struct capture_maildir_usage){ .messages = !replaces, .bytes = size };
    if (replaces)
        ret_reserved->bytes -= (uint64_t)old.st_size < size ? (uint64_t)old.st_size : size;

    pthread_mutex_lock(&maildir->mutex);
    bool done = reserve_locked(maildir, *ret_reserved, err);
    pthread_mutex_unlock(&maildir->mutex);
    return done;
}

/* Ends a delivery. A message is counted twice until the next count if the folders were counted after its rename. */
static void complete_reservation(struct capture_maildir *maildir, struct capture_maildir_usage reserved, bool delivered)
{
    pthread_mutex_lock(&maildir->mutex);
    maildir->pending.messages -= reserved.messages;
    maildir->pending.bytes -= reserved.bytes;
    if (delivered) {
        maildir->used.messages += reserved.messages;
        maildir->used.bytes += reserved.bytes;
    }
    pthread_mutex_unlock(&maildir->mutex);
}

static bool capture_write_all(int fd, const char *bytes, size_t size)
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

static bool write_tmp_message(const struct capture_maildir *maildir, const char *tmp_name, const void *bytes, size_t size,
                              struct error *err)
{
    CLEANUP(capture_fd_close) int fd = openat(maildir->tmp_fd, tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return capture_fail(err, "capture Maildir: create");
    if (!capture_write_all(fd, bytes, size))
        return capture_fail(err, "capture Maildir: write");
    if (maildir->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fdatasync(fd) != 0)
        return capture_fail(err, "capture Maildir: fdatasync");
    return true;
}

static bool write_message(struct capture_maildir *maildir, const char *name, const void *bytes, size_t size, struct error *err)
{
    char tmp_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 48];
    uint64_t count = atomic_fetch_add(&maildir->tmp_counter, 1);
    snprintf(tmp_name, sizeof(tmp_name), "%s.%d.%llu", name, (int)getpid(), (unsigned long long)count);

    bool done = write_tmp_message(maildir, tmp_name, bytes, size, err);
    if (done && renameat(maildir->tmp_fd, tmp_name, maildir->new_fd, name) != 0)
        done = capture_fail(err, "capture Maildir: rename");
    if (!done) {
        unlinkat(maildir->tmp_fd, tmp_name, 0);
        return false;
    }
    if (maildir->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fsync(maildir->new_fd) != 0)
        return capture_fail(err, "capture Maildir: fsync folder");
    return true;
}

bool capture_maildir_deliver(struct capture_maildir *maildir, const char *name, const void *bytes, size_t size, struct error *err)
{
    if (!name_is_valid(name))
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The name of a message is not a valid file name.");
    if (was_moved_by_reader(maildir, name))
        return true;
    struct capture_maildir_usage reserved;
    if (!reserve(maildir, name, size, &reserved, err))
        return false;
    bool delivered = write_message(maildir, name, bytes, size, err);
    complete_reservation(maildir, reserved, delivered);
    return delivered;
}
