#include "db/cluster_runner.h"

#include "db/cluster.h"
#include "db/cluster_locks.h"
#include "db/runner_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_MAX_BYTES = 64, COMMAND_LINE_MAX_BYTES = 4096 };

/* ---- The record ---- */

static void write_record(const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    close(fd);
}

void runner_record_write(const struct cluster_paths *paths, pid_t pid)
{
    char text[32];
    snprintf(text, sizeof(text), "%ld\n", (long)pid);
    write_record(paths->runner_pid, O_TRUNC, text);
}

struct runner_record runner_record_read(const struct cluster_paths *paths)
{
    char text[RECORD_MAX_BYTES] = "";
    struct runner_record record = { .exists = false };
    int fd = open(paths->runner_pid, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return record;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    record.exists = true;
    record.pid = got > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
    record.is_ready = strstr(text, "\nready\n") != NULL;
    return record;
}

void cluster_record_write(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    runner_record_write(&paths, getpid());
}

void cluster_record_mark_ready(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    write_record(cluster_paths(arena, data_dir).runner_pid, O_APPEND, "ready\n");
}

void cluster_record_remove(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    unlink(cluster_paths(arena, data_dir).runner_pid);
}

/* ---- The process ---- */

/* True when the process has the lock file open, or when its descriptors cannot be read. */
static bool has_file_open(struct arena *arena, pid_t pid, const char *path)
{
    struct stat file;
    DIR *folder = opendir(arena_printf(arena, "/proc/%ld/fd", (long)pid));
    if (folder == NULL)
        return errno == EACCES;
    bool found = false;
    bool is_there = stat(path, &file) == 0;
    const struct dirent *entry;
    while (is_there && !found && (entry = readdir(folder)) != NULL) {
        struct stat info;
        found = fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && info.st_dev == file.st_dev && info.st_ino == file.st_ino;
    }
    closedir(folder);
    return found;
}

static bool is_runner_command(struct arena *arena, pid_t pid)
{
    char text[COMMAND_LINE_MAX_BYTES] = "";
    int fd = open(arena_printf(arena, "/proc/%ld/cmdline", (long)pid), O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    cluster_leave(fd);
    size_t command = strlen(text) + 1;
    return got > 0 && command < (size_t)got && strcmp(text + command, "runner") == 0;
}

pid_t runner_pid_of(struct arena *arena, const struct cluster_paths *paths)
{
    pid_t pid = runner_record_read(paths).pid;
    /* The id of a killed runner may belong to another process now, such as another folder's runner. */
    bool is_runner = pid > 0 && is_runner_command(arena, pid) && has_file_open(arena, pid, paths->runner_lock);
    return is_runner ? pid : 0;
}

pid_t cluster_runner_pid(const char *data_dir)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    return runner_pid_of(arena, &paths);
}
