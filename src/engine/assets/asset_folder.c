/*
 * Asset store in a folder: assets/ab/cdef….png, and assets/tmp for files that
 * are being written. Several processes can use one folder: a name is the hash of
 * the bytes, so a second writer replaces the file by an identical one.
 */
#include "engine/assets/asset_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARD_CHARS = 2, /* 1,024 subfolders, so that each of them stays small */
    PATH_BYTES = ASSET_NAME_BYTES + 8,
    TMP_NAME_BYTES = ASSET_NAME_BYTES + 48,
    LEFTOVER_AGE_S = 3600, /* writing one image never takes an hour */
};

struct asset_folder {
    struct asset_store store;
    struct arena *arena; /* holds it */
    char *path;          /* …/assets */
    pthread_mutex_t mutex;
    bool is_swept; /* guarded by the mutex: leftovers were removed */
    atomic_uint_fast64_t tmp_counter;
};

static void close_folder_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool fail_asset_errno(struct error *err, const char *what)
{
    int cause = errno;
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The image store is not available now. Try again later.");
    return error_because(err, "assets: %s: %s", what, strerror(cause));
}

static struct asset_folder *asset_folder_of(struct asset_store *store)
{
    return (struct asset_folder *)store;
}

/* The path of an asset in the store: "ab/cdef….png". */
static void stored_asset_path(const struct asset_name *name, char ret_shard[SHARD_CHARS + 1], char ret_path[PATH_BYTES])
{
    snprintf(ret_shard, SHARD_CHARS + 1, "%.*s", SHARD_CHARS, name->text);
    snprintf(ret_path, PATH_BYTES, "%s/%s", ret_shard, name->text + SHARD_CHARS);
}

