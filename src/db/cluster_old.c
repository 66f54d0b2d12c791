#include "db/cluster_old.h"

#include "base/clock.h"
#include "db/cluster_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COMMAND_LINE_MAX_BYTES = 8 * 1024,
    POLL_MS = 20,
    GIVE_UP_MS = 40000,
};

/* The signals for processes that do not end, and their times. For the server the first two are the fast and the immediate
 * shutdown. */
static const struct {
    int after_ms;
    int signal;
} stop_signals[] = { { 3000, SIGINT }, { 20000, SIGQUIT }, { 30000, SIGKILL } };

char *cluster_name(struct arena *arena, const struct cluster_paths *paths)
{
    uint64_t hash = cluster_hash(paths->data_dir, strlen(paths->data_dir), CLUSTER_HASH_SEED);
    /* Another container may have another folder under the same path. */
    struct stat info;
    if (stat(paths->data_dir, &info) == 0) {
        uint64_t identity[2] = { info.st_dev, info.st_ino };
        hash = cluster_hash(identity, sizeof(identity), hash);
    }
    return arena_printf(arena, "posthorn-%016" PRIx64, hash);
}

/* Reads a whole small file, NUL-terminated; returns its size, or -1. */
static ssize_t read_small_file(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, ret_text, size - 1);
    close(fd);
    if (got >= 0)
        ret_text[got] = '\0';
    return got;
}

static bool is_postgres(const char *command_line)
{
    const char *slash = strrchr(command_line, '/');
    return strcmp(slash != NULL ? slash + 1 : command_line, "postgres") == 0 ||
           strncmp(command_line, "postgres: ", strlen("postgres: ")) == 0;
}

static ssize_t read_command_line(pid_t pid, char ret_text[COMMAND_LINE_MAX_BYTES])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    return read_small_file(path, ret_text, COMMAND_LINE_MAX_BYTES);
}

/* The server's command line has its arguments, that of its children "postgres: NAME: …". */
static bool belongs_to_cluster(pid_t pid, const char *name)
{
    char text[COMMAND_LINE_MAX_BYTES];
    ssize_t size = read_command_line(pid, text);
    return size > 0 && is_postgres(text) && memmem(text, (size_t)size, name, strlen(name)) != NULL;
}

/* Sends `signal` (0: none) to every process of the cluster and returns their number. */
static size_t visit_processes(const char *name, int signal)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return 0;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || !belongs_to_cluster(pid, name))
            continue;
        count++;
        if (signal != 0)
            kill(pid, signal);
    }
    closedir(processes);
    return count;
}

static bool await_processes(const char *name, struct error *err)
{
    int64_t start_us = clock_monotonic_us();
    size_t next = 0;
    while (visit_processes(name, 0) > 0) {
        int64_t waited_ms = (clock_monotonic_us() - start_us) / US_PER_MS;
        if (next < ARRAY_COUNT(stop_signals) && waited_ms >= stop_signals[next].after_ms)
            visit_processes(name, stop_signals[next++].signal);
        if (waited_ms > GIVE_UP_MS)
            return fail(err, ERR_SERVICE_UNAVAILABLE, "data",
                        "The earlier PostgreSQL server of this data folder does not stop. Stop it, then try again.");
        process_sleep_ms(POLL_MS);
    }
    return true;
}

/* Whether a server works in another folder; false if the kernel does not permit to find out. */
static bool has_other_folder(pid_t pid, const char *pg_data_dir)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    struct stat other;
    struct stat own;
    return stat(path, &other) == 0 && stat(pg_data_dir, &own) == 0 && (other.st_dev != own.st_dev || other.st_ino != own.st_ino);
}

/* PostgreSQL refuses to start while the process id in its pid file is in use, although after a crash or a reboot another
 * program may have it. A pid file with an unused id is left to PostgreSQL, which then also checks for orphaned sessions. */
static bool clear_pid_file(const struct cluster_paths *paths, struct error *err)
{
    const char *path = paths->server_pid;
    char text[256];
    if (read_small_file(path, text, sizeof(text)) < 0)
        return true;
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return true;
    char command_line[COMMAND_LINE_MAX_BYTES];
    bool other_program = read_command_line(pid, command_line) >= 0 && !is_postgres(command_line);
    if (!other_program && !has_other_folder(pid, paths->pg_data_dir))
        return fail(err, ERR_INTERNAL_ERROR, "data", "Another PostgreSQL server (process %d) uses the data folder. Stop it first.",
                    (int)pid);
    if (unlink(path) != 0)
        return cluster_fail_with_errno(err, "Removing a stale pid file", path);
    return true;
}

bool cluster_await_old(struct arena *arena, const struct cluster_paths *paths, struct error *err)
{
    return await_processes(cluster_name(arena, paths), err) && clear_pid_file(paths, err);
}
