#include "db/cluster.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "db/cluster_locks.h"
#include "db/cluster_process.h"

#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    POLL_MS = 10,
    RUNNER_LOG_TAIL_BYTES = 8 * 1024,
    /* A runner that finds another one ends without a message. If that one ends too, another runner is started. */
    MAX_RUNNERS_STARTED = 3,
};

/* Waits for a runner that is leaving, which holds the clients' lock exclusively. */
static bool share_clients_lock(int fd, int64_t deadline_us)
{
    while (!lock_try(fd, LOCK_OF_CLIENTS, F_RDLCK)) {
        if (clock_monotonic_us() >= deadline_us)
            return false;
        process_sleep_ms(POLL_MS);
    }
    return true;
}

/* ---- The runner's log ---- */

/* The error in one line of the log: the message of an error envelope or of a log line of level error, or a line without
 * JSON, from a program that could not start. NULL for any other line. */
static const char *error_in_line(struct arena *arena, const char *line)
{
    const json_t *json = NULL;
    struct error ignored = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = RUNNER_LOG_TAIL_BYTES };
    if (line[0] == '\0')
        return NULL;
    if (!json_read(arena, line, strlen(line), bounds, &json, &ignored))
        return line;
    const json_t *envelope = json_object_get(json, "error");
    if (envelope != NULL)
        return json_get_text(envelope, "message");
    return text_equal(json_get_text(json, "level"), "error") ? json_get_text(json, "message") : NULL;
}

/* The last error in the log since `start`; "" when there is none. */
static const char *runner_reason(struct arena *arena, int log_fd, off_t start)
{
    struct stat info;
    if (fstat(log_fd, &info) == 0 && info.st_size - start > RUNNER_LOG_TAIL_BYTES)
        start = info.st_size - RUNNER_LOG_TAIL_BYTES;
    char *text = arena_alloc(arena, RUNNER_LOG_TAIL_BYTES + 1);
    const char *reason = "";
    if (pread(log_fd, text, RUNNER_LOG_TAIL_BYTES, start) <= 0)
        return reason;
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        const char *found = error_in_line(arena, line);
        if (found != NULL)
            reason = found;
    }
    return reason;
}

/* ---- Joining ---- */

/* One attempt of a client to reach a folder's server. */
struct joining {
    struct arena *arena;
    struct cluster_paths paths;
    const char *url;
    const char *const *runner_argv;
    bool asks_server; /* a session was lost, so the server must answer; else its pid file is enough */
    int log_fd;
    off_t log_start;
    int start_lock_fd; /* held while a runner that this attempt started has no lock of its own; -1: not held */
    int runner_pidfd;  /* of the runner that this attempt started; -1: none */
    int runners_started;
};

static void joining_cleanup(struct joining *joining)
{
    if (joining->log_fd >= 0)
        close(joining->log_fd);
    if (joining->runner_pidfd >= 0)
        close(joining->runner_pidfd);
    cluster_leave(joining->start_lock_fd);
}

/* Only the holder of this lock starts a runner. `ret_held` is false when another process holds it, or a runner has come
 * meanwhile. */
static bool lock_start(struct joining *joining, bool *ret_held, struct error *err)
{
    *ret_held = joining->start_lock_fd >= 0;
    if (*ret_held)
        return true;
    int fd = lock_open(joining->paths.runner_lock);
    if (fd < 0)
        return cluster_fail_with_errno(err, "Opening the runner's lock", joining->paths.runner_lock);
    *ret_held = lock_try(fd, LOCK_OF_START, F_WRLCK) && !lock_is_held(fd, LOCK_OF_RUNNER);
    if (*ret_held)
        joining->start_lock_fd = fd;
    else
        close(fd);
    return true;
}

static void unlock_start(struct joining *joining)
{
    cluster_leave(joining->start_lock_fd);
    joining->start_lock_fd = -1;
}

static bool start_runner(struct joining *joining, struct error *err)
{
    if (joining->log_fd < 0) {
        joining->log_fd = cluster_open_runner_log(&joining->paths);
        if (joining->log_fd < 0)
            return cluster_fail_with_errno(err, "Opening the runner's log", joining->paths.runner_log);
        joining->log_start = lseek(joining->log_fd, 0, SEEK_END);
    }
    if (joining->runner_pidfd >= 0)
        close(joining->runner_pidfd);
    joining->runner_pidfd = -1;
    joining->runners_started++;
    return process_start_detached(joining->runner_argv, joining->log_fd, &joining->runner_pidfd, err);
}

