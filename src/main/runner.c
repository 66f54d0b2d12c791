/*
 * Runner: the detached background process of a data folder. It owns the private
 * cluster and runs its jobs. It exits when for some minutes no client uses the
 * cluster and no job is queued, scheduled or running. So a campaign continues
 * when the editor that started it closes.
 */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "db/cluster.h"
#include "db/cluster_runner.h"
#include "jobs/worker.h"
#include "main/job_runner.h"
#include "main/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    IDLE_DEFAULT_S = 300,
    POLL_MS = 1000,
    STOP_CLUSTER_MS = 20000,
    STOP_WAIT_MS = 30000,
    STOP_POLL_MS = 20,
    START_WAIT_MS = 5000,
};

/* ---- Running ---- */

/* True when a client uses the cluster or a job is open. On false the runner keeps the clients' lock, so that a new client waits
 * for the runner's exit and then starts another one. */
static bool runner_is_needed(const char *data_dir, struct db_conn *conn, int *ret_lock_fd)
{
    struct error err = { .code = ERR_NONE };
    bool open = true;
    if (!cluster_no_clients(data_dir, ret_lock_fd))
        return true;
    if (workers_any_open(conn, &open, &err) && !open)
        return false;
    cluster_leave(*ret_lock_fd);
    *ret_lock_fd = -1;
    return true;
}

/* Returns when the process must stop, is no longer needed, or has lost its cluster. False: it has lost its cluster, and a client
 * is to start another runner. */
static bool run_until_idle(const struct options *options, const struct cluster *cluster, struct db_conn *conn, int *ret_lock_fd)
{
    int64_t idle_us = (options->idle_s > 0 ? options->idle_s : IDLE_DEFAULT_S) * US_PER_S;
    int64_t needed_at_us = clock_monotonic_us();
    while (!signals_wait(POLL_MS)) {
        if (!cluster_is_running(cluster)) {
            log_event(LOG_ERROR, "runner.cluster", "The database server has stopped unexpectedly.");
            return false;
        }
        bool needed = runner_is_needed(options->data_dir, conn, ret_lock_fd);
        int64_t now_us = clock_monotonic_us();
        if (needed)
            needed_at_us = now_us;
        else if (now_us - needed_at_us >= idle_us)
            return true;
        if (!needed) {
            cluster_leave(*ret_lock_fd);
            *ret_lock_fd = -1;
        }
    }
    return true;
}

static int run_jobs(const struct options *options, const struct cluster *cluster, struct arena *arena, int *ret_clients_fd)
{
    struct error err = { .code = ERR_NONE };
    const char *worker_name = job_runner_process_name(arena, "worker");
    struct installation_config config = { .data_dir = options->data_dir,
                                          .fetch_allow_loopback = options->fetch_allow_loopback,
                                          .application_name = worker_name,
                                          .public_url = options->public_url,
                                          .has_embeddings = options->embeddings != NULL,
                                          .tracking_off = options_tracking_off(options),
                                          .key_file = options->key_file };
    struct installation *installation = installation_new(&config);
    struct job_runner *jobs = NULL;
    int status = 1;
    {
        DB_CONN_SCOPE conn = NULL;
        bool ready = installation_connect(installation, &conn, &err) && job_runner_start(installation, options, &jobs, &err);
        if (ready) {
            cluster_record_mark_ready(options->data_dir);
            status = run_until_idle(options, cluster, conn, ret_clients_fd) ? 0 : 1;
        } else {
            command_failed(&err);
        }
        if (status == 0)
            cluster_record_remove(options->data_dir);
    }
    job_runner_stop(jobs);
    installation_free(installation);
    return status;
}

/* Nothing is left to save in a folder that is gone, and another runner may serve its successor. The kernel ends PostgreSQL with
 * this process. */
static void end_without_folder(void)
{
    log_event(LOG_ERROR, "runner.folder", "The data folder was removed, moved or replaced. The runner ends.");
    _exit(1);
}

