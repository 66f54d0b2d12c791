#include "db/cluster.h"

#include "base/clock.h"
#include "db/cluster_old.h"
#include "db/cluster_process.h"
#include "db/cluster_programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    INITDB_WAIT_MS = 120000,
    START_WAIT_MS = 120000,
    START_POLL_MS = 5,
    IMMEDIATE_STOP_WAIT_MS = 5000,
    SERVER_LOG_MAX_BYTES = 2 * 1024 * 1024,
    REASON_MAX_BYTES = 256,
    NEW_CLUSTER_MIN_FREE_BYTES = 256 * 1024 * 1024,
};

struct cluster {
    struct arena *arena;
    struct cluster_paths paths;
    struct cluster_programs programs;
    struct cluster_user user;
    pid_t pid; /* 0 when it has ended */
    int log_fd;
    off_t log_start; /* offset of the first line of this start */
};

static const char socket_lock[] = ".s.PGSQL.5432.lock";

/* The settings for durability keep PostgreSQL's defaults: fsync, synchronous_commit and full_page_writes are on. */
static const char *const server_settings[] = {
    "listen_addresses=",
    "port=5432",
    ("unix_socket_directories=" PROCESS_SOCKET_PATH),
    "unix_socket_permissions=0700",
    "max_connections=60",
    "superuser_reserved_connections=3",
    "shared_buffers=64MB",
    "huge_pages=off",
    "jit=off",
    /* There are no replicas, and backups are dumps. */
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_logical_replication_workers=0",
    /* A commit waits while another process empties the buffers of the write-ahead log, or makes a file for it. So the buffers take
     * what an import writes between two flushes, and files are reused. */
    "wal_buffers=16MB",
    "min_wal_size=128MB",
    "max_wal_size=512MB",
    "timezone=UTC",
    "log_timezone=UTC",
    "lc_messages=C",
    /* Logs only starts, stops and fatal errors. Errors of statements go to their callers, and statements are never logged. */
    "logging_collector=off",
    "log_destination=stderr",
    "log_min_messages=log",
    "log_min_error_statement=panic",
    "log_checkpoints=off",
    "log_autovacuum_min_duration=-1",
};

/* ---- The server's log ---- */

/* The server writes with O_APPEND, so the file can be truncated while it is open. */
static void bound_log(const struct cluster *cluster)
{
    struct stat info;
    if (fstat(cluster->log_fd, &info) == 0 && info.st_size > SERVER_LOG_MAX_BYTES)
        (void)!ftruncate(cluster->log_fd, 0);
}

static bool open_log(struct cluster *cluster, struct error *err)
{
    cluster->log_fd = open(cluster->paths.server_log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (cluster->log_fd < 0)
        return cluster_fail_with_errno(err, "Opening the log of the database", cluster->paths.server_log);
    bound_log(cluster);
    cluster->log_start = lseek(cluster->log_fd, 0, SEEK_END);
    return true;
}

/* The most useful line of the log since the start: the last FATAL or error line, else the last line. */
static void log_reason(const struct cluster *cluster, char ret_reason[REASON_MAX_BYTES])
{
    char text[4096];
    ssize_t got = pread(cluster->log_fd, text, sizeof(text) - 1, cluster->log_start);
    text[got > 0 ? got : 0] = '\0';
    snprintf(ret_reason, REASON_MAX_BYTES, "see %s", "server.log");
    bool is_strong = false;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        const char *strong = strstr(line, "FATAL: ");
        if (strong == NULL)
            strong = strstr(line, "rror: ");
        if (line[0] == '\0' || (is_strong && strong == NULL))
            continue;
        is_strong = is_strong || strong != NULL;
        const char *words = strong != NULL ? strchr(strong, ':') + 1 : line;
        snprintf(ret_reason, REASON_MAX_BYTES, "%s", words + strspn(words, " "));
    }
}

static bool fail_with_log(const struct cluster *cluster, const char *what, struct error *err)
{
    char reason[REASON_MAX_BYTES];
    log_reason(cluster, reason);
    fail(err, ERR_INTERNAL_ERROR, "data", "%s: %s", what, reason);
    return error_because(err, "see %s", cluster->paths.server_log);
}

