#include "crypto/key_file.h"

#include "base/text.h"
#include "crypto/keys.h"
#include "crypto/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 8192 };

static const char heading[] =
    "# Master keys of this Posthorn installation: number and key, the last one seals and all of them open.\n"
    "# Whoever has this file and the database can sign mail in your name; without it nobody can.\n"
    "# Keep it secret, and keep a copy of it apart from the backups of the database.\n";

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool fail_file(struct error *err)
{
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The master keys of this installation cannot be used.");
}

static bool fail_errno(struct error *err, const char *what, const char *path)
{
    int cause = errno;
    return fail_file(err) || error_because(err, "%s %s: %s", what, path, strerror(cause));
}

/* ---- Reading ---- */

/* "7 BASE64" */
static bool read_line(struct arena *arena, char *line, struct seal_ring *ring)
{
    int64_t id;
    size_t size;
    char *key_text = strchr(line, ' ');
    if (key_text == NULL)
        return false;
    *key_text++ = '\0';
    unsigned char *key = base64_decode(arena, key_text, &size);
    if (key == NULL)
        return false;
    bool is_key =
        size == SEAL_KEY_BYTES && int64_parse(line, &id) && id >= 1 && id <= SEAL_MAX_KEY_ID && seal_ring_add(ring, (int)id, key);
    secret_wipe(key, size);
    return is_key;
}

static bool read_lines(struct arena *arena, char *text, const char *path, struct seal_ring *ring, struct error *err)
{
    int number = 0;
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (!read_line(arena, line, ring))
            return fail_file(err) || error_because(err, "%s, line %d: not a new number and a key of %d bytes in base64", path,
                                                   number, SEAL_KEY_BYTES);
    }
    return seal_ring_count(ring) > 0 || fail_file(err) || error_because(err, "%s has no key", path);
}

static bool check_access(int fd, const char *path, struct error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail_errno(err, "look at", path);
    if ((info.st_mode & S_IRWXO) != 0)
        return fail_file(err) || error_because(err, "%s can be read by everybody: chmod 600 it, and consider new keys", path);
    return true;
}

static bool read_open_file(struct arena *arena, int fd, const char *path, struct seal_ring **ret_ring, struct error *err)
{
    char *text = secret_alloc(arena, FILE_MAX_BYTES + 1);
    size_t size = 0;
    ssize_t got = 1;
    if (!check_access(fd, path, err))
        return false;
    while (got > 0 && size < FILE_MAX_BYTES) {
        got = pread(fd, text + size, FILE_MAX_BYTES - size, (off_t)size);
        if (got < 0)
            return fail_errno(err, "read", path);
        size += (size_t)got;
    }
    if (size == FILE_MAX_BYTES)
        return fail_file(err) || error_because(err, "%s is too long for a key file", path);
    *ret_ring = seal_ring_new(arena);
    return read_lines(arena, text, path, *ret_ring, err);
}

bool key_file_read(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
{
    *ret_ring = NULL;
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || fail_errno(err, "open", path);
    return read_open_file(arena, fd, path, ret_ring, err);
}

/* ---- Writing ---- */

static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? arena_dup_bytes(arena, path, (size_t)(slash - path) + 1) : ".";
}

static bool sync_folder(struct arena *arena, const char *path, struct error *err)
{
    const char *folder = folder_of(arena, path);
    CLEANUP(fd_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || fail_errno(err, "sync", folder);
}

/* Gives a file that root makes to whom the installation belongs: the owner of the folder or of the file before. */
static bool hand_over(int fd, const struct stat *owner)
{
    return geteuid() != 0 || fchown(fd, owner->st_uid, owner->st_gid) == 0;
}

/* A file of a name of its own, complete and on the disk. */
static bool write_beside(struct arena *arena, const char *path, const char *text, mode_t mode, const struct stat *owner,
                         const char **ret_beside, struct error *err)
{
    char *beside = arena_printf(arena, "%s.XXXXXX", path);
    CLEANUP(fd_close) int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "create", beside);
    size_t size = strlen(text);
    if (write(fd, text, size) != (ssize_t)size || fchmod(fd, mode) != 0 || !hand_over(fd, owner) || fsync(fd) != 0) {
        fail_errno(err, "write", beside);
        unlink(beside);
        return false;
    }
    *ret_beside = beside;
    return true;
}

