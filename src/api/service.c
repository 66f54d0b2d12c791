#include "api/service.h"

#include "base/metric_text.h"
#include "base/panic.h"
#include "base/scheduling.h"

#include "api/dispatch/dispatch.h"
#include "crypto/keys.h"
#include "engine/hits/hit_matches.h"
#include "sql/activity.h"

#include <inttypes.h>
#include <stdlib.h>

/* Thread counts measured on two cores for one organization: 2 readers, 6 writers (they wait for the disk), 4 slow ones. Each
 * pool has one thread more, which an organization that has all of its threads leaves to others. */
enum {
    READ_THREADS = 3,
    WRITE_THREADS = 7,
    WRITE_BATCHERS = 3, /* of the writers: one works while another waits for the disk; more would make the batches smaller */
    SLOW_THREADS = 5,
    QUEUE_MAX = 1024,
    STOP_SLICE_MS = 1000,
};

static void refuse_call(void *context, struct call_state *state, const struct error *why)
{
    dispatch_finish(context, state, false, why);
}

static bool connect_executor(void *context, struct db_conn **ret_conn, struct error *err)
{
    struct api *api = context;
    return installation_connect(api->installation, ret_conn, err);
}

/* An error means no more than that nothing is noted: a lost connection is found again by the call. */
static void look_for_deliveries(void *context, struct db_conn *conn)
{
    struct api *api = context;
    ARENA_SCOPE arena = arena_new(0);
    struct delivering_organizations_row *rows;
    size_t count;
    struct error ignored = { .code = ERR_NONE };
    if (sql_delivering_organizations(conn, arena, &rows, &count, &ignored))
        for (size_t i = 0; i < count; i++)
            activity_note_delivery(api->activity, rows[i].organization_id);
}

static void tell_activity(void *context, struct db_conn *conn, const int64_t *organization_ids, size_t count)
{
    (void)context;
    ARENA_SCOPE arena = arena_new(0);
    struct active_organizations_note_params params = { .organization_ids = { organization_ids, count } };
    struct error ignored = { .code = ERR_NONE };
    (void)!sql_active_organizations_note(conn, arena, &params, NULL, &ignored);
}

/* Slow calls of an organization leave a processor to the others that are active. */
static int slow_share_beside(void)
{
    int processors = scheduling_processors();
    return processors > 1 ? processors - 1 : 1;
}

/* A query of several server processes keeps about two processors busy. */
static int slow_parallel_calls(void)
{
    return scheduling_processors() / 2;
}

static struct executor *pool_new(struct api *api, const char *name, int threads, int batchers)
{
    bool is_slow = batchers == 0;
    struct executor_config config = {
        .name = name,
        .threads = threads,
        .share_beside = is_slow ? slow_share_beside() : 0,
        .parallel_calls = is_slow ? slow_parallel_calls() : 0,
        .is_slow = is_slow,
        .activity = api->activity,
        .queue_max = api->config.queue_max != 0 ? api->config.queue_max : (size_t)QUEUE_MAX,
        .batchers = batchers,
        .run = dispatch_run,
        .refuse = refuse_call,
        .tell = tell_activity,
        .look = is_slow ? look_for_deliveries : NULL,
        .connect = connect_executor,
        .context = api,
    };
    return executor_new(&config);
}

struct api *api_new(const struct api_config *config)
{
    crypto_start();
    struct api *api = calloc(1, sizeof(*api));
    struct op_counters *counters = calloc(operation_count, sizeof(*counters));
    if (api == NULL || counters == NULL)
        panic(PANIC_NO_MEMORY);
    api->config = *config;
    api->counters = counters;
    api->installation = installation_new(&config->installation);
    api->engine = installation_engine(api->installation);
    api->engine->hit_matchers = hit_matchers_new();
    api->auth = auth_new(config->fixed_brand);
    api->activity = activity_new(0);
    api->limits = limits_new(config->limit_store, api->engine->name);
    pthread_mutex_init(&api->calls_lock, NULL);
    int quick = config->quick_threads;
    int readers = quick > 0 ? quick : READ_THREADS;
    api->reads = pool_new(api, "reads", readers, readers);
    api->writes = pool_new(api, "writes", quick > 0 ? quick : WRITE_THREADS, WRITE_BATCHERS);
    api->slow = pool_new(api, "slow", config->slow_threads > 0 ? config->slow_threads : SLOW_THREADS, 0);
    api->parked = parked_calls_new(api);
    api->in_flight = in_flight_keys_new();
    return api;
}

void api_free(struct api *api, int wait_ms)
{
    if (api == NULL)
        return;
    executor_stop(api->reads, wait_ms);
    executor_stop(api->slow, STOP_SLICE_MS);
    executor_stop(api->writes, wait_ms);
    parked_calls_free(api->parked);
    in_flight_keys_free(api->in_flight);
    executor_free(api->reads);
    executor_free(api->slow);
    executor_free(api->writes);
    activity_free(api->activity);
    limits_free(api->limits);
    auth_free(api->auth);
    hit_matchers_free(api->engine->hit_matchers);
    installation_free(api->installation);
    pthread_mutex_destroy(&api->calls_lock);
    free(api->counters);
    free(api);
}

struct installation *api_installation(struct api *api)
{
    return api->installation;
}

void api_forget_credentials(struct api *api)
{
    auth_forget(api->auth);
}

void api_write_metrics(struct api *api, struct buf *out)
{
    metric_write_head(out, "posthorn_calls_total", "counter", "Calls by operation.");
    for (size_t i = 0; i < operation_count; i++)
        buf_printf(out, "posthorn_calls_total{operation=\"%s\"} %" PRIu64 "\n", operations[i].id,
                   atomic_load(&api->counters[i].calls));
    metric_write_head(out, "posthorn_call_failures_total", "counter", "Calls that ended in an error, by operation.");
    for (size_t i = 0; i < operation_count; i++)
        buf_printf(out, "posthorn_call_failures_total{operation=\"%s\"} %" PRIu64 "\n", operations[i].id,
                   atomic_load(&api->counters[i].failures));
    metric_write_head(out, "posthorn_call_seconds_total", "counter", "Time spent in calls, by operation.");
    for (size_t i = 0; i < operation_count; i++)
        buf_printf(out, "posthorn_call_seconds_total{operation=\"%s\"} %.6f\n", operations[i].id,
                   (double)atomic_load(&api->counters[i].total_us) / 1e6);
    metric_write(out, "posthorn_limit_store_up", "gauge",
                 "1 while the limit store answers. Rate limits are not enforced while it does not.",
                 limits_are_counted(api->limits));
    metric_write_head(out, "posthorn_calls_waiting", "gauge", "Calls waiting for an executor, by lane.");
    buf_printf(out, "posthorn_calls_waiting{lane=\"reads\"} %zu\n", executor_queued(api->reads));
    buf_printf(out, "posthorn_calls_waiting{lane=\"writes\"} %zu\n", executor_queued(api->writes));
    buf_printf(out, "posthorn_calls_waiting{lane=\"slow\"} %zu\n", executor_queued(api->slow));
}
