/*
 * The watch of clients over the runner of a data folder, with real processes: a runner that was killed is replaced by one of
 * several watches, one that was stopped is not, and a runner whose folder is gone learns of it.
 *
 * Started as "PROGRAM runner DIR", this program is a runner without a server.
 */
#include "db/cluster_runner.h"
#include "db/runner_record.h"
#include "fixtures/cluster_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    WATCHERS = 4,
    ROUNDS = 3,
    WAIT_MS = 60000,
    STAY_MS = 1500, /* each watch has looked by then */
};

static char self[4096];

/* ---- The runner ---- */

/* Each process that was started to be a runner leaves a line, whether it gets the lock or not. */
static void note_start(void)
{
    char path[4096];
    char line[32];
    snprintf(path, sizeof(path), "%s/starts", data_dir);
    snprintf(line, sizeof(line), "%d\n", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, line, strlen(line)) < 0)
        perror(path);
    if (fd >= 0)
        close(fd);
}

static void leave(void)
{
    _exit(3);
}

/* The file "fails" in the folder lets it end before it serves, once for each byte of it. */
static bool must_fail(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/fails", data_dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t left = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (left > 0 && ftruncate(fd, left - 1) != 0)
        perror(path);
    if (fd >= 0)
        close(fd);
    return left > 0;
}

static int run_runner(void)
{
    struct error err = { .code = ERR_NONE };
    int fd;
    bool held;
    note_start();
    if (!cluster_lock_runner(data_dir, &fd, &held, &err) || !held)
        return 1;
    cluster_record_write(data_dir);
    if (!cluster_runner_guard(data_dir, fd, leave, &err) || must_fail())
        return 1;
    cluster_record_mark_ready(data_dir);
    for (;;)
        pause();
}

/* ---- The clients ---- */

static pid_t watchers[WATCHERS];

static void watch_until_killed(pid_t test)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(1);
    const char *const argv[] = { self, "runner", data_dir, NULL };
    struct error err = { .code = ERR_NONE };
    struct cluster_watch *watch;
    if (!cluster_watch_new(data_dir, argv, &watch, &err))
        _exit(1);
    for (;;)
        pause();
}

static void start_watchers(void)
{
    pid_t test = getpid();
    for (size_t i = 0; i < WATCHERS; i++) {
        watchers[i] = fork();
        if (watchers[i] == 0)
            watch_until_killed(test);
    }
}

static void end_watchers(void)
{
    for (size_t i = 0; i < WATCHERS && watchers[i] > 0; i++) {
        kill(watchers[i], SIGKILL);
        waitpid(watchers[i], NULL, 0);
        watchers[i] = 0;
    }
}

/* ---- Waiting ---- */

/* The id of the runner that serves, other than `before`. */
static int await_runner(int before)
{
    for (int waited_ms = 0; waited_ms < WAIT_MS; waited_ms += 5) {
        ARENA_SCOPE arena = arena_new(0);
        struct cluster_paths paths = cluster_paths(arena, data_dir);
        int pid = (int)cluster_runner_pid(data_dir);
        if (pid > 0 && pid != before && runner_record_read(&paths).is_ready)
            return pid;
        usleep(5000);
    }
    fail_msg("no runner came");
    return 0;
}

static int start_first_runner(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, self, "runner", data_dir, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(await_runner(0), pid);
    return pid;
}

static void kill_runner(int pid, int signal)
{
    kill(pid, signal);
    waitpid(pid, NULL, 0); /* only the first one is a child */
    assert_ends(pid, WAIT_MS);
}

static int start_count(void)
{
    int last;
    return runner_pids(&last);
}

static void end_runner(int pid)
{
    cluster_record_remove(data_dir);
    kill_runner(pid, SIGKILL);
}

/* ---- Tests ---- */

static int setup_runner_folder(void **state)
{
    return setup_folder(state) != 0 || mkdir(data_dir, 0700) != 0;
}

static int teardown_runner_folder(void **state)
{
    end_watchers();
    return teardown_folder(state);
}

#define WATCH_TEST(function) cmocka_unit_test_setup_teardown(function, setup_runner_folder, teardown_runner_folder)

