#include "render/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_MAX_OPEN_FILES = 256,
    CHILD_MAX_FILE_BYTES = 128 * 1024 * 1024,
    PATH_VARIABLE_BYTES = 4096,
    OWN_VARIABLES = 5,
    STATUS_OF_SIGNAL = 128,
};

/* The data of the child, prepared before fork, because after it only async-signal-safe calls are allowed. */
struct launch {
    const char *file;
    char **arguments;
    const char *script_path;
    char *environment[OWN_VARIABLES + CHILD_MAX_VARIABLES + 1];
    int64_t memory_bytes;
    int64_t processor_s;
    char path_variable[PATH_VARIABLE_BYTES];
    pid_t parent;
    bool drops_privileges;
    uid_t uid;
    gid_t gid;
    int in[2]; /* [0] is the child's end */
    int out[2];
    int err[2];
    int failure[2]; /* carries the errno of a failed exec; a successful exec closes it */
};

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static void launch_done(struct launch *launch)
{
    close_pair(launch->in);
    close_pair(launch->out);
    close_pair(launch->err);
    close_pair(launch->failure);
}

/* Becomes `nobody` if `nobody` can read the program. Direct system calls: those of the C library would signal threads that do not
 * exist after fork. */
static void drop_privileges(const struct launch *launch, bool *ret_dropped)
{
    *ret_dropped = false;
    syscall(SYS_unshare, CLONE_NEWNET);
    if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, launch->gid, launch->gid, 0) != 0)
        return;
    if (syscall(SYS_setresuid, launch->uid, launch->uid, 0) != 0)
        return;
    bool can_read = launch->script_path == NULL || access(launch->script_path, R_OK) == 0;
    bool can_run = strchr(launch->file, '/') == NULL || access(launch->file, X_OK) == 0;
    if (can_read && can_run) {
        *ret_dropped = syscall(SYS_setresuid, launch->uid, launch->uid, launch->uid) == 0 &&
                       syscall(SYS_setresgid, launch->gid, launch->gid, launch->gid) == 0;
        return;
    }
    syscall(SYS_setresuid, 0, 0, 0);
    syscall(SYS_setresgid, 0, 0, 0);
}

static void limit_one(int resource, int64_t bound)
{
    const struct rlimit limit = { .rlim_cur = (rlim_t)bound, .rlim_max = (rlim_t)bound };
    if (bound > 0)
        setrlimit((__rlimit_resource_t)resource, &limit);
}

static void limit_resources(const struct launch *launch)
{
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
    const struct rlimit no_files = { .rlim_cur = 0, .rlim_max = CHILD_MAX_FILE_BYTES };
    const struct rlimit files = { .rlim_cur = CHILD_MAX_OPEN_FILES, .rlim_max = CHILD_MAX_OPEN_FILES };
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &no_files);
    setrlimit(RLIMIT_NOFILE, &files);
    limit_one(RLIMIT_AS, launch->memory_bytes);
    limit_one(RLIMIT_CPU, launch->processor_s);
}

static void restore_default_signals(void)
{
    sigset_t empty;
    sigemptyset(&empty);
    struct sigaction standard = { .sa_handler = SIG_DFL };
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL);
    /* A library that tries a file for its own purposes, as liborc does, gets EFBIG and goes on without it. */
    struct sigaction ignored = { .sa_handler = SIG_IGN };
    sigaction(SIGXFSZ, &ignored, NULL);
    sigprocmask(SIG_SETMASK, &empty, NULL);
}

/* Moves `fds` to 0, 1 and 2 and `kept` to 3, and closes all other descriptors. */
static bool install_streams(const int fds[3], int kept, int *ret_kept)
{
    int duplicates[4];
    for (int i = 0; i < 4; i++) {
        duplicates[i] = fcntl(i < 3 ? fds[i] : kept, F_DUPFD, 10); /* above the numbers that dup2 replaces below */
        if (duplicates[i] < 0)
            return false;
    }
    for (int i = 0; i < 4; i++)
        if (dup2(duplicates[i], i) < 0)
            return false;
    *ret_kept = 3;
    return fcntl(3, F_SETFD, FD_CLOEXEC) == 0 && close_range(4, ~0U, 0) == 0;
}

