#include "engine/imports/source.h"

#include "base/clock.h"
#include "base/text.h"
#include "sql/imports.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool refuse_path(struct error *err, const char *message)
{
    return fail(err, ERR_INVALID_REQUEST, "path", "%s", message);
}

bool import_path_relative(struct arena *arena, const char *root, const char *path, const char **ret_path, struct error *err)
{
    if (path[0] != '/') {
        *ret_path = path;
        return true;
    }
    size_t size = strlen(root);
    while (size > 1 && root[size - 1] == '/')
        size--;
    bool is_beneath = strncmp(path, root, size) == 0 && (path[size] == '/' || size == 1);
    if (!is_beneath)
        return refuse_path(err, "path must be in the import folder.");
    *ret_path = arena_dup(arena, path + size + strspn(path + size, "/"));
    return true;
}

static bool explain_open_error(struct error *err)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        return refuse_path(err, "The import folder has no such file.");
    case ELOOP:
        return refuse_path(err, "Symbolic links are not followed in the import folder.");
    case EXDEV:
        return refuse_path(err, "path must not leave the import folder.");
    case EACCES:
    case EPERM:
        return refuse_path(err, "The server has no permission to read the file.");
    default:
        refuse_path(err, "The file cannot be opened.");
        return error_because(err, "openat2: %s", strerror(errno));
    }
}

/* Opens a regular file below the root (no path traversal). -1 with the error. */
static int open_beneath(const char *root, const char *path, struct stat *ret_stat, struct error *err)
{
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0) {
        refuse_path(err, "The import folder cannot be opened.");
        error_because(err, "open: %s", strerror(errno));
        return -1;
    }
    /* O_NONBLOCK: opening a named pipe must not block. */
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    int saved = errno;
    close(root_fd);
    errno = saved;
    if (fd < 0) {
        explain_open_error(err);
        return -1;
    }
    if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
        return fd;
    close(fd);
    refuse_path(err, "path must be a regular file.");
    return -1;
}

static struct import_file file_identity(const struct stat *stat)
{
    return (struct import_file){
        .device = (int64_t)stat->st_dev,
        .inode = (int64_t)stat->st_ino,
        .modified_ns = stat->st_mtim.tv_sec * INT64_C(1000000000) + stat->st_mtim.tv_nsec,
        .size_bytes = stat->st_size,
    };
}

static bool is_same_file(const struct import_file *left, const struct import_file *right)
{
    return left->device == right->device && left->inode == right->inode && left->modified_ns == right->modified_ns &&
           left->size_bytes == right->size_bytes;
}

bool import_file_look(const char *root, const char *path, struct import_file *ret_file, struct error *err)
{
    struct stat stat;
    int fd = open_beneath(root, path, &stat, err);
    if (fd < 0)
        return false;
    close(fd);
    *ret_file = file_identity(&stat);
    return true;
}

bool import_source_open_file(struct import_source *source, const char *root, const char *path, const struct import_file *expected,
                             struct error *err)
{
    struct stat stat;
    source->fd = -1;
    int fd = open_beneath(root, path, &stat, err);
    if (fd < 0)
        return false;
    source->fd = fd;
    source->path = path;
    source->file = *expected;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return import_source_is_unchanged(source, err);
}

bool import_source_is_unchanged(const struct import_source *source, struct error *err)
{
    if (source->fd < 0)
        return true;
    struct stat stat;
    struct import_file now = { 0 };
    if (fstat(source->fd, &stat) == 0)
        now = file_identity(&stat);
    return is_same_file(&now, &source->file) || refuse_path(err, "The file was changed after the import was requested.");
}

void import_source_open_text(struct import_source *source, int64_t size_bytes)
{
    source->fd = -1;
    source->file = (struct import_file){ .size_bytes = size_bytes };
}

void import_source_open_given(struct import_source *source, const char *text)
{
    import_source_open_text(source, (int64_t)strlen(text));
    source->text = text;
}

static bool read_stored_text(const struct import_source *source, struct arena *arena, int64_t offset, size_t size,
                             struct bytes *ret_bytes, struct error *err)
{
    if (size == 0) {
        *ret_bytes = (struct bytes){ (const unsigned char *)"", 0 };
        return true;
    }
    struct import_text_part_params params = {
        .brand_id = source->work->brand_id,
        .id = source->import_id,
        .offset = offset,
        .size = (int64_t)size,
    };
    struct import_text_part_row *row;
    if (!sql_import_text_part(source->work->conn, arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The text of this import no longer exists.");
    *ret_bytes = row->part;
    return true;
}

bool import_source_read(const struct import_source *source, struct arena *arena, int64_t offset, unsigned char *buffer, size_t size,
                        struct bytes *ret_bytes, struct error *err)
{
    int64_t left = source->file.size_bytes - offset;
    size_t wanted = left < (int64_t)size ? (size_t)(left > 0 ? left : 0) : size;
    if (source->text != NULL) {
        *ret_bytes = (struct bytes){ (const unsigned char *)source->text + offset, wanted };
        return true;
    }
    if (source->fd < 0)
        return read_stored_text(source, arena, offset, wanted, ret_bytes, err);
    size_t used = 0;
    while (used < wanted) {
        ssize_t got = pread(source->fd, buffer + used, wanted - used, offset + (int64_t)used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            refuse_path(err, "The file cannot be read.");
            return error_because(err, "pread: %s", strerror(errno));
        }
        if (got == 0)
            return refuse_path(err, "The file was changed after the import was requested.");
        used += (size_t)got;
    }
    *ret_bytes = (struct bytes){ buffer, used };
    return true;
}

void import_source_close(struct import_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}
