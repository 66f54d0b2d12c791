#include "api/limits/limit_redis.h"

#include "api/limits/limit_connection.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 1000, WINDOW_NAME_BYTES = 160 };

/* A window without an effective limit; the probe counts a call in it. */
static const char probe_window[] = "posthorn:trial";
enum { PROBE_LIMIT = INT32_MAX };

struct redis_store {
    struct limit_store base;
    struct limit_address address;
    _Atomic bool answers;          /* changed under the lock; false: the circuit breaker is open */
    pthread_mutex_t lock;          /* guards the members below */
    pthread_cond_t changed;        /* the store has failed, or the store is closed */
    struct limit_connection *idle; /* connection pool: at most one connection for each thread */
    char peer[LIMIT_HOST_BYTES];   /* the numeric address of the last probe, so that no call waits for DNS; "": a socket */
    bool stopping;
    pthread_t retry_thread;
};

/* ---- Connections ---- */

/* Takes an idle connection from the pool; NULL when there is none. */
static struct limit_connection *take_idle(struct redis_store *redis)
{
    pthread_mutex_lock(&redis->lock);
    struct limit_connection *connection = redis->idle;
    if (connection != NULL)
        redis->idle = connection->next;
    pthread_mutex_unlock(&redis->lock);
    return connection;
}

static void give_back(struct redis_store *redis, struct limit_connection *connection)
{
    pthread_mutex_lock(&redis->lock);
    bool wanted = redis->answers && !redis->stopping;
    if (wanted) {
        connection->next = redis->idle;
        redis->idle = connection;
    }
    pthread_mutex_unlock(&redis->lock);
    if (!wanted)
        limit_disconnect(connection);
}

static void close_idle(struct redis_store *redis)
{
    for (struct limit_connection *connection; (connection = take_idle(redis)) != NULL;)
        limit_disconnect(connection);
}

static struct limit_connection *connect_again(struct redis_store *redis, char why[LIMIT_WHY_BYTES])
{
    char peer[LIMIT_HOST_BYTES];
    pthread_mutex_lock(&redis->lock);
    memcpy(peer, redis->peer, sizeof(peer));
    pthread_mutex_unlock(&redis->lock);
    return limit_connect(&redis->address, peer[0] != '\0' ? peer : NULL, why);
}

/* ---- Availability ---- */

static void note_failure(struct redis_store *redis, const char *why)
{
    pthread_mutex_lock(&redis->lock);
    bool was_answering = redis->answers;
    redis->answers = false;
    pthread_cond_signal(&redis->changed);
    pthread_mutex_unlock(&redis->lock);
    close_idle(redis);
    if (was_answering)
        log_event(LOG_WARNING, "limits.store", "%s does not answer (%s). Rate limits are not enforced until it does.",
                  redis->address.name, why);
}

/* Probes everything that a call needs: the name, the login, the script and write access. */
static bool probe_store(struct redis_store *redis, char why[LIMIT_WHY_BYTES])
{
    struct limit_count count;
    struct limit_connection *connection = limit_connect(&redis->address, NULL, why);
    if (connection == NULL || limit_ask(connection, probe_window, PROBE_LIMIT, &count, why) != LIMIT_ANSWERED) {
        limit_disconnect(connection);
        return false;
    }
    pthread_mutex_lock(&redis->lock);
    limit_peer(connection, redis->peer);
    redis->answers = true;
    pthread_mutex_unlock(&redis->lock);
    give_back(redis, connection);
    return true;
}

/* Waits until the store has failed and RETRY_MS have passed. False when the store is closed. */
static bool wait_to_retry(struct redis_store *redis)
{
    pthread_mutex_lock(&redis->lock);
    while (redis->answers && !redis->stopping)
        pthread_cond_wait(&redis->changed, &redis->lock);
    struct timespec deadline = clock_deadline(RETRY_MS);
    int waited = 0;
    while (!redis->stopping && waited == 0)
        waited = pthread_cond_clockwait(&redis->changed, &redis->lock, CLOCK_MONOTONIC, &deadline);
    bool keeps_running = !redis->stopping;
    pthread_mutex_unlock(&redis->lock);
    return keeps_running;
}

static void *retry_loop(void *store)
{
    struct redis_store *redis = store;
    char why[LIMIT_WHY_BYTES];
    while (wait_to_retry(redis))
        if (probe_store(redis, why))
            log_event(LOG_INFO, "limits.store", "%s answers.", redis->address.name);
    return NULL;
}