static void print_warning(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Runs in the child; never returns. */
static NORETURN void exec_program(const struct launch *launch)
{
    bool dropped = true;
    int failure_fd = launch->failure[1];
    setsid();
    if (launch->drops_privileges)
        drop_privileges(launch, &dropped);
    /* After the change of user, which clears the death signal. The parent may have ended before. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getppid() != launch->parent)
        _exit(127);
    limit_resources(launch);
    restore_default_signals();
    const int streams[3] = { launch->in[0], launch->out[1], launch->err[1] };
    if (install_streams(streams, failure_fd, &failure_fd) && chdir("/") == 0) {
        if (!dropped)
            print_warning("runs as root, because the user nobody cannot read its files\n");
        execvpe(launch->file, launch->arguments, launch->environment);
    }
    int reason = errno;
    ssize_t ignored = write(failure_fd, &reason, sizeof(reason));
    (void)ignored;
    _exit(127);
}

static void look_up_nobody(struct launch *launch)
{
    char buffer[2048];
    struct passwd entry;
    struct passwd *found = NULL;
    if (geteuid() != 0 || getpwnam_r("nobody", &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL)
        return;
    launch->drops_privileges = true;
    launch->uid = entry.pw_uid;
    launch->gid = entry.pw_gid;
}

static void make_environment(struct launch *launch, const char *const *variables)
{
    static char home[] = "HOME=/nonexistent";
    static char language[] = "LANG=C.UTF-8";
    static char zone[] = "TZ=UTC";
    static char node[] = "NODE_ENV=production";
    const char *path = getenv("PATH");
    snprintf(launch->path_variable, sizeof(launch->path_variable), "PATH=%s", path != NULL ? path : "/usr/bin:/bin");
    char *const environment[OWN_VARIABLES] = { launch->path_variable, home, language, zone, node };
    memcpy(launch->environment, environment, sizeof(environment));
    for (size_t i = 0; variables != NULL && variables[i] != NULL && i < CHILD_MAX_VARIABLES; i++)
        launch->environment[OWN_VARIABLES + i] = (char *)(uintptr_t)variables[i];
}

static bool fail_start(struct error *err, const char *what, int cause)
{
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "A helper process could not be started. Try again.");
    return error_because(err, "%s: %s", what, strerror(cause));
}

static bool open_streams(struct launch *launch, struct error *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, launch->in) != 0 || pipe2(launch->out, O_CLOEXEC) != 0 ||
        pipe2(launch->err, O_CLOEXEC) != 0 || pipe2(launch->failure, O_CLOEXEC) != 0)
        return fail_start(err, "pipes", errno);
    const int parent_ends[] = { launch->in[1], launch->out[0], launch->err[0] };
    for (size_t i = 0; i < ARRAY_COUNT(parent_ends); i++)
        if (fcntl(parent_ends[i], F_SETFL, O_NONBLOCK) != 0)
            return fail_start(err, "pipes", errno);
    return true;
}

/* Waits until the child has executed the program; returns 0, or the errno of its failure. */
static int await_exec(struct launch *launch)
{
    int reason = 0;
    ssize_t size;
    close(launch->failure[1]);
    launch->failure[1] = -1;
    do
        size = read(launch->failure[0], &reason, sizeof(reason));
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof(reason) ? reason : 0;
}

static int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

bool child_start(const struct child_program *program, struct child *ret_child, struct error *err)
{
    CLEANUP(launch_done)
    struct launch launch = {
        .file = program->arguments[0],
        /* exec takes char *const * for historical reasons, but does not write there */
        .arguments = (char **)(uintptr_t)program->arguments,
        .script_path = program->script_path,
        .memory_bytes = program->memory_bytes,
        .processor_s = program->processor_s,
        .parent = getpid(),
        .in = { -1, -1 },
        .out = { -1, -1 },
        .err = { -1, -1 },
        .failure = { -1, -1 },
    };
    look_up_nobody(&launch);
    make_environment(&launch, program->variables);
    if (!open_streams(&launch, err))
        return false;

    pid_t pid = fork();
    if (pid < 0)
        return fail_start(err, "fork", errno);
    if (pid == 0)
        exec_program(&launch);
    struct child child = { .pid = pid, .in_fd = -1, .out_fd = -1, .err_fd = -1 };
    int reason = await_exec(&launch);
    if (reason != 0) {
        child_stop(&child);
        return fail_start(err, program->arguments[0], reason);
    }
    child.in_fd = take_fd(&launch.in[1]);
    child.out_fd = take_fd(&launch.out[0]);
    child.err_fd = take_fd(&launch.err[0]);
    *ret_child = child;
    return true;
}

bool child_has_ended(struct child *child)
{
    if (child->pid != 0 && waitpid(child->pid, NULL, WNOHANG) != 0)
        child->pid = 0;
    return child->pid == 0;
}

static bool await_end(pid_t pid, int64_t until_us)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return false;
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    int ready;
    do {
        int64_t left_us = until_us - clock_monotonic_us();
        ready = poll(&ended, 1, left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0);
    } while (ready < 0 && errno == EINTR);
    close(fd);
    return ready > 0;
}

int child_await_exit(struct child *child, int64_t until_us)
{
    int status;
    if (child->pid == 0 || !await_end(child->pid, until_us))
        return -1;
    while (waitpid(child->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    child->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OF_SIGNAL + WTERMSIG(status);
}

void child_stop(struct child *child)
{
    if (child->pid != 0) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    const int fds[] = { child->in_fd, child->out_fd, child->err_fd };
    for (size_t i = 0; i < ARRAY_COUNT(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *child = CHILD_NONE;
}
