#include "engine/core/installation.h"

#include "db/cluster.h"
#include "db/cluster_runner.h"
#include "db/migrate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { REJOIN_WAIT_MS = 10000 };

static const char sandbox_domain[] = "sandbox.posthorn.localhost";

struct installation {
    struct installation_config config;
    struct arena *arena;
    struct engine engine;
    struct db *db;
    int client_lock_fd;
    int runner_lock_fd;
    struct cluster_watch *runner_watch; /* of a client of the private cluster; else NULL */
    pthread_mutex_t opening;
    struct db_conn *first_conn; /* opened the installation and waits for the first caller of installation_connect; NULL: none */
    atomic_bool is_open;
};

struct installation *installation_new(const struct installation_config *config)
{
    struct arena *arena = arena_new(0);
    struct installation *installation = arena_alloc(arena, sizeof(*installation));
    installation->config = *config;
    installation->arena = arena;
    installation->client_lock_fd = -1;
    installation->runner_lock_fd = -1;
    installation->engine.data_dir = config->data_dir;
    installation->engine.key_file =
        config->key_file != NULL ? config->key_file : arena_printf(arena, "%s/master.key", config->data_dir);
    installation->engine.public_url = config->public_url;
    installation->engine.tracking_off = config->tracking_off;
    installation->engine.design_engine = config->design_engine != NULL ? config->design_engine : "composer";
    installation->engine.has_embeddings = config->has_embeddings;
    installation->engine.import_root = config->import_root;
    installation->engine.fetch_allow_loopback = config->fetch_allow_loopback;
    installation->engine.sandbox_domain = sandbox_domain;
    installation->engine.confirm_above = config->confirm_above;
    pthread_mutex_init(&installation->opening, NULL);
    return installation;
}

void installation_free(struct installation *installation)
{
    if (installation == NULL)
        return;
    cluster_watch_free(installation->runner_watch);
    db_disconnect(installation->first_conn);
    db_free(installation->db);
    cluster_leave(installation->client_lock_fd);
    cluster_leave(installation->runner_lock_fd);
    pthread_mutex_destroy(&installation->opening);
    arena_free(installation->arena);
}

/* Called before a reconnect, on any thread: the runner may have ended, so a new one may have to be started. */
static bool rejoin_cluster(void *data, struct error *err)
{
    struct installation *installation = data;
    return cluster_rejoin(installation->config.data_dir, installation->config.runner_argv, REJOIN_WAIT_MS, err);
}

/* Sessions of a server whose runner was killed may answer for a moment longer. A call that they answered would leave the
 * folder without a runner, and a job it queued would wait for the next call. By the path too: the folder may be a new one. */
static bool has_runner(void *data)
{
    const struct installation *installation = data;
    return cluster_runner_holds(installation->runner_lock_fd) || cluster_has_runner(installation->config.data_dir);
}

static bool join_cluster(struct installation *installation, struct error *err)
{
    const struct installation_config *config = &installation->config;
    if (installation->client_lock_fd < 0 &&
        !cluster_join(config->data_dir, config->runner_argv, INSTALLATION_OPEN_WAIT_MS, &installation->client_lock_fd, err))
        return false;
    if (installation->runner_lock_fd < 0)
        installation->runner_lock_fd = cluster_open_runner_lock(config->data_dir);
    return installation->runner_watch != NULL ||
           cluster_watch_new(config->data_dir, config->runner_argv, &installation->runner_watch, err);
}

static const char *reach_database(struct installation *installation, struct error *err)
{
    const struct installation_config *config = &installation->config;
    if (config->database_url != NULL)
        return config->database_url;
    if (config->runner_argv != NULL && !join_cluster(installation, err))
        return NULL;
    return cluster_url(installation->arena, config->data_dir);
}

static bool open_once(struct installation *installation, struct error *err)
{
    const char *url = reach_database(installation, err);
    if (url == NULL)
        return false;
    if (installation->db == NULL) {
        struct db_config config = {
            .url = url,
            .application_name = installation->config.application_name,
            .statement_timeout_ms = installation->config.statement_timeout_ms,
            .reach = installation->client_lock_fd >= 0 ? rejoin_cluster : NULL,
            .is_served = installation->client_lock_fd >= 0 ? has_runner : NULL,
            .reach_data = installation,
            .is_private = installation->config.database_url == NULL,
        };
        installation->db = db_new(&config);
    }
    DB_CONN_SCOPE conn = NULL;
    int version;
    if (!db_connect(installation->db, INSTALLATION_OPEN_WAIT_MS, &conn, err) || !db_migrate(conn, &version, err) ||
        !engine_load(conn, &installation->engine, err))
        return false;
    installation->first_conn = conn;
    conn = NULL;
    return true;
}

bool installation_open(struct installation *installation, struct error *err)
{
    if (atomic_load_explicit(&installation->is_open, memory_order_acquire))
        return true;
    pthread_mutex_lock(&installation->opening);
    bool ok = atomic_load(&installation->is_open) || open_once(installation, err);
    if (ok)
        atomic_store_explicit(&installation->is_open, true, memory_order_release);
    pthread_mutex_unlock(&installation->opening);
    return ok;
}

bool installation_is_open(const struct installation *installation)
{
    return atomic_load_explicit(&installation->is_open, memory_order_acquire);
}

/* A process that makes one call then needs one session of the server. A session costs more than most queries. */
static struct db_conn *take_first_conn(struct installation *installation)
{
    pthread_mutex_lock(&installation->opening);
    struct db_conn *conn = installation->first_conn;
    installation->first_conn = NULL;
    pthread_mutex_unlock(&installation->opening);
    return conn;
}

bool installation_connect(struct installation *installation, struct db_conn **ret_conn, struct error *err)
{
    if (!installation_open(installation, err))
        return false;
    *ret_conn = take_first_conn(installation);
    return *ret_conn != NULL || db_connect(installation->db, 0, ret_conn, err);
}

const char *installation_name(const struct installation *installation)
{
    return installation->config.application_name;
}

struct engine *installation_engine(struct installation *installation)
{
    return &installation->engine;
}
