/*
 * Private cluster: it starts, keeps its data, is closed to other users, ends with the
 * process that started it, and names the reason when it cannot start.
 */
#include "fixtures/cluster_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- Starting and stopping ---- */

static void test_start_keeps_what_was_there(void **state)
{
    (void)state;
    struct error err;
    struct cluster *started = NULL;
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    assert_true(cluster_is_running(started));
    assert_ok(run_sql("create table public.kept (id bigint); insert into public.kept values (1)", &err), &err);
    int pid = server_pid();
    assert_true(is_alive(pid));
    cluster_stop(started, 5000);
    assert_false(is_alive(pid));

    assert_ok(cluster_start(data_dir, &started, &err), &err);
    assert_ok(run_sql("select 1 / count(*) from public.kept", &err), &err);
    cluster_stop(started, 5000);
}

static void assert_mode(const char *name, unsigned mode)
{
    char path[4096];
    struct stat info;
    snprintf(path, sizeof(path), "%s/%s", data_dir, name);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, mode);
}

static void test_nothing_is_open_to_others(void **state)
{
    (void)state;
    struct error err;
    struct cluster *started = NULL;
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    static const char *const folders[] = { "", "pg", "pg/data", "pg/run" };
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++)
        assert_mode(folders[i], 0700);
    assert_mode("pg/server.log", 0600);
    assert_mode("pg/run/.s.PGSQL.5432", 0700);

    /* The server is never root. */
    char path[64];
    struct stat info;
    snprintf(path, sizeof(path), "/proc/%d", server_pid());
    assert_int_equal(stat(path, &info), 0);
    assert_int_not_equal(info.st_uid, 0);
    /* It listens on no address. */
    assert_ok(
        run_sql("do $$ begin assert current_setting('listen_addresses') = ''; assert current_setting('fsync') = 'on'; "
                "assert current_setting('synchronous_commit') = 'on'; assert current_setting('full_page_writes') = 'on'; end $$",
                &err),
        &err);
    cluster_stop(started, 5000);
}

static void test_server_dies_with_its_starter(void **state)
{
    (void)state;
    pid_t starter = fork();
    if (starter == 0) {
        struct error err = { .code = ERR_NONE };
        struct cluster *started;
        if (!cluster_start(data_dir, &started, &err))
            _exit(1);
        pause();
    }
    for (int i = 0; i < 6000 && !is_alive(server_pid()); i++)
        usleep(10000);
    int pid = server_pid();
    assert_true(is_alive(pid));
    kill(starter, SIGKILL);
    waitpid(starter, NULL, 0);
    assert_ends(pid, 60000);
}

static void test_awkward_folder_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "with space and 'quote' and \\backslash",
        "comma,comma",
        "a-name-that-is-so-long-that-no-unix-socket-fits-below-it-because-the-address-of-one-holds-108-bytes-and-no-more-than-that",
    };
    free(data_dir);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct error err;
        struct cluster *started = NULL;
        ARENA_SCOPE scratch = arena_new(0);
        data_dir = arena_printf(scratch, "%s/%s/deeper", base_folder, names[i]);
        assert_ok(cluster_start(data_dir, &started, &err), &err);
        assert_ok(run_sql("select 1", &err), &err);
        cluster_stop(started, 5000);
    }
    data_dir = strdup(base_folder);
}

static void test_killed_server_recovers(void **state)
{
    (void)state;
    struct error err;
    struct cluster *started = NULL;
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    assert_ok(run_sql("create table public.kept (id bigint); insert into public.kept values (1)", &err), &err);
    kill(server_pid(), SIGKILL);
    for (int i = 0; i < 6000 && cluster_is_running(started); i++)
        usleep(10000);
    assert_false(cluster_is_running(started));
    cluster_stop(started, 5000);
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    assert_ok(run_sql("select 1 / count(*) from public.kept", &err), &err);
    cluster_stop(started, 5000);
}

/* ---- Failures of a start ---- */

