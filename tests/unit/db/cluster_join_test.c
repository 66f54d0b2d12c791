/*
 * Joining the private cluster with real processes: any number of processes share one
 * server, no server is left running, and a killed runner loses no committed row.
 *
 * Started as "runner DIR MODE", this program is the runner of the tests.
 */
#include "fixtures/cluster_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { JOIN_WAIT_MS = 30000, NEVER_MS = 600 * 1000, RUNNER_IDLE_MS = 300 };

static char self[4096];

/* ---- The runner ---- */

static void note(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", data_dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        perror(path);
    close(fd);
}

static int print_startup_error(const char *message)
{
    fprintf(stderr,
            "{\"level\":\"info\",\"message\":\"Starting.\"}\n{\"error\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"%s\"}}\n",
            message);
    return 1;
}

static int run_runner(const char *mode)
{
    if (strcmp(mode, "fail") == 0)
        return print_startup_error("The disk failed.");
    char line[32];
    snprintf(line, sizeof(line), "%d\n", (int)getpid());
    if (strcmp(mode, "hang") == 0) {
        note("starts", line);
        sleep(60);
    }
    struct error err = { .code = ERR_NONE };
    int runner_fd;
    bool held;
    if (!cluster_lock_runner(data_dir, &runner_fd, &held, &err))
        return print_startup_error(err.message);
    if (!held)
        return 0;
    note("starts", line);
    struct cluster *cluster = NULL;
    if (!cluster_start(data_dir, &cluster, &err))
        return print_startup_error(err.message);

    int clients_fd = -1;
    int64_t needed_at_us = clock_monotonic_us();
    while (cluster_is_running(cluster) && clock_monotonic_us() - needed_at_us < RUNNER_IDLE_MS * US_PER_MS) {
        usleep(20000);
        if (!cluster_no_clients(data_dir, &clients_fd))
            needed_at_us = clock_monotonic_us();
        else
            cluster_leave(clients_fd);
    }
    cluster_stop(cluster, 5000);
    cluster_leave(runner_fd);
    return 0;
}

static bool join_with(const char *mode, int wait_ms, int *ret_fd, struct error *err)
{
    const char *const argv[] = { self, "runner", data_dir, mode, NULL };
    return cluster_join(data_dir, argv, wait_ms, ret_fd, err);
}

static bool rejoin(struct error *err)
{
    const char *const argv[] = { self, "runner", data_dir, "", NULL };
    return cluster_rejoin(data_dir, argv, JOIN_WAIT_MS, err);
}

/* ---- Joining ---- */

/* A client in a process of its own: joins, works, leaves. Its exit status says how it went. With `leave_fd`, it says there with a
 * byte that it has worked, and leaves when the other end is closed. */
static pid_t start_client(int leave_fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct error err = { .code = ERR_NONE };
    int fd;
    bool ok = join_with("", JOIN_WAIT_MS, &fd, &err) && run_sql("select 1", &err);
    if (!ok)
        fprintf(stderr, "client: %s (%s)\n", err.message, err.cause);
    char byte = 0;
    if (leave_fd >= 0 && (write(leave_fd, &byte, 1) != 1 || read(leave_fd, &byte, 1) != 0))
        ok = false;
    _exit(ok ? 0 : 1);
}

static void assert_client_went_well(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_many_join_one_server(void **state)
{
    (void)state;
    pid_t clients[4];
    int ends[2];
    char byte;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        clients[i] = start_client(ends[1]);
    /* None leaves before all have joined: the runner would end, and another would start. */
    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        assert_client_went_well(clients[i]);
    close(ends[0]);
    close(ends[1]);
    int pid = 0;
    assert_int_equal(runner_pids(&pid), 1);
}

static void test_runner_leaves_and_comes_back(void **state)
{
    (void)state;
    struct error err;
    int fd;
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    assert_true(cluster_has_runner(data_dir));
    int runner = 0;
    int server = server_pid();
    assert_int_equal(runner_pids(&runner), 1);
    /* A client holds it, however long. */
    usleep(3 * RUNNER_IDLE_MS * 1000);
    assert_true(is_alive(runner) && is_alive(server));
    cluster_leave(fd);
    assert_ends(runner, 60000);
    assert_false(is_alive(server));
    assert_false(cluster_has_runner(data_dir));

    assert_client_went_well(start_client(-1));
    assert_int_equal(runner_pids(&runner), 2);
}

/* A session costs more than most queries, so only a client that has lost one asks the server. */
static void test_joining_asks_no_server(void **state)
{
    (void)state;
    struct error err;
    int first;
    int second;
    assert_ok(join_with("", JOIN_WAIT_MS, &first, &err), &err);
    int server = server_pid();
    kill(server, SIGSTOP);
    bool joined = join_with("", JOIN_WAIT_MS, &second, &err);
    const char *const argv[] = { self, "runner", data_dir, "", NULL };
    struct error ignored;
    bool answers = cluster_rejoin(data_dir, argv, 100, &ignored);
    kill(server, SIGCONT);
    assert_ok(joined, &err);
    assert_false(answers);
    cluster_leave(second);
    cluster_leave(first);
}

static void test_killed_runner_is_replaced(void **state)
{
    (void)state;
    struct error err;
    int fd;
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    assert_ok(run_sql("create table public.kept (id bigint)", &err), &err);
    for (int round = 1; round <= 3; round++) {
        int runner = 0;
        int server = server_pid();
        assert_int_equal(runner_pids(&runner), round);
        char sql[80];
        snprintf(sql, sizeof(sql), "insert into public.kept values (%d)", round);
        assert_ok(run_sql(sql, &err), &err);
        kill(runner, SIGKILL);
        assert_ends(runner, 60000);
        assert_ok(rejoin(&err), &err);
        assert_false(is_alive(server));
        snprintf(sql, sizeof(sql), "select 1 / (count(*) = %d)::integer from public.kept", round);
        assert_ok(run_sql(sql, &err), &err);
    }
    cluster_leave(fd);
}

/* At any moment of its first start: creating, starting, serving. */
static void test_runner_killed_while_starting(void **state)
{
    (void)state;
    static const int moments_ms[] = { 5, 60, 150, 300, 450, 600, 700 };
    struct error err = { .code = ERR_NONE };
    for (size_t i = 0; i < ARRAY_COUNT(moments_ms); i++) {
        pid_t runner = fork();
        if (runner == 0)
            _exit(run_runner(""));
        usleep((useconds_t)moments_ms[i] * 1000);
        kill(runner, SIGKILL);
        waitpid(runner, NULL, 0);
    }
    int fd;
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    assert_ok(run_sql("select 1", &err), &err);
    cluster_leave(fd);
}

static void test_failing_runner_tells_why(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int fd;
    /* It is not waited for until the end: this test would not end either. */
    assert_false(join_with("fail", NEVER_MS, &fd, &err));
    assert_string_equal(err.message, "The disk failed.");
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);

    const char *const no_program[] = { "/no/such/program", NULL };
    assert_false(cluster_join(data_dir, no_program, 1000, &fd, &err));
    /* A failed join does not delay other processes. */
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    cluster_leave(fd);
}

