/*
 * For the tests of the private cluster: a data folder a test, and a look at the
 * processes that serve it.
 */
#pragma once

#include "base/clock.h"
#include "db/cluster.h"
#include "db/db.h"
#include "temp_folder.h"

#include <signal.h>
#include <string.h>

static char base_folder[] = "/tmp/posthorn-cluster-XXXXXX";
static char *data_dir;

/* ---- Seeing processes ---- */

/* The process id that the server of our folder wrote down, 0 when none. */
static inline int server_pid(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/pg/data/postmaster.pid", data_dir);
    FILE *file = fopen(path, "re");
    int pid = 0;
    if (file != NULL && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file != NULL)
        fclose(file);
    return pid;
}

static inline bool is_alive(int pid)
{
    char path[64];
    char state = 'X';
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    fclose(file);
    return state != 'Z' && state != 'X';
}

static inline void assert_ends(int pid, int wait_ms)
{
    for (int waited = 0; is_alive(pid); waited += 10) {
        if (waited > wait_ms)
            fail_msg("process %d does not end", pid);
        usleep(10000);
    }
}

/* The process ids that runners noted, newest last. */
static inline int runner_pids(int *ret_last)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/starts", data_dir);
    FILE *file = fopen(path, "re");
    int count = 0;
    while (file != NULL && fscanf(file, "%d", ret_last) == 1)
        count++;
    if (file != NULL)
        fclose(file);
    return count;
}

/* ---- Fixtures ---- */

static inline int setup_folder(void **state)
{
    (void)state;
    snprintf(base_folder, sizeof(base_folder), "/tmp/posthorn-cluster-XXXXXX");
    make_folder(base_folder);
    if (asprintf(&data_dir, "%s/data", base_folder) < 0)
        abort();
    return 0;
}

static inline int teardown_folder(void **state)
{
    (void)state;
    int pid = 0;
    if (runner_pids(&pid) > 0 && is_alive(pid))
        kill(pid, SIGTERM);
    int server = server_pid();
    for (int i = 0; i < 1000 && (is_alive(pid) || is_alive(server)); i++)
        usleep(10000);
    remove_folder(base_folder);
    free(data_dir);
    return 0;
}

/* Runs one command on a new connection. */
static inline bool run_sql(const char *sql, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0);
    struct db_config config = { .url = cluster_url(scratch, data_dir) };
    struct db *database = db_new(&config);
    struct db_conn *mine = NULL;
    bool ok = db_connect(database, 2000, &mine, err) && db_script(mine, sql, err);
    db_disconnect(mine);
    db_free(database);
    return ok;
}

#define CLUSTER_TEST(function) cmocka_unit_test_setup_teardown(function, setup_folder, teardown_folder)