/* `before` and a line with a new key, in memory that is wiped. */
static char *text_with_new_key(struct arena *arena, const char *before, int id)
{
    unsigned char key[SEAL_KEY_BYTES];
    random_bytes(key, sizeof(key));
    char *key_text = base64_encode(arena, key, sizeof(key));
    size_t room = strlen(before) + strlen(key_text) + 16;
    char *text = secret_alloc(arena, room);
    const char *gap = before[0] != '\0' && before[strlen(before) - 1] != '\n' ? "\n" : "";
    snprintf(text, room, "%s%s%d %s\n", before, gap, id, key_text);
    secret_wipe(key_text, strlen(key_text));
    secret_wipe(key, sizeof(key));
    return text;
}

bool key_file_make(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
{
    const char *beside;
    struct stat folder;
    if (stat(folder_of(arena, path), &folder) != 0)
        return fail_errno(err, "find the folder of", path);
    if (!write_beside(arena, path, text_with_new_key(arena, heading, 1), S_IRUSR | S_IWUSR, &folder, &beside, err))
        return false;
    /* Unlike a rename, a link does not replace the file of whoever was first. */
    bool done = link(beside, path) == 0 || errno == EEXIST || fail_errno(err, "make", path);
    unlink(beside);
    return done && sync_folder(arena, path, err) && key_file_read(arena, path, ret_ring, err) &&
           (*ret_ring != NULL || fail_file(err) || error_because(err, "%s was removed again", path));
}

/* Opens the file and holds it for us alone; a file that was replaced while we waited is opened anew. */
static bool lock_file(const char *path, int *ret_fd, struct error *err)
{
    for (;;) {
        struct stat ours;
        struct stat there;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        *ret_fd = fd;
        if (fd < 0 && errno == ENOENT)
            return fail(err, ERR_INVALID_REQUEST, "keys", "There is no key file yet; the first secret makes it.");
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &ours) != 0 || stat(path, &there) != 0)
            return fail_errno(err, "lock", path);
        if (ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
            return true;
        close(fd);
    }
}

/* Puts the file with one more key where the file was. */
static bool replace_file(struct arena *arena, int fd, const char *path, int id, struct error *err)
{
    char *text = secret_alloc(arena, FILE_MAX_BYTES + 1);
    const char *beside;
    struct stat before;
    if (pread(fd, text, FILE_MAX_BYTES, 0) < 0 || fstat(fd, &before) != 0)
        return fail_errno(err, "read", path);
    const char *added = text_with_new_key(arena, text, id);
    if (strlen(added) >= FILE_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, "keys", "The key file would be longer than %d bytes; shorten its comments.",
                    FILE_MAX_BYTES);
    if (!write_beside(arena, path, added, before.st_mode & ACCESSPERMS, &before, &beside, err))
        return false;
    if (rename(beside, path) != 0) {
        fail_errno(err, "replace", path);
        unlink(beside);
        return false;
    }
    return sync_folder(arena, path, err);
}

bool key_file_add(struct arena *arena, const char *path, int *ret_id, struct error *err)
{
    char *whole = arena_alloc(arena, PATH_MAX);
    struct seal_ring *ring;
    CLEANUP(fd_close) int fd = -1;
    if (!lock_file(path, &fd, err) || !read_open_file(arena, fd, path, &ring, err))
        return false;
    /* What is replaced is the file itself, not a link to it. */
    if (realpath(path, whole) == NULL)
        return fail_errno(err, "find", path);
    *ret_id = seal_ring_next(ring);
    if (*ret_id == 0)
        return fail(err, ERR_INVALID_REQUEST, "keys", "The key file is full: rewrap, then remove the lines of old keys.");
    return replace_file(arena, fd, whole, *ret_id, err);
}