static void test_hanging_runner_is_not_waited_for(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int fd;
    int64_t start_us = clock_monotonic_us();
    assert_false(join_with("hang", 400, &fd, &err));
    int64_t took_us = clock_monotonic_us() - start_us;
    assert_true(took_us >= 400 * US_PER_MS && took_us < 55 * US_PER_S); /* the runner hangs for 60 s */
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_true(err.retry_after_s > 0);
}

static void test_runner_inherits_nothing(void **state)
{
    (void)state;
    struct error err;
    int leaked = open("/dev/zero", O_RDONLY); /* deliberately not close-on-exec */
    assert_true(leaked >= 0);
    int fd;
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    int runner = 0;
    assert_int_equal(runner_pids(&runner), 1);
    int pids[] = { runner, server_pid() };
    for (size_t i = 0; i < ARRAY_COUNT(pids); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/fd", pids[i]);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        const struct dirent *entry;
        while ((entry = readdir(folder)) != NULL) {
            char link[4096] = "";
            char target[4096] = "";
            snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
            if (readlink(link, target, sizeof(target) - 1) > 0)
                assert_string_not_equal(target, "/dev/zero");
        }
        closedir(folder);
        assert_int_equal(getsid(pids[i]) == getsid(0), false);
    }
    close(leaked);
    cluster_leave(fd);
}

/* One that waited for the lock would come up just after a stop. */
static void test_second_runner_is_turned_away(void **state)
{
    (void)state;
    struct error err;
    int first;
    int second;
    bool held;
    assert_ok(cluster_lock_runner(data_dir, &first, &held, &err), &err);
    assert_true(held);
    assert_true(cluster_has_runner(data_dir));
    assert_ok(cluster_lock_runner(data_dir, &second, &held, &err), &err); /* while the first has it */
    assert_false(held);
    cluster_leave(first);
    assert_ok(cluster_lock_runner(data_dir, &second, &held, &err), &err);
    assert_true(held);
    cluster_leave(second);
}

static void test_leaving_runner_makes_clients_wait(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int fd;
    int exclusive;
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    assert_false(cluster_no_clients(data_dir, &exclusive));
    cluster_leave(fd);
    for (int i = 0; i < 6000 && cluster_has_runner(data_dir); i++)
        usleep(10000);
    assert_true(cluster_no_clients(data_dir, &exclusive));
    assert_false(join_with("", 200, &fd, &err));
    assert_non_null(strstr(err.message, "still stopping"));
    cluster_leave(exclusive);
    assert_ok(join_with("", JOIN_WAIT_MS, &fd, &err), &err);
    cluster_leave(fd);
}

int main(int argc, char **argv)
{
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 1;
    if (argc >= 4 && strcmp(argv[1], "runner") == 0) {
        data_dir = argv[2];
        return run_runner(argv[3]);
    }
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(test_many_join_one_server),
        CLUSTER_TEST(test_runner_leaves_and_comes_back),
        CLUSTER_TEST(test_joining_asks_no_server),
        CLUSTER_TEST(test_killed_runner_is_replaced),
        CLUSTER_TEST(test_runner_killed_while_starting),
        CLUSTER_TEST(test_failing_runner_tells_why),
        CLUSTER_TEST(test_hanging_runner_is_not_waited_for),
        CLUSTER_TEST(test_runner_inherits_nothing),
        CLUSTER_TEST(test_second_runner_is_turned_away),
        CLUSTER_TEST(test_leaving_runner_makes_clients_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