int command_runner(const struct process *process, const struct options *options)
{
    signals_block();
    struct error err = { .code = ERR_NONE };
    int runner_fd;
    bool held;
    if (!cluster_lock_runner(options->data_dir, &runner_fd, &held, &err))
        return command_failed(&err);
    if (!held)
        return 0; /* another runner serves this data folder */

    cluster_record_write(options->data_dir);
    struct cluster *cluster;
    if (!cluster_runner_guard(options->data_dir, runner_fd, end_without_folder, &err) ||
        !cluster_start(options->data_dir, &cluster, &err)) {
        cluster_leave(runner_fd);
        return command_failed(&err);
    }
    log_event(LOG_INFO, "runner.started", "The private cluster of %s is up.", options->data_dir);
    int clients_fd = -1;
    int status = run_jobs(options, cluster, process->arena, &clients_fd);
    cluster_stop(cluster, STOP_CLUSTER_MS);
    log_event(LOG_INFO, "runner.stopped", "The private cluster of %s is down.", options->data_dir);
    cluster_leave(runner_fd);
    cluster_leave(clients_fd);
    return status;
}

/* ---- Stopping ---- */

static void pause_ms(long wait_ms)
{
    struct timespec pause = { .tv_nsec = wait_ms * 1000L * 1000L };
    nanosleep(&pause, NULL);
}

/* Waits for a start that is under way, and keeps others from starting a runner. -1: the folder has no runner, or the start takes
 * too long. */
static int await_start(const char *data_dir)
{
    int fd = cluster_lock_start(data_dir);
    for (int waited_ms = 0; fd < 0 && errno == EAGAIN && waited_ms < START_WAIT_MS; waited_ms += STOP_POLL_MS) {
        pause_ms(STOP_POLL_MS);
        fd = cluster_lock_start(data_dir);
    }
    return fd;
}

/* A new runner writes its id just after it has taken the lock, so the id is read until there is one. */
static int stop_runner(const char *data_dir)
{
    bool asked = false;
    for (int waited_ms = 0; waited_ms < STOP_WAIT_MS; waited_ms += STOP_POLL_MS) {
        pid_t pid = asked ? 0 : cluster_runner_pid(data_dir);
        if (pid > 0) {
            asked = kill(pid, SIGTERM) == 0;
            if (!asked && errno != ESRCH) {
                fprintf(stderr, "posthorn stop: the runner cannot be signalled: %s\n", strerror(errno));
                return 1;
            }
        }
        pause_ms(STOP_POLL_MS);
        if (!cluster_has_runner(data_dir)) {
            printf("{\"stopped\":true}\n");
            return 0;
        }
    }
    fprintf(stderr, "posthorn stop: the runner did not stop in time\n");
    return 1;
}

int command_stop(const struct process *process, const struct options *options)
{
    (void)process;
    int start_fd = await_start(options->data_dir);
    int status = 0;
    if (cluster_has_runner(options->data_dir)) {
        status = stop_runner(options->data_dir);
    } else {
        cluster_record_remove(options->data_dir);
        printf("{\"stopped\":false,\"reason\":\"not_running\"}\n");
    }
    cluster_leave(start_fd);
    return status;
}

/* ---- posthorn worker: jobs on a named database ---- */

int command_worker(const struct process *process, const struct options *options)
{
    struct error err = { .code = ERR_NONE };
    if (options->database_url == NULL) {
        fprintf(stderr, "posthorn worker: name a database with --database; the runner does this for a private cluster\n");
        return 2;
    }
    signals_block();
    const char *worker_name = job_runner_process_name(process->arena, "worker");
    struct installation_config config = {
        .fetch_allow_loopback = options->fetch_allow_loopback,
        .data_dir = options->data_dir,
        .database_url = options->database_url,
        .application_name = worker_name,
        .public_url = options->public_url,
        .has_embeddings = options->embeddings != NULL,
        .tracking_off = options_tracking_off(options),
        .key_file = options->key_file,
    };
    struct installation *installation = installation_new(&config);
    struct job_runner *jobs = NULL;
    int status = 0;
    if (!installation_open(installation, &err) || !job_runner_start(installation, options, &jobs, &err))
        status = command_failed(&err);
    while (status == 0 && !signals_wait(POLL_MS))
        continue;
    job_runner_stop(jobs);
    installation_free(installation);
    return status;
}