/* Opens the folder. -1 when it does not exist; this is normal before the first image. */
static int open_root(const struct asset_folder *folder)
{
    return open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- Reading ---- */

/* Opens a stored file. `ret_found` is false when there is none. */
static bool open_stored(const struct asset_folder *folder, const struct asset_name *name, int *ret_fd, struct stat *ret_status,
                        bool *ret_found, struct error *err)
{
    char shard[SHARD_CHARS + 1];
    char path[PATH_BYTES];
    CLEANUP(close_folder_fd) int root = open_root(folder);
    stored_asset_path(name, shard, path);
    *ret_fd = root >= 0 ? openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    *ret_found = *ret_fd >= 0;
    if (*ret_fd < 0)
        return errno == ENOENT || errno == ELOOP || fail_asset_errno(err, "open");
    if (fstat(*ret_fd, ret_status) != 0 || !S_ISREG(ret_status->st_mode)) {
        close(*ret_fd);
        *ret_fd = -1;
        *ret_found = false;
    }
    return true;
}

static bool folder_open(struct asset_store *store, const struct asset_name *name, struct asset_file *ret_file, bool *ret_found,
                        struct error *err)
{
    struct stat status;
    int fd;
    if (!open_stored(asset_folder_of(store), name, &fd, &status, ret_found, err))
        return false;
    if (*ret_found)
        *ret_file = (struct asset_file){ .fd = fd, .bytes = status.st_size };
    return true;
}

static bool folder_exists(struct asset_store *store, const struct asset_name *name, bool *ret_exists, struct error *err)
{
    struct stat status;
    CLEANUP(close_folder_fd) int fd = -1;
    return open_stored(asset_folder_of(store), name, &fd, &status, ret_exists, err);
}

/* ---- Storing ---- */

static bool open_or_make(int base_fd, const char *name, int *ret_fd, struct error *err)
{
    bool made = mkdirat(base_fd, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return fail_asset_errno(err, "make folder");
    *ret_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd < 0)
        return fail_asset_errno(err, "open folder");
    /* Without fsync, a power failure could lose the new folder with its files. */
    return !made || base_fd == AT_FDCWD || fsync(base_fd) == 0 || fail_asset_errno(err, "fsync");
}

/* Removes the temporary files of killed writers. */
static void remove_leftovers(int tmp_fd)
{
    int copy = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (entries == NULL) {
        close_folder_fd(&copy);
        return;
    }
    time_t now = time(NULL);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(tmp_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (now - status.st_mtime > LEFTOVER_AGE_S)
            unlinkat(tmp_fd, entry->d_name, 0);
    }
    closedir(entries);
}

static bool open_tmp(struct asset_folder *folder, int root_fd, int *ret_fd, struct error *err)
{
    if (!open_or_make(root_fd, "tmp", ret_fd, err))
        return false;
    pthread_mutex_lock(&folder->mutex);
    bool sweeps = !folder->is_swept;
    folder->is_swept = true;
    pthread_mutex_unlock(&folder->mutex);
    if (sweeps)
        remove_leftovers(*ret_fd);
    return true;
}

static bool write_asset_bytes(int fd, const unsigned char *bytes, size_t size)
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

static bool write_tmp_file(int tmp_fd, const char *tmp_name, const void *bytes, size_t size, struct error *err)
{
    CLEANUP(close_folder_fd) int fd = openat(tmp_fd, tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_asset_errno(err, "create");
    if (!write_asset_bytes(fd, bytes, size))
        return fail_asset_errno(err, "write");
    return fsync(fd) == 0 || fail_asset_errno(err, "fsync");
}

/* Writes a temporary file and renames it after fsync, so that a reader never sees an incomplete file (atomic write). */
static bool write_and_rename_asset(struct asset_folder *folder, int root_fd, const struct asset_name *name, const void *bytes,
                                   size_t size, struct error *err)
{
    char shard[SHARD_CHARS + 1];
    char path[PATH_BYTES];
    char tmp_name[TMP_NAME_BYTES];
    CLEANUP(close_folder_fd) int tmp_fd = -1;
    CLEANUP(close_folder_fd) int shard_fd = -1;
    stored_asset_path(name, shard, path);
    uint64_t count = atomic_fetch_add(&folder->tmp_counter, 1);
    snprintf(tmp_name, sizeof(tmp_name), "%s.%d.%llu", name->text, (int)getpid(), (unsigned long long)count);
    if (!open_tmp(folder, root_fd, &tmp_fd, err) || !open_or_make(root_fd, shard, &shard_fd, err))
        return false;
    bool done = write_tmp_file(tmp_fd, tmp_name, bytes, size, err);
    if (done && renameat(tmp_fd, tmp_name, shard_fd, name->text + SHARD_CHARS) != 0)
        done = fail_asset_errno(err, "rename");
    if (!done) {
        unlinkat(tmp_fd, tmp_name, 0);
        return false;
    }
    return fsync(shard_fd) == 0 || fail_asset_errno(err, "fsync folder");
}

/* Opens and locks the subfolder of an asset: shared to renew a file, exclusively to remove one. -1 when it does not exist. The lock
 * ends with the descriptor. */
static int lock_shard(const struct asset_folder *folder, const char *shard, int how)
{
    CLEANUP(close_folder_fd) int root = open_root(folder);
    int shard_fd = root >= 0 ? openat(root, shard, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (shard_fd >= 0 && flock(shard_fd, how) != 0)
        close_folder_fd(&shard_fd);
    return shard_fd;
}

/* Sets the time of a stored file to now, so that it is not removed as one that nobody needs. */
static bool renew_stored(const struct asset_folder *folder, const struct asset_name *name, bool *ret_exists, struct error *err)
{
    char shard[SHARD_CHARS + 1];
    char path[PATH_BYTES];
    stored_asset_path(name, shard, path);
    CLEANUP(close_folder_fd) int shard_fd = lock_shard(folder, shard, LOCK_SH);
    *ret_exists = shard_fd >= 0 && utimensat(shard_fd, name->text + SHARD_CHARS, NULL, AT_SYMLINK_NOFOLLOW) == 0;
    return *ret_exists || errno == ENOENT || fail_asset_errno(err, "renew");
}

static bool folder_put(struct asset_store *store, const struct asset_name *name, const void *bytes, size_t size, struct error *err)
{
    struct asset_folder *folder = asset_folder_of(store);
    bool exists = false;
    if (!folder_exists(store, name, &exists, err) || (exists && !renew_stored(folder, name, &exists, err)))
        return false;
    if (exists)
        return true;
    CLEANUP(close_folder_fd) int root_fd = -1;
    return open_or_make(AT_FDCWD, folder->path, &root_fd, err) && write_and_rename_asset(folder, root_fd, name, bytes, size, err);
}

static bool folder_remove(struct asset_store *store, const struct asset_name *name, int64_t since_s, bool *ret_removed,
                          struct error *err)
{
    struct stat status;
    char shard[SHARD_CHARS + 1];
    char path[PATH_BYTES];
    stored_asset_path(name, shard, path);
    const char *file = name->text + SHARD_CHARS;
    CLEANUP(close_folder_fd) int shard_fd = lock_shard(asset_folder_of(store), shard, LOCK_EX);
    bool is_there = shard_fd >= 0 && fstatat(shard_fd, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
    *ret_removed = is_there ? status.st_mtime < since_s : errno == ENOENT;
    if (is_there && !*ret_removed)
        return true;
    bool gone = is_there ? unlinkat(shard_fd, file, 0) == 0 : *ret_removed;
    return gone || fail_asset_errno(err, "remove");
}

/* ---- Store ---- */

static void folder_close(struct asset_store *store)
{
    struct asset_folder *folder = asset_folder_of(store);
    pthread_mutex_destroy(&folder->mutex);
    arena_free(folder->arena);
}

static const struct asset_store_operations operations = {
    .put = folder_put,
    .open = folder_open,
    .exists = folder_exists,
    .remove = folder_remove,
    .close = folder_close,
};

struct asset_store *asset_folder_new(const char *data_dir)
{
    struct arena *arena = arena_new(0);
    struct asset_folder *folder = arena_alloc(arena, sizeof(*folder));
    folder->arena = arena;
    folder->path = arena_printf(arena, "%s/assets", data_dir);
    folder->store.operations = &operations;
    pthread_mutex_init(&folder->mutex, NULL);
    return &folder->store;
}