/* ---- Operations ---- */

static enum limit_asked ask_store(struct redis_store *redis, const char *window, int64_t limit, struct limit_count *ret_count,
                                  char why[LIMIT_WHY_BYTES])
{
    struct limit_connection *connection = take_idle(redis);
    bool was_idle = connection != NULL;
    if (!was_idle)
        connection = connect_again(redis, why);
    if (connection == NULL)
        return LIMIT_FAILED;
    enum limit_asked asked = limit_ask(connection, window, limit, ret_count, why);
    if (asked == LIMIT_ANSWERED) {
        give_back(redis, connection);
        return asked;
    }
    limit_disconnect(connection);
    return was_idle ? asked : LIMIT_FAILED;
}

static bool redis_count(struct limit_store *store, const struct limit_window *wanted, int64_t limit, int64_t now_us,
                        struct limit_count *ret_count)
{
    (void)now_us; /* the server's clock is used */
    struct redis_store *redis = (struct redis_store *)store;
    if (!redis->answers)
        return false;
    char window[WINDOW_NAME_BYTES];
    char why[LIMIT_WHY_BYTES] = "";
    snprintf(window, sizeof(window), "posthorn:%s:rate:%s:%s:%lld", wanted->installation, wanted->policy->name,
             wanted->kind == CREDENTIAL_SESSION ? "session" : "key", (long long)wanted->id);
    enum limit_asked asked = ask_store(redis, window, limit, ret_count, why);
    if (asked == LIMIT_CLOSED) {
        /* A server closes connections that were idle for long, and all of them when it restarts. Then the whole pool is closed. */
        close_idle(redis);
        asked = ask_store(redis, window, limit, ret_count, why);
    }
    if (asked != LIMIT_ANSWERED)
        note_failure(redis, why);
    return asked == LIMIT_ANSWERED;
}

static bool redis_answers(const struct limit_store *store)
{
    return ((const struct redis_store *)store)->answers;
}

static void redis_close(struct limit_store *store)
{
    struct redis_store *redis = (struct redis_store *)store;
    pthread_mutex_lock(&redis->lock);
    redis->stopping = true;
    pthread_cond_signal(&redis->changed);
    pthread_mutex_unlock(&redis->lock);
    pthread_join(redis->retry_thread, NULL);
    close_idle(redis);
    limit_address_done(&redis->address);
    pthread_cond_destroy(&redis->changed);
    pthread_mutex_destroy(&redis->lock);
    free(redis);
}

bool limit_redis_new(const char *address, struct limit_store **ret_store, struct error *err)
{
    static const struct limit_store_operations kind = { redis_count, redis_answers, redis_close, .may_wait = true };
    struct limit_address read;
    const char *why_refused;
    char why[LIMIT_WHY_BYTES] = "";
    if (!limit_address_read(address, &read, &why_refused))
        return fail(err, ERR_INVALID_REQUEST, "--limit-store", "The address of --limit-store is not valid: %s.", why_refused);
    struct redis_store *redis = calloc(1, sizeof(*redis));
    if (redis == NULL)
        panic(PANIC_NO_MEMORY);
    redis->base.operations = &kind;
    redis->address = read;
    redis->answers = true;
    pthread_mutex_init(&redis->lock, NULL);
    pthread_cond_init(&redis->changed, NULL);
    if (!probe_store(redis, why))
        note_failure(redis, why);
    if (pthread_create(&redis->retry_thread, NULL, retry_loop, redis) != 0)
        panic(PANIC_NO_THREAD);
    *ret_store = &redis->base;
    return true;
}

void limit_redis_probe(struct limit_store *store, struct limit_redis_facts *ret_facts)
{
    struct redis_store *redis = (struct redis_store *)store;
    char why[LIMIT_WHY_BYTES] = "";
    *ret_facts = (struct limit_redis_facts){ .name = "" };
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", redis->address.name);
    struct limit_connection *connection = limit_connect(&redis->address, NULL, why);
    struct limit_count count;
    if (connection == NULL || limit_ask(connection, probe_window, PROBE_LIMIT, &count, why) != LIMIT_ANSWERED)
        snprintf(ret_facts->problem, sizeof(ret_facts->problem), "%s", why);
    else
        limit_server(connection, ret_facts->server, sizeof(ret_facts->server));
    limit_disconnect(connection);
}