/* ---- A new cluster ---- */

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes the folders of an initdb that was killed. */
static void remove_unfinished(struct cluster *cluster)
{
    DIR *folder = opendir(cluster->paths.pg_dir);
    if (folder == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "new-", 4) == 0)
            remove_tree(arena_printf(cluster->arena, "%s/%s", cluster->paths.pg_dir, entry->d_name));
    }
    closedir(folder);
}

static bool check_space(const struct cluster *cluster, struct error *err)
{
    struct statvfs space;
    if (statvfs(cluster->paths.pg_dir, &space) != 0)
        return cluster_fail_with_errno(err, "Reading the free space of the data folder", cluster->paths.pg_dir);
    if ((uint64_t)space.f_bavail * space.f_frsize < NEW_CLUSTER_MIN_FREE_BYTES)
        return fail(err, ERR_INTERNAL_ERROR, "data", "The disk has not enough free space for a new database, which needs %d MB.",
                    NEW_CLUSTER_MIN_FREE_BYTES / (1024 * 1024));
    return true;
}

static bool run_initdb(struct cluster *cluster, int data_fd, struct error *err)
{
    const char *const argv[] = {
        cluster->programs.initdb,
        "-D",
        PROCESS_DATA_PATH,
        "--username=posthorn",
        "--auth=trust",
        "--no-locale",
        "--encoding=UTF8",
        "--data-checksums",
        "--no-sync",
        "--no-instructions",
        NULL,
    };
    struct process_launch launch = {
        .argv = argv,
        .user = cluster->user,
        .output_fd = cluster->log_fd,
        .data_fd = data_fd,
        .socket_fd = -1,
        .death_signal = SIGTERM,
    };
    pid_t pid;
    if (!process_start(&launch, &pid, err))
        return false;
    int status = 0;
    if (!process_ended(pid, INITDB_WAIT_MS, &status)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return fail(err, ERR_SERVICE_UNAVAILABLE, "data", "Creating the database took longer than %d seconds.",
                    INITDB_WAIT_MS / 1000);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail_with_log(cluster, "Creating the database failed", err);
    return true;
}

/* initdb works in a temporary folder, which is renamed when everything in it is on the disk. So a power failure cannot leave
 * an incomplete cluster. */
static bool create_cluster(struct cluster *cluster, struct error *err)
{
    if (!check_space(cluster, err))
        return false;
    remove_unfinished(cluster);
    const char *new_dir = arena_printf(cluster->arena, "%s/new-%d", cluster->paths.pg_dir, (int)getpid());
    int data_fd;
    if (!cluster_make_dir(new_dir, &cluster->user, &data_fd, err))
        return false;
    bool made = run_initdb(cluster, data_fd, err);
    if (made && (syncfs(data_fd) != 0 || rename(new_dir, cluster->paths.pg_data_dir) != 0))
        made = cluster_fail_with_errno(err, "Saving the new database", new_dir);
    close(data_fd);
    if (!made) {
        remove_tree(new_dir);
        return false;
    }
    int pg_fd = open(cluster->paths.pg_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = pg_fd >= 0 && fsync(pg_fd) == 0;
    if (pg_fd >= 0)
        close(pg_fd);
    return synced || cluster_fail_with_errno(err, "Saving the new database", cluster->paths.pg_dir);
}

/* ---- Starting ---- */

/* The major version in PG_VERSION; 0 when there is no cluster. */
static bool existing_major(const struct cluster *cluster, int *ret_major, struct error *err)
{
    *ret_major = 0;
    const char *path = arena_printf(cluster->arena, "%s/PG_VERSION", cluster->paths.pg_data_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT && access(cluster->paths.pg_data_dir, F_OK) != 0)
        return true;
    char text[16] = "";
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    *ret_major = got > 0 ? (int)strtol(text, NULL, 10) : 0;
    if (*ret_major > 0)
        return true;
    fail(err, ERR_INTERNAL_ERROR, "data", "The database in the data folder cannot be read.");
    return error_because(err, "%s", path);
}

static const char *const *server_arguments(const struct cluster *cluster)
{
    const char **argv = arena_array(cluster->arena, 2 * ARRAY_COUNT(server_settings) + 6, sizeof(*argv));
    size_t count = 0;
    argv[count++] = cluster->programs.postgres;
    argv[count++] = "-D";
    argv[count++] = PROCESS_DATA_PATH;
    argv[count++] = "-c";
    argv[count++] = arena_printf(cluster->arena, "cluster_name=%s", cluster_name(cluster->arena, &cluster->paths));
    for (size_t i = 0; i < ARRAY_COUNT(server_settings); i++) {
        argv[count++] = "-c";
        argv[count++] = server_settings[i];
    }
    return argv;
}

static bool launch_server(struct cluster *cluster, struct error *err)
{
    int data_fd;
    int socket_fd;
    if (!cluster_make_dir(cluster->paths.pg_data_dir, &cluster->user, &data_fd, err))
        return false;
    if (!cluster_make_dir(cluster->paths.socket_dir, &cluster->user, &socket_fd, err)) {
        close(data_fd);
        return false;
    }
    /* As clear_pid_file in cluster_old.c: no process of this folder lives, and another program may have the id in an old lock. */
    unlinkat(socket_fd, socket_lock, 0);
    struct process_launch launch = {
        .argv = server_arguments(cluster),
        .user = cluster->user,
        .output_fd = cluster->log_fd,
        .data_fd = data_fd,
        .socket_fd = socket_fd,
        .death_signal = SIGINT,
    };
    bool started = process_start(&launch, &cluster->pid, err);
    close(data_fd);
    close(socket_fd);
    return started;
}

static bool is_ready(const struct cluster *cluster)
{
    pid_t pid;
    return cluster_is_ready(&cluster->paths, &pid) && pid == cluster->pid;
}

static bool await_ready(struct cluster *cluster, struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + START_WAIT_MS * US_PER_MS;
    while (!is_ready(cluster)) {
        if (!cluster_is_running(cluster))
            return fail_with_log(cluster, "The database server did not start", err);
        if (clock_monotonic_us() > deadline_us)
            return fail(err, ERR_SERVICE_UNAVAILABLE, "data", "The database server was not ready after %d seconds.",
                        START_WAIT_MS / 1000);
        process_sleep_ms(START_POLL_MS);
    }
    return true;
}

static bool prepare_and_launch(struct cluster *cluster, struct error *err)
{
    const struct cluster_user current_user = { .uid = geteuid(), .gid = getegid() };
    int major;
    if (!cluster_make_data_dir(&cluster->paths, err) || !cluster_make_dir(cluster->paths.pg_dir, &current_user, NULL, err) ||
        !cluster_find_user(&cluster->paths, &cluster->user, err) || !open_log(cluster, err) ||
        !existing_major(cluster, &major, err) || !cluster_find_programs(cluster->arena, major, &cluster->programs, err))
        return false;
    if (major == 0 && !create_cluster(cluster, err))
        return false;
    return cluster_await_old(cluster->arena, &cluster->paths, err) && launch_server(cluster, err) && await_ready(cluster, err);
}

bool cluster_start(const char *data_dir, struct cluster **ret_cluster, struct error *err)
{
    struct arena *arena = arena_new(0);
    struct cluster *cluster = arena_alloc(arena, sizeof(*cluster));
    *cluster = (struct cluster){ .arena = arena, .paths = cluster_paths(arena, data_dir), .log_fd = -1 };
    if (!prepare_and_launch(cluster, err)) {
        cluster_stop(cluster, 0);
        return false;
    }
    *ret_cluster = cluster;
    return true;
}

bool cluster_is_running(const struct cluster *cluster)
{
    bound_log(cluster);
    /* WNOWAIT leaves the status, so that the process id is not reused before cluster_stop. */
    siginfo_t info = { .si_pid = 0 };
    return cluster->pid != 0 && waitid(P_PID, (id_t)cluster->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void cluster_stop(struct cluster *cluster, int wait_ms)
{
    if (cluster == NULL)
        return;
    static const int stop_signals[] = { SIGINT, SIGQUIT, SIGKILL };
    for (size_t i = 0; i < ARRAY_COUNT(stop_signals) && cluster->pid != 0; i++) {
        int status;
        kill(cluster->pid, stop_signals[i]);
        if (process_ended(cluster->pid, i == 0 ? wait_ms : IMMEDIATE_STOP_WAIT_MS, &status))
            cluster->pid = 0;
    }
    /* Removes a socket folder in /tmp; rmdir fails if a socket is still in it. */
    if (strncmp(cluster->paths.socket_dir, cluster->paths.pg_dir, strlen(cluster->paths.pg_dir)) != 0)
        rmdir(cluster->paths.socket_dir);
    if (cluster->log_fd >= 0)
        close(cluster->log_fd);
    arena_free(cluster->arena);
}
