#include "sender/generation_file.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 4096 };

static const char name[] = "generation.json";
static const char new_name[] = "generation.json.new";

static bool fail_file(const char *what, struct error *err)
{
    int number = errno;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The file generation.json of the data folder cannot be used.") ||
           error_because(err, "%s: %s", what, strerror(number));
}

bool generation_folder_lock(const char *data_dir, int *ret_fd, struct error *err)
{
    int fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_file("open folder", err);
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            fail_file("lock folder", err);
            close(fd);
            return false;
        }
    *ret_fd = fd;
    return true;
}

/* ---- Reading ---- */

static bool read_text(int fd, char text[FILE_MAX_BYTES], size_t *ret_size, ino_t *ret_inode)
{
    struct stat facts;
    ssize_t size = read(fd, text, FILE_MAX_BYTES);
    if (size < 0 || fstat(fd, &facts) != 0)
        return false;
    *ret_size = (size_t)size;
    *ret_inode = facts.st_ino;
    return true;
}

static void parse(struct arena *arena, const char *text, size_t size, ino_t inode, struct generation_file *file)
{
    const json_t *json;
    struct error ignored = { .code = ERR_NONE };
    if (!json_read(arena, text, size, (struct json_bounds){ .max_bytes = FILE_MAX_BYTES }, &json, &ignored))
        return;
    const char *installation = json_get_text(json, "installation");
    int64_t folder = json_get_int(json, "folder", 0);
    int64_t generation = json_get_int(json, "generation", -1);
    bool is_original = json_get_int(json, "inode", 0) == (int64_t)inode;
    if (installation != NULL && folder > 0 && generation >= 0 && is_original)
        *file = (struct generation_file){ true, installation, folder, generation };
}

bool generation_file_read(struct arena *arena, int folder_fd, struct generation_file *ret_file, struct error *err)
{
    char text[FILE_MAX_BYTES];
    size_t size = 0;
    ino_t inode = 0;
    *ret_file = (struct generation_file){ .is_original = false };
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT || fail_file("open", err);
    bool is_read = read_text(fd, text, &size, &inode) || fail_file("read", err);
    close(fd);
    if (is_read)
        parse(arena, text, size, inode, ret_file);
    return is_read;
}

/* ---- Writing ---- */

static bool write_text(int fd, const struct generation_file *file)
{
    struct stat facts;
    BUF_SCOPE text;
    buf_init(&text, FILE_MAX_BYTES);
    if (fstat(fd, &facts) != 0)
        return false;
    struct json_writer json;
    json_writer_init(&json, &text);
    json_object_begin(&json);
    json_member_text(&json, "installation", file->installation);
    json_member_int(&json, "folder", file->folder);
    json_member_int(&json, "generation", file->generation);
    json_member_int(&json, "inode", (int64_t)facts.st_ino);
    json_object_end(&json);
    return write(fd, text.data, text.size) == (ssize_t)text.size && fsync(fd) == 0;
}

bool generation_file_write(int folder_fd, const struct generation_file *file, struct error *err)
{
    int fd = openat(folder_fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_file("create", err);
    bool is_written = write_text(fd, file) || fail_file("write", err);
    close(fd);
    if (!is_written)
        return false;
    return (renameat(folder_fd, new_name, folder_fd, name) == 0 && fsync(folder_fd) == 0) || fail_file("rename", err);
}
