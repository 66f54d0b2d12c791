#include "db/cluster_process.h"

#include "base/clock.h"
#include "base/scheduling.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    POLL_MS = 5,
    EXIT_NOT_STARTED = 127,
    SHORT_PROGRAM_MS = 10000,
    /* Above every descriptor number that a child assigns. */
    FIRST_FREE_FD = 10,
};

extern char **environ;

void process_sleep_ms(int wait_ms)
{
    struct timespec pause = { .tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000L };
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        continue;
}

/* ---- In the child ---- */

static void reset_child_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(int first)
{
    close_range((unsigned)first, UINT_MAX, 0);
}

/* Direct system calls: the functions of the C library would use its list of threads. */
static bool change_user(const struct cluster_user *user)
{
    if (!user->is_other)
        return true;
    return syscall(SYS_setgroups, 0, NULL) == 0 && syscall(SYS_setresgid, user->gid, user->gid, user->gid) == 0 &&
           syscall(SYS_setresuid, user->uid, user->uid, user->uid) == 0;
}

static NORETURN void exec_child(const struct process_launch *launch, int null_fd, pid_t parent, char *const environment[])
{
    reset_child_signals();
    scheduling_reset();
    setsid();
    umask(077);
    bool ready = dup2(null_fd, STDIN_FILENO) >= 0 && dup2(launch->output_fd, STDOUT_FILENO) >= 0 &&
                 dup2(launch->output_fd, STDERR_FILENO) >= 0;
    if (launch->data_fd >= 0)
        ready = ready && dup2(launch->data_fd, PROCESS_DATA_FD) >= 0;
    if (launch->socket_fd >= 0)
        ready = ready && dup2(launch->socket_fd, PROCESS_SOCKET_FD) >= 0;
    close_from(PROCESS_SOCKET_FD + 1);
    ready = ready && change_user(&launch->user);
    /* A change of the user clears the death signal, so it is set afterwards. The parent may have died before. */
    if (ready && launch->death_signal != 0)
        ready = prctl(PR_SET_PDEATHSIG, launch->death_signal) == 0 && getppid() == parent;
    if (ready)
        execve(launch->argv[0], (char *const *)(uintptr_t)launch->argv, environment);
    _exit(EXIT_NOT_STARTED);
}

/* ---- In the parent ---- */

/* The server does not get the locale, time zone and PG… variables of the user. */
static char *const *small_environment(struct arena *arena)
{
    const char *library_path = getenv("LD_LIBRARY_PATH");
    char **environment = arena_array(arena, 5, sizeof(*environment));
    environment[0] = arena_dup(arena, "PATH=/usr/local/bin:/usr/bin:/bin");
    environment[1] = arena_dup(arena, "LC_ALL=C");
    environment[2] = arena_dup(arena, "TZ=UTC");
    if (library_path != NULL)
        environment[3] = arena_printf(arena, "LD_LIBRARY_PATH=%s", library_path);
    return environment;
}

/* A duplicate descriptor whose number the child does not overwrite. */
static int dup_above(int fd)
{
    return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD) : -1;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

bool process_start(const struct process_launch *launch, pid_t *ret_pid, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    char *const *environment = small_environment(arena);
    struct process_launch dup_launch = *launch;
    dup_launch.output_fd = dup_above(launch->output_fd);
    dup_launch.data_fd = dup_above(launch->data_fd);
    dup_launch.socket_fd = dup_above(launch->socket_fd);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int dup_null_fd = dup_above(null_fd);
    pid_t parent = getpid();

    pid_t pid = fork();
    if (pid == 0)
        exec_child(&dup_launch, dup_null_fd, parent, environment);
    int reason = errno;
    close_if_open(null_fd);
    close_if_open(dup_null_fd);
    close_if_open(dup_launch.output_fd);
    close_if_open(dup_launch.data_fd);
    close_if_open(dup_launch.socket_fd);
    errno = reason;
    if (pid < 0)
        return cluster_fail_with_errno(err, "Starting a process", launch->argv[0]);
    *ret_pid = pid;
    return true;
}

bool process_ended(pid_t pid, int wait_ms, int *ret_status)
{
    int64_t deadline_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    for (;;) {
        pid_t ended = waitpid(pid, ret_status, WNOHANG);
        /* ECHILD: other code has read the status, so the child has ended. */
        if (ended == pid || (ended < 0 && errno == ECHILD))
            return true;
        if (clock_monotonic_us() >= deadline_us)
            return false;
        process_sleep_ms(POLL_MS);
    }
}