static void write_in_cluster(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/pg/data/%s", data_dir, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_stopped_cluster(void)
{
    struct error err;
    struct cluster *started = NULL;
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    cluster_stop(started, 5000);
}

/* A process of the server's own user, so that the server may not ignore it, called `name`, working in `folder`. */
static pid_t start_stranger(const char *name, const char *folder)
{
    int running[2]; /* ends with the exec */
    char byte;
    assert_int_equal(pipe2(running, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid != 0) {
        close(running[1]);
        assert_int_equal(read(running[0], &byte, 1), 0);
        close(running[0]);
        return pid;
    }
    struct stat info;
    char path[4096];
    snprintf(path, sizeof(path), "%s/pg/data", data_dir);
    if (stat(path, &info) != 0 || chdir(folder) != 0 || (geteuid() == 0 && setuid(info.st_uid) != 0))
        _exit(1);
    execl("/bin/sleep", name, "1000", (char *)NULL);
    _exit(1);
}

static void end_stranger(pid_t pid)
{
    assert_true(is_alive(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_stale_pid_file(void **state)
{
    (void)state;
    struct error err;
    struct cluster *started = NULL;
    char text[64];
    make_stopped_cluster();
    pid_t strangers[] = { start_stranger("sleep", "/"), start_stranger("/usr/bin/postgres", "/") };
    for (size_t i = 0; i < ARRAY_COUNT(strangers); i++) {
        snprintf(text, sizeof(text), "%d\n/somewhere\n", (int)strangers[i]);
        write_in_cluster("postmaster.pid", text);
        assert_ok(cluster_start(data_dir, &started, &err), &err);
        cluster_stop(started, 5000);
        end_stranger(strangers[i]);
    }
    /* A process id that no process has. */
    write_in_cluster("postmaster.pid", "4194303\n/somewhere\n");
    assert_ok(cluster_start(data_dir, &started, &err), &err);
    cluster_stop(started, 5000);
}

static void test_foreign_server_is_left_alone(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct cluster *started = NULL;
    char path[2048];
    char text[4096];
    make_stopped_cluster();
    snprintf(path, sizeof(path), "%s/pg/data", data_dir);
    pid_t stranger = start_stranger("postgres", path);
    snprintf(text, sizeof(text), "%d\n%s\n", (int)stranger, path);
    write_in_cluster("postmaster.pid", text);
    assert_false(cluster_start(data_dir, &started, &err));
    assert_non_null(strstr(err.message, "Another PostgreSQL server"));
    end_stranger(stranger);
}

static void test_other_major_version(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct cluster *started = NULL;
    make_stopped_cluster();
    write_in_cluster("PG_VERSION", "9\n");
    assert_false(cluster_start(data_dir, &started, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    assert_non_null(strstr(err.message, "created by PostgreSQL 9"));
    write_in_cluster("PG_VERSION", "");
    assert_false(cluster_start(data_dir, &started, &err));
    assert_non_null(strstr(err.message, "cannot be read"));
}

static void test_no_programs(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct cluster *started = NULL;
    setenv("POSTHORN_PG_BINDIR", "/no/such/folder", 1);
    assert_false(cluster_start(data_dir, &started, &err));
    unsetenv("POSTHORN_PG_BINDIR");
    assert_non_null(strstr(err.message, "POSTHORN_PG_BINDIR"));
}

static void test_broken_cluster_says_why(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct cluster *started = NULL;
    make_stopped_cluster();
    write_in_cluster("pg_hba.conf", "nonsense\n");
    assert_false(cluster_start(data_dir, &started, &err));
    assert_non_null(strstr(err.message, "could not load pg_hba.conf"));
}

static void test_unfinished_initdb_is_cleared(void **state)
{
    (void)state;
    char path[4096];
    assert_int_equal(mkdir(data_dir, 0700), 0);
    snprintf(path, sizeof(path), "%s/pg", data_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/pg/new-77", data_dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/pg/new-77/PG_VERSION", data_dir);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    make_stopped_cluster();
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(test_start_keeps_what_was_there),
        CLUSTER_TEST(test_nothing_is_open_to_others),
        CLUSTER_TEST(test_server_dies_with_its_starter),
        CLUSTER_TEST(test_awkward_folder_names),
        CLUSTER_TEST(test_killed_server_recovers),
        CLUSTER_TEST(test_stale_pid_file),
        CLUSTER_TEST(test_foreign_server_is_left_alone),
        CLUSTER_TEST(test_other_major_version),
        CLUSTER_TEST(test_no_programs),
        CLUSTER_TEST(test_broken_cluster_says_why),
        CLUSTER_TEST(test_unfinished_initdb_is_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