/* Called while no runner holds the lock: starts one, or reports why the started one ended. */
static bool start_or_report(struct joining *joining, struct error *err)
{
    bool is_starter;
    if (!lock_start(joining, &is_starter, err))
        return false;
    if (!is_starter)
        return true;
    if (joining->runners_started == 0)
        return start_runner(joining, err);
    if (!process_pidfd_ended(joining->runner_pidfd))
        return true;
    const char *reason = runner_reason(joining->arena, joining->log_fd, joining->log_start);
    if (reason[0] == '\0' && joining->runners_started < MAX_RUNNERS_STARTED)
        return start_runner(joining, err);
    fail(err, ERR_SERVICE_UNAVAILABLE, "data", "%s",
         reason[0] != '\0' ? reason : "The runner of the data folder ended without an error message.");
    return error_because(err, "see %s", joining->paths.runner_log);
}

/* Within seconds: a server that has been stopped accepts connections and never answers. */
static bool server_answers(const char *url)
{
    const char *const keywords[] = { "connect_timeout", "dbname", NULL };
    const char *const values[] = { "2", url, NULL };
    return PQpingParams(keywords, values, 1) == PQPING_OK;
}

/* Asking starts a session in the server, which costs more than the first query of a caller. Where the pid file is that of a killed
 * server, the caller's first attempt to connect fails, and cluster_rejoin follows. */
static bool server_is_ready(const struct joining *joining)
{
    pid_t server;
    return joining->asks_server ? server_answers(joining->url) : cluster_is_ready(&joining->paths, &server);
}

static bool await_server(struct joining *joining, int64_t deadline_us, struct error *err)
{
    for (;;) {
        bool has_runner = lock_has_runner(joining->paths.runner_lock);
        if (has_runner)
            unlock_start(joining);
        if (has_runner && server_is_ready(joining))
            return true;
        if (!has_runner && !start_or_report(joining, err))
            return false;
        if (clock_monotonic_us() >= deadline_us) {
            err->retry_after_s = 2;
            return fail(err, ERR_SERVICE_UNAVAILABLE, "data", "The private database was not ready in time. Try again.");
        }
        process_sleep_ms(POLL_MS);
    }
}

static bool join_folder(struct arena *arena, const struct cluster_paths *paths, const char *data_dir,
                        const char *const runner_argv[], bool asks_server, int64_t deadline_us, struct error *err)
{
    struct joining joining = {
        .arena = arena,
        .paths = *paths,
        .url = cluster_url(arena, data_dir),
        .runner_argv = runner_argv,
        .asks_server = asks_server,
        .log_fd = -1,
        .start_lock_fd = -1,
        .runner_pidfd = -1,
    };
    bool ok = await_server(&joining, deadline_us, err);
    joining_cleanup(&joining);
    return ok;
}

bool cluster_rejoin(const char *data_dir, const char *const runner_argv[], int wait_ms, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    return join_folder(arena, &paths, data_dir, runner_argv, true, clock_monotonic_us() + wait_ms * US_PER_MS, err);
}

bool cluster_join(const char *data_dir, const char *const runner_argv[], int wait_ms, int *ret_lock_fd, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    int64_t deadline_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    if (!cluster_make_data_dir(&paths, err))
        return false;
    int lock_fd = lock_open(paths.clients_lock);
    if (lock_fd < 0)
        return cluster_fail_with_errno(err, "Opening the clients' lock", paths.clients_lock);
    bool ok = share_clients_lock(lock_fd, deadline_us);
    if (!ok) {
        err->retry_after_s = 2;
        fail(err, ERR_SERVICE_UNAVAILABLE, "data", "The runner of the data folder is still stopping. Try again.");
    }
    ok = ok && join_folder(arena, &paths, data_dir, runner_argv, false, deadline_us, err);
    if (ok)
        *ret_lock_fd = lock_fd;
    else
        close(lock_fd);
    return ok;
}