static void test_one_of_several_watches_replaces_a_killed_runner(void **state)
{
    (void)state;
    const char *rounds = getenv("POSTHORN_FAULT_ROUNDS");
    int count = rounds != NULL ? (int)strtol(rounds, NULL, 10) : ROUNDS;
    int runner = start_first_runner();
    start_watchers();
    for (int round = 1; round <= count; round++) {
        kill_runner(runner, SIGKILL);
        runner = await_runner(runner);
        assert_int_equal(start_count(), 1 + round);
    }
    end_watchers();
    end_runner(runner);
    assert_int_equal(start_count(), 1 + count);
}

static void test_a_stopped_runner_is_not_replaced(void **state)
{
    (void)state;
    int runner = start_first_runner();
    start_watchers();
    kill_runner(runner, SIGKILL);
    runner = await_runner(runner);
    assert_int_equal(start_count(), 2);
    end_runner(runner);
    usleep(STAY_MS * 1000);
    assert_int_equal(start_count(), 2);
    /* The next one is started by a call; its end shows that the watches live. */
    runner = start_first_runner();
    kill_runner(runner, SIGKILL);
    runner = await_runner(runner);
    assert_int_equal(start_count(), 4);
    end_watchers();
    end_runner(runner);
}

static void test_a_runner_that_fails_is_started_again(void **state)
{
    (void)state;
    static const char fails[] = "bytes"; /* more than there are watches, so one of them starts a runner again */
    static_assert(sizeof(fails) > WATCHERS + 1, "a watch must start more than one");
    char path[4096];
    int runner = start_first_runner();
    snprintf(path, sizeof(path), "%s/fails", data_dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, fails, strlen(fails)), strlen(fails));
    close(fd);
    start_watchers();
    kill_runner(runner, SIGKILL);
    runner = await_runner(runner);
    assert_int_equal(start_count(), 2 + strlen(fails));
    end_watchers();
    end_runner(runner);
}

static void test_a_start_waits_for_the_lock_of_another(void **state)
{
    (void)state;
    int runner = start_first_runner();
    int start_fd = cluster_lock_start(data_dir);
    assert_true(start_fd >= 0);
    assert_int_equal(cluster_lock_start(data_dir), -1);
    assert_int_equal(errno, EAGAIN);
    start_watchers();
    kill_runner(runner, SIGKILL);
    cluster_record_remove(data_dir);
    cluster_leave(start_fd);
    end_watchers();
    assert_int_equal(start_count(), 1);
}

static void test_a_watch_ends_at_once(void **state)
{
    (void)state;
    const char *const argv[] = { "/no/such/program", NULL };
    struct error err = { .code = ERR_NONE };
    struct cluster_watch *watch;
    int runner = start_first_runner();
    assert_ok(cluster_watch_new(data_dir, argv, &watch, &err), &err);
    cluster_watch_free(watch);
    kill_runner(runner, SIGKILL);
    assert_ok(cluster_watch_new(data_dir, argv, &watch, &err), &err); /* without a runner, and with none that can be started */
    cluster_watch_free(watch);
    cluster_watch_free(NULL);
}

static void assert_leaves(int runner)
{
    int status;
    assert_ends(runner, WAIT_MS);
    assert_int_equal(waitpid(runner, &status, 0), runner);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_a_runner_without_its_folder_leaves(void **state)
{
    (void)state;
    char other[4096];
    int runner = start_first_runner();
    remove_folder(data_dir);
    assert_leaves(runner);

    runner = start_first_runner();
    snprintf(other, sizeof(other), "%s-moved", data_dir);
    assert_int_equal(rename(data_dir, other), 0);
    assert_leaves(runner);

    char lock[4096];
    runner = start_first_runner();
    snprintf(lock, sizeof(lock), "%s/runner.lock", data_dir);
    assert_int_equal(unlink(lock), 0);
    assert_leaves(runner);

    runner = start_first_runner();
    snprintf(other, sizeof(other), "%s/other.lock", data_dir);
    close(open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(rename(other, lock), 0);
    assert_leaves(runner);
}

int main(int argc, char **argv)
{
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 1;
    if (argc >= 3 && strcmp(argv[1], "runner") == 0) {
        data_dir = argv[2];
        return run_runner();
    }
    const struct CMUnitTest tests[] = {
        WATCH_TEST(test_one_of_several_watches_replaces_a_killed_runner),
        WATCH_TEST(test_a_stopped_runner_is_not_replaced),
        WATCH_TEST(test_a_runner_that_fails_is_started_again),
        WATCH_TEST(test_a_start_waits_for_the_lock_of_another),
        WATCH_TEST(test_a_watch_ends_at_once),
        WATCH_TEST(test_a_runner_without_its_folder_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
