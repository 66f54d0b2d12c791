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
    enum capture_maildir_sync sync;
    atomic_uint_fast64_t tmp_counter;

    pthread_mutex_t mutex; /* guards the members below */
    struct capture_quota quota;
    int64_t measured_us;    /* monotonic: the end of the last count */
    int64_t measure_for_us; /* that it took */
};

/* A full Maildir counts its folders again to notice deleted mail: not sooner than this, and in at most a twentieth of the time. */
enum { REMEASURE_MIN_US = 1000000, REMEASURE_FACTOR = 20 };

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

/* Copies the owner from a file name; false for a message of no owner. The flags of a reader follow a ':'. */
static bool copy_owner(const char *name, char ret_owner[CAPTURE_OWNER_MAX_BYTES + 1])
{
    const char *at = strrchr(name, '@');
    if (at == NULL)
        return false;
    snprintf(ret_owner, CAPTURE_OWNER_MAX_BYTES + 1, "%.*s", (int)strcspn(at + 1, ":"), at + 1);
    return true;
}

/* Counts the messages of one folder. A file that disappears meanwhile is not counted. */
static bool measure_folder(int fd, struct capture_quota *quota, struct error *err)
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
        char owner[CAPTURE_OWNER_MAX_BYTES + 1];
        capture_quota_count(quota, copy_owner(entry->d_name, owner) ? owner : NULL, (uint64_t)status.st_size);
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
    int64_t begun_us = clock_monotonic_us();
    capture_quota_begin_count(&maildir->quota);
    bool done = measure_folder(maildir->new_fd, &maildir->quota, err) && measure_folder(maildir->cur_fd, &maildir->quota, err);
    maildir->measured_us = clock_monotonic_us();
    maildir->measure_for_us = maildir->measured_us - begun_us;
    return done;
}

bool capture_maildir_measure(struct capture_maildir *maildir, struct capture_amount *ret_usage, struct error *err)
{
    pthread_mutex_lock(&maildir->mutex);
    bool done = measure_locked(maildir, err);
    if (done)
        *ret_usage = maildir->quota.stored;
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

bool capture_maildir_open(const char *path, struct capture_amount bound, enum capture_maildir_sync sync,
                          struct capture_maildir **ret_maildir, struct error *err)
{
    struct capture_maildir *maildir = malloc(sizeof(*maildir));
    if (maildir == NULL)
        panic(PANIC_NO_MEMORY);
    *maildir = (struct capture_maildir){ .tmp_fd = -1, .new_fd = -1, .cur_fd = -1, .sync = sync };
    capture_quota_init(&maildir->quota, bound);
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
    capture_quota_done(&maildir->quota);
    pthread_mutex_destroy(&maildir->mutex);
    free(maildir);
}

/* Ids and owners: a Maildir name has no '/', and no ':', which starts the flags; an '@' stands before the owner. */
static bool is_valid(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return text[0] != '\0' && text[strspn(text, allowed)] == '\0';
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

static bool may_measure_again(const struct capture_maildir *maildir)
{
    int64_t pause_us = maildir->measure_for_us * REMEASURE_FACTOR;
    return clock_monotonic_us() - maildir->measured_us >= (pause_us > REMEASURE_MIN_US ? pause_us : REMEASURE_MIN_US);
}

/* What a message adds: it may replace a file. */
static struct capture_amount amount_for(const struct capture_maildir *maildir, const char *name, size_t size)
{
    struct stat old;
    if (fstatat(maildir->new_fd, name, &old, AT_SYMLINK_NOFOLLOW) != 0)
        return (struct capture_amount){ .messages = 1, .bytes = size };
    uint64_t old_size = (uint64_t)old.st_size;
    return (struct capture_amount){ .bytes = old_size < size ? size - old_size : 0 };
}

static bool reserve(struct capture_maildir *maildir, const char *owner, struct capture_amount added, bool *ret_is_full,
                    struct error *err)
{
    pthread_mutex_lock(&maildir->mutex);
    bool done = true;
    *ret_is_full = !capture_quota_reserve(&maildir->quota, owner, added);
    if (*ret_is_full && may_measure_again(maildir)) {
        done = measure_locked(maildir, err);
        *ret_is_full = done && !capture_quota_reserve(&maildir->quota, owner, added);
    }
    pthread_mutex_unlock(&maildir->mutex);
    if (*ret_is_full)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                    "The capture outbox has no room for this message. Mail must be deleted from it first.");
    return done;
}

/* Ends a delivery. A message is counted twice until the next count if the folders were counted after its rename. */
static void complete_reservation(struct capture_maildir *maildir, const char *owner, struct capture_amount reserved, bool delivered)
{
    pthread_mutex_lock(&maildir->mutex);
    capture_quota_complete(&maildir->quota, owner, reserved, delivered);
    pthread_mutex_unlock(&maildir->mutex);
}

static bool capture_write_all(int fd, const unsigned char *bytes, size_t size)
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

static bool write_tmp_message(const struct capture_maildir *maildir, const char *tmp_name, struct bytes text, struct error *err)
{
    CLEANUP(capture_fd_close) int fd = openat(maildir->tmp_fd, tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return capture_fail(err, "capture Maildir: create");
    if (!capture_write_all(fd, text.data, text.size))
        return capture_fail(err, "capture Maildir: write");
    if (maildir->sync == CAPTURE_MAILDIR_SYNC_DURABLE && fdatasync(fd) != 0)
        return capture_fail(err, "capture Maildir: fdatasync");
    return true;
}

static bool write_message(struct capture_maildir *maildir, const char *name, struct bytes text, struct error *err)
{
    char tmp_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 48];
    uint64_t count = atomic_fetch_add(&maildir->tmp_counter, 1);
    snprintf(tmp_name, sizeof(tmp_name), "%s.%d.%llu", name, (int)getpid(), (unsigned long long)count);

    bool done = write_tmp_message(maildir, tmp_name, text, err);
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

/* The name of the message's file; false when its id or its owner is none. */
static bool make_name(const struct captured_message *message, char ret_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 1])
{
    const char *separator = message->owner != NULL ? "@" : "";
    const char *owner = message->owner != NULL ? message->owner : "";
    int size = snprintf(ret_name, CAPTURE_MAILDIR_NAME_MAX_BYTES + 1, "%s%s%s", message->id, separator, owner);
    return size <= CAPTURE_MAILDIR_NAME_MAX_BYTES && is_valid(message->id) && message->id[0] != '.' &&
           (message->owner == NULL || (is_valid(owner) && strlen(owner) <= CAPTURE_OWNER_MAX_BYTES));
}

bool capture_maildir_deliver(struct capture_maildir *maildir, const struct captured_message *message, bool *ret_is_full,
                             struct error *err)
{
    char name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 1];
    *ret_is_full = false;
    if (!make_name(message, name))
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The name of a message is not a valid file name.");
    if (was_moved_by_reader(maildir, name))
        return true;
    struct capture_amount added = amount_for(maildir, name, message->text.size);
    if (!reserve(maildir, message->owner, added, ret_is_full, err))
        return false;
    bool delivered = write_message(maildir, name, message->text, err);
    complete_reservation(maildir, message->owner, added, delivered);
    return delivered;
}
