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
    "# Master keys of this Posthorn installation: number and key. The last key encrypts, all keys decrypt.\n"
    "# Anyone with this file and the database can sign mail in your name.\n"
    "# Keep it secret, and store a copy of it separately from the backups of the database.\n";

static void key_file_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool fail_key_file(struct error *err)
{
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The master keys of this installation cannot be used.");
}

static bool key_file_fail(struct error *err, const char *what, const char *path)
{
    int cause = errno;
    return fail_key_file(err) || error_because(err, "%s %s: %s", what, path, strerror(cause));
}

/* ---- Reading ---- */

/* "7 BASE64" */
static bool read_key_line(struct arena *arena, char *line, struct seal_ring *ring)
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

static bool read_key_lines(struct arena *arena, char *text, const char *path, struct seal_ring *ring, struct error *err)
{
    int number = 0;
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (!read_key_line(arena, line, ring))
            return fail_key_file(err) ||
                   error_because(err, "%s, line %d: expected an unused number and a key of %d bytes in base64", path, number,
                                 SEAL_KEY_BYTES);
    }
    return seal_ring_count(ring) > 0 || fail_key_file(err) || error_because(err, "%s has no key", path);
}

static bool check_access(int fd, const char *path, struct error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return key_file_fail(err, "stat", path);
    if ((info.st_mode & S_IRWXO) != 0)
        return fail_key_file(err) || error_because(err, "%s can be read by everybody: chmod 600 it, and consider new keys", path);
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
            return key_file_fail(err, "read", path);
        size += (size_t)got;
    }
    if (size == FILE_MAX_BYTES)
        return fail_key_file(err) || error_because(err, "%s is too long for a key file", path);
    *ret_ring = seal_ring_new(arena);
    return read_key_lines(arena, text, path, *ret_ring, err);
}

bool key_file_read(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
{
    *ret_ring = NULL;
    CLEANUP(key_file_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || key_file_fail(err, "open", path);
    return read_open_file(arena, fd, path, ret_ring, err);
}

/* ---- Writing ---- */

static const char *key_file_folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? arena_dup_bytes(arena, path, (size_t)(slash - path) + 1) : ".";
}

static bool sync_folder(struct arena *arena, const char *path, struct error *err)
{
    const char *folder = key_file_folder(arena, path);
    CLEANUP(key_file_close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || key_file_fail(err, "sync", folder);
}

/* A file that root creates gets the owner of the installation: that of the folder or of the replaced file. */
static bool set_owner(int fd, const struct stat *owner)
{
    return geteuid() != 0 || fchown(fd, owner->st_uid, owner->st_gid) == 0;
}

/* Writes a temporary file beside `path` and syncs it to the disk. */
static bool write_temp_file(struct arena *arena, const char *path, const char *text, mode_t mode, const struct stat *owner,
                            const char **ret_temp_path, struct error *err)
{
    char *temp_path = arena_printf(arena, "%s.XXXXXX", path);
    CLEANUP(key_file_close_fd) int fd = mkostemp(temp_path, O_CLOEXEC);
    if (fd < 0)
        return key_file_fail(err, "create", temp_path);
    size_t size = strlen(text);
    if (write(fd, text, size) != (ssize_t)size || fchmod(fd, mode) != 0 || !set_owner(fd, owner) || fsync(fd) != 0) {
        key_file_fail(err, "write", temp_path);
        unlink(temp_path);
        return false;
    }
    *ret_temp_path = temp_path;
    return true;
}

/* `before` with an added line for a new key, in memory that is wiped. */
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
    const char *temp_path;
    struct stat folder;
    if (stat(key_file_folder(arena, path), &folder) != 0)
        return key_file_fail(err, "find the folder of", path);
    if (!write_temp_file(arena, path, text_with_new_key(arena, heading, 1), S_IRUSR | S_IWUSR, &folder, &temp_path, err))
        return false;
    /* Unlike rename, link does not replace the file of another process that was first. */
    bool done = link(temp_path, path) == 0 || errno == EEXIST || key_file_fail(err, "make", path);
    unlink(temp_path);
    return done && sync_folder(arena, path, err) && key_file_read(arena, path, ret_ring, err) &&
           (*ret_ring != NULL || fail_key_file(err) || error_because(err, "%s was removed again", path));
}

/* Opens the file and locks it exclusively; a file that was replaced during the wait is opened again. */
static bool lock_key_file(const char *path, int *ret_fd, struct error *err)
{
    for (;;) {
        struct stat opened;
        struct stat current;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        *ret_fd = fd;
        if (fd < 0 && errno == ENOENT)
            return fail(err, ERR_INVALID_REQUEST, "keys", "There is no key file yet; the first secret creates it.");
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &opened) != 0 || stat(path, &current) != 0)
            return key_file_fail(err, "lock", path);
        if (opened.st_ino == current.st_ino && opened.st_dev == current.st_dev)
            return true;
        close(fd);
    }
}

/* Replaces the file by one with another key added. */
static bool replace_key_file(struct arena *arena, int fd, const char *path, int id, struct error *err)
{
    char *text = secret_alloc(arena, FILE_MAX_BYTES + 1);
    const char *temp_path;
    struct stat before;
    if (pread(fd, text, FILE_MAX_BYTES, 0) < 0 || fstat(fd, &before) != 0)
        return key_file_fail(err, "read", path);
    const char *added = text_with_new_key(arena, text, id);
    if (strlen(added) >= FILE_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, "keys", "The key file would be longer than %d bytes; shorten its comments.",
                    FILE_MAX_BYTES);
    if (!write_temp_file(arena, path, added, before.st_mode & ACCESSPERMS, &before, &temp_path, err))
        return false;
    if (rename(temp_path, path) != 0) {
        key_file_fail(err, "replace", path);
        unlink(temp_path);
        return false;
    }
    return sync_folder(arena, path, err);
}

bool key_file_add(struct arena *arena, const char *path, int *ret_id, struct error *err)
{
    char *whole = arena_alloc(arena, PATH_MAX);
    struct seal_ring *ring;
    CLEANUP(key_file_close_fd) int fd = -1;
    if (!lock_key_file(path, &fd, err) || !read_open_file(arena, fd, path, &ring, err))
        return false;
    /* Resolves links, so that the file itself is replaced and not a link to it. */
    if (realpath(path, whole) == NULL)
        return key_file_fail(err, "find", path);
    *ret_id = seal_ring_next(ring);
    if (*ret_id == 0)
        return fail(err, ERR_INVALID_REQUEST, "keys",
                    "The key file is full. Rewrap the secrets, then remove the lines of old keys.");
    return replace_key_file(arena, fd, whole, *ret_id, err);
}