/* Reads until the end of file, the bound or the deadline. */
static size_t read_until_deadline(int fd, char *bytes, size_t size, int64_t deadline_us)
{
    size_t filled = 0;
    while (filled < size) {
        struct pollfd watched = { .fd = fd, .events = POLLIN };
        int64_t left_ms = (deadline_us - clock_monotonic_us()) / US_PER_MS;
        if (left_ms <= 0 || poll(&watched, 1, (int)left_ms) < 0)
            break;
        ssize_t got = read(fd, bytes + filled, size - filled);
        if (got <= 0)
            break;
        filled += (size_t)got;
    }
    return filled;
}

/* Looks up a program without a folder in PATH, before the fork. */
static const char *full_path(struct arena *arena, const char *program)
{
    if (strchr(program, '/') != NULL)
        return program;
    const char *path = getenv("PATH");
    if (path == NULL || path[0] == '\0')
        path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = path; *at != '\0';) {
        size_t size = strcspn(at, ":");
        const char *candidate = arena_printf(arena, "%.*s/%s", (int)size, at, program);
        if (size > 0 && access(candidate, X_OK) == 0)
            return candidate;
        at += size + (at[size] == ':');
    }
    return NULL;
}

bool process_output(struct arena *arena, const char *const argv[], char **ret_output)
{
    const char *program = full_path(arena, argv[0]);
    int pipe_fds[2];
    if (program == NULL || pipe2(pipe_fds, O_CLOEXEC) != 0)
        return false;
    const char *const full_argv[] = { program, argv[1], NULL };
    struct process_launch launch = { .argv = full_argv, .output_fd = pipe_fds[1], .data_fd = -1, .socket_fd = -1 };
    struct error ignored = { .code = ERR_NONE };
    pid_t pid = 0;
    bool started = process_start(&launch, &pid, &ignored);
    close(pipe_fds[1]);
    if (!started) {
        close(pipe_fds[0]);
        return false;
    }
    char *output = arena_alloc(arena, PROCESS_MAX_OUTPUT_BYTES + 1);
    read_until_deadline(pipe_fds[0], output, PROCESS_MAX_OUTPUT_BYTES, clock_monotonic_us() + SHORT_PROGRAM_MS * US_PER_MS);
    close(pipe_fds[0]);
    int status = 0;
    if (!process_ended(pid, SHORT_PROGRAM_MS, &status)) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    *ret_output = output;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- Detached ---- */

/* The middle process of the double fork: starts the program's process, writes its id to `result_fd` and ends. */
static NORETURN void detach(const char *program, const char *const argv[], int null_fd, int log_fd, int result_fd)
{
    reset_child_signals();
    scheduling_reset();
    setsid();
    pid_t pid = fork();
    if (pid != 0) {
        ssize_t written = write(result_fd, &pid, sizeof(pid));
        _exit(pid > 0 && written == (ssize_t)sizeof(pid) ? 0 : EXIT_NOT_STARTED);
    }
    bool ready = dup2(null_fd, STDIN_FILENO) >= 0 && dup2(null_fd, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0;
    close_from(STDERR_FILENO + 1);
    if (ready)
        execve(program, (char *const *)(uintptr_t)argv, environ);
    _exit(EXIT_NOT_STARTED);
}

bool process_start_detached(const char *const argv[], int log_fd, int *ret_pidfd, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    const char *program = full_path(arena, argv[0]);
    int result_pipe[2];
    if (program == NULL)
        errno = ENOENT;
    if (program == NULL || access(program, X_OK) != 0 || pipe2(result_pipe, O_CLOEXEC) != 0)
        return cluster_fail_with_errno(err, "Starting the runner", argv[0]);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int dup_null_fd = dup_above(null_fd);
    int dup_log_fd = dup_above(log_fd);
    pid_t middle = fork();
    if (middle == 0)
        detach(program, argv, dup_null_fd, dup_log_fd, result_pipe[1]);
    close_if_open(null_fd);
    close_if_open(dup_null_fd);
    close_if_open(dup_log_fd);
    close(result_pipe[1]);

    pid_t pid = -1;
    bool got_pid = middle > 0 && read(result_pipe[0], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) && pid > 0;
    close(result_pipe[0]);
    if (middle > 0)
        waitpid(middle, NULL, 0);
    if (!got_pid)
        return fail(err, ERR_SERVICE_UNAVAILABLE, "data",
                    "The runner could not be started: the system cannot create another process.");
    *ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return true;
}

bool process_pidfd_ended(int pidfd)
{
    struct pollfd watched = { .fd = pidfd, .events = POLLIN };
    return pidfd >= 0 && poll(&watched, 1, 0) > 0;
}

/* ---- Threads ---- */

bool process_start_thread(pthread_t *ret_thread, void *(*run)(void *data), void *data)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(ret_thread, NULL, run, data) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
