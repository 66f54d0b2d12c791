#include "db/cluster_paths.h"

#include "db/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { USER_RECORD_MAX_BYTES = 16 * 1024, RUNNER_LOG_MAX_BYTES = 1024 * 1024 };

/* The name of the server's socket in its folder. It contains the port. */
#define SOCKET_NAME "/.s.PGSQL.5432"

uint64_t cluster_hash(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

bool cluster_fail_with_errno(struct error *err, const char *doing, const char *path)
{
    int reason = errno;
    fail(err, ERR_INTERNAL_ERROR, "data", "%s failed: %s.", doing, strerrordesc_np(reason) != NULL ? strerrordesc_np(reason) : "?");
    return error_because(err, "%s: %s", path, strerrorname_np(reason) != NULL ? strerrorname_np(reason) : "?");
}

/* Resolves links and relative parts of the existing part of the path; the rest is unchanged. */
static const char *canonical(struct arena *arena, const char *path)
{
    char resolved[PATH_MAX];
    if (realpath(path, resolved) != NULL)
        return arena_dup(arena, resolved);
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return arena_printf(arena, "%s/%s", canonical(arena, "."), path);
    if (slash == path || strcmp(path, ".") == 0)
        return arena_dup(arena, path);
    const char *parent = canonical(arena, arena_dup_bytes(arena, path, (size_t)(slash - path)));
    return slash[1] == '\0' ? parent : arena_printf(arena, "%s%s", parent, slash);
}

/* libpq reads a comma in host as the start of another host. */
static bool can_hold_socket(const char *socket_dir)
{
    struct sockaddr_un address;
    return strlen(socket_dir) + sizeof(SOCKET_NAME) <= sizeof(address.sun_path) && strchr(socket_dir, ',') == NULL;
}

struct cluster_paths cluster_paths(struct arena *arena, const char *data_dir)
{
    const char *root = canonical(arena, data_dir);
    struct cluster_paths paths = {
        .data_dir = root,
        .pg_dir = arena_printf(arena, "%s/pg", root),
        .pg_data_dir = arena_printf(arena, "%s/pg/data", root),
        .socket_dir = arena_printf(arena, "%s/pg/run", root),
        .server_log = arena_printf(arena, "%s/pg/server.log", root),
        .runner_log = arena_printf(arena, "%s/runner.log", root),
        .runner_lock = arena_printf(arena, "%s/runner.lock", root),
        .runner_pid = arena_printf(arena, "%s/runner.pid", root),
        .clients_lock = arena_printf(arena, "%s/clients.lock", root),
        .server_pid = arena_printf(arena, "%s/pg/data/postmaster.pid", root),
    };
    if (!can_hold_socket(paths.socket_dir))
        paths.socket_dir = arena_printf(arena, "/tmp/posthorn-%016" PRIx64, cluster_hash(root, strlen(root), CLUSTER_HASH_SEED));
    return paths;
}

char *cluster_url(struct arena *arena, const char *data_dir)
{
    const char *path = cluster_paths(arena, data_dir).socket_dir;
    char *quoted = arena_alloc(arena, strlen(path) * 2 + 1);
    char *to = quoted;
    for (const char *from = path; *from != '\0'; from++) {
        if (*from == '\'' || *from == '\\')
            *to++ = '\\';
        *to++ = *from;
    }
    return arena_printf(arena, "host='%s' port=5432 dbname=postgres user=posthorn sslmode=disable", quoted);
}

static bool user_by_name(const char *name, struct cluster_user *ret_user)
{
    char record[USER_RECORD_MAX_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwnam_r(name, &entry, record, sizeof(record), &found) != 0 || found == NULL || found->pw_uid == 0)
        return false;
    *ret_user = (struct cluster_user){ .uid = found->pw_uid, .gid = found->pw_gid, .is_other = true };
    return true;
}

bool cluster_find_user(const struct cluster_paths *paths, struct cluster_user *ret_user, struct error *err)
{
    *ret_user = (struct cluster_user){ .uid = geteuid(), .gid = getegid() };
    if (ret_user->uid != 0)
        return true;
    struct stat info;
    if (lstat(paths->pg_data_dir, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid != 0) {
        *ret_user = (struct cluster_user){ .uid = info.st_uid, .gid = info.st_gid, .is_other = true };
        return true;
    }
    if (user_by_name("postgres", ret_user) || user_by_name("nobody", ret_user))
        return true;
    return fail(err, ERR_INTERNAL_ERROR, "data", "PostgreSQL cannot run as root. Create a user \"postgres\" or \"nobody\" for it.");
}

bool cluster_make_data_dir(const struct cluster_paths *paths, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    char *path = arena_dup(arena, paths->data_dir);
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return cluster_fail_with_errno(err, "Creating the data folder", path);
        if (slash == NULL)
            break;
        *slash = '/';
    }
    if (access(path, R_OK | W_OK | X_OK) != 0)
        return cluster_fail_with_errno(err, "Opening the data folder", path);
    return true;
}

bool cluster_make_folder(const char *data_dir, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct cluster_paths paths = cluster_paths(arena, data_dir);
    return cluster_make_data_dir(&paths, err);
}

bool cluster_make_dir(const char *path, const struct cluster_user *user, int *ret_fd, struct error *err)
{
    bool is_new = mkdir(path, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return cluster_fail_with_errno(err, "Creating a folder for the database", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return cluster_fail_with_errno(err, "Opening a folder of the database", path);
    struct stat info;
    bool ok = (!is_new || !user->is_other || fchown(fd, user->uid, user->gid) == 0) && fstat(fd, &info) == 0;
    if (!ok) {
        cluster_fail_with_errno(err, "Giving a folder to the user of the database", path);
    } else if (info.st_uid != user->uid || (info.st_mode & 077) != 0) {
        ok = fail(err, ERR_INTERNAL_ERROR, "data", "A folder of the database belongs to another user or is accessible to others.");
        error_because(err, "%s: owner %u, mode %03o", path, (unsigned)info.st_uid, (unsigned)info.st_mode & 0777);
    }
    if (ok && ret_fd != NULL)
        *ret_fd = fd;
    else
        close(fd);
    return ok;
}

int cluster_open_runner_log(const struct cluster_paths *paths)
{
    int fd = open(paths->runner_log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > RUNNER_LOG_MAX_BYTES)
        (void)!ftruncate(fd, 0);
    return fd;
}

/* The last line of the file is the state of the server (src/include/utils/pidfile.h of PostgreSQL). */
bool cluster_is_ready(const struct cluster_paths *paths, pid_t *ret_pid)
{
    char text[1024];
    int fd = open(paths->server_pid, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    *ret_pid = (pid_t)strtol(text, NULL, 10);
    return *ret_pid > 0 && strstr(text, "\nready") != NULL;
}
