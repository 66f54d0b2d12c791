#include "api/dispatch/executor.h"

#include "api/dispatch/dispatch.h"
#include "api/dispatch/fair_queue.h"
#include "base/clock.h"
#include "base/panic.h"
#include "base/scheduling.h"

#include <pthread.h>
#include <stdlib.h>

struct pool_thread {
    struct executor *executor;
    pthread_t id;
    pthread_cond_t woken;
    bool is_woken;
    struct pool_thread *next_idle; /* which has waited longer */
};

struct executor {
    struct executor_config config;
    pthread_mutex_t lock;
    pthread_cond_t empty; /* no call is queued or running */
    struct fair_queue *queue;
    int running;
    int batching; /* the running threads that run a batch */
    int idle;
    int waking; /* were idle, and have not looked for work yet */
    struct pool_thread *first_idle;
    bool stopping;
    struct pool_thread *threads;
    int thread_count;
};

/* One thread of several is kept for other organizations. */
static int share_of(int threads)
{
    return threads > 1 ? threads - 1 : 1;
}

static struct queue_shares shares_of(const struct executor_config *config)
{
    int share = share_of(config->threads);
    return (struct queue_shares){
        .threads = share,
        .threads_beside = config->share_beside > 0 && config->share_beside < share ? config->share_beside : share,
        .batchers = share_of(config->batchers),
    };
}

struct executor *executor_new(const struct executor_config *config)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    struct pool_thread *threads = calloc((size_t)config->threads, sizeof(*threads));
    if (executor == NULL || threads == NULL)
        panic(PANIC_NO_MEMORY);
    executor->config = *config;
    executor->threads = threads;
    executor->queue = fair_queue_new(shares_of(config), config->activity);
    pthread_mutex_init(&executor->lock, NULL);
    pthread_cond_init(&executor->empty, NULL);
    for (int i = 0; i < config->threads; i++) {
        threads[i].executor = executor;
        pthread_cond_init(&threads[i].woken, NULL);
    }
    return executor;
}

/* ---- Idle threads ---- */

/* Takes the thread that became idle last: its connection, and the server process behind it, are still in the processor's caches.
 * The caller signals `woken`. NULL when no thread is idle. */
static struct pool_thread *take_idle(struct executor *executor)
{
    struct pool_thread *thread = executor->first_idle;
    if (thread == NULL)
        return NULL;
    executor->first_idle = thread->next_idle;
    executor->idle--;
    executor->waking++;
    thread->is_woken = true;
    return thread;
}

/* Called after the lock is released: a thread that is woken under the lock would wait for it at once. */
static void wake(struct pool_thread *thread)
{
    if (thread != NULL)
        pthread_cond_signal(&thread->woken);
}

static void wait_idle(struct executor *executor, struct pool_thread *thread)
{
    thread->is_woken = false;
    thread->next_idle = executor->first_idle;
    executor->first_idle = thread;
    executor->idle++;
    while (!thread->is_woken)
        pthread_cond_wait(&thread->woken, &executor->lock);
    executor->waking--;
}

/* ---- A thread ---- */

static bool has_work(struct executor *executor, enum queue_kind *ret_kind)
{
    return fair_queue_next(executor->queue, executor->batching < executor->config.batchers, ret_kind);
}

/* Waits for the next call or batch of single calls. False when the executor stops. */
static bool take_work(struct executor *executor, struct pool_thread *thread, struct taken *taken)
{
    enum queue_kind kind;
    struct pool_thread *next = NULL;
    taken->count = 0;
    pthread_mutex_lock(&executor->lock);
    while (!executor->stopping && !has_work(executor, &kind))
        wait_idle(executor, thread);
    if (!executor->stopping) {
        fair_queue_take(executor->queue, kind, taken);
        executor->running++;
        taken->running = executor->running;
        executor->batching += kind == QUEUE_SINGLES;
        /* The end of a batch makes room for several organizations, so one thread wakes the next. */
        if (has_work(executor, &kind))
            next = take_idle(executor);
    }
    pthread_mutex_unlock(&executor->lock);
    wake(next);
    return taken->count > 0;
}

static void note_completed(struct executor *executor, const struct taken *taken)
{
    pthread_mutex_lock(&executor->lock);
    fair_queue_done(executor->queue, taken);
    executor->running--;
    executor->batching -= taken->kind == QUEUE_SINGLES;
    if (executor->running == 0 && fair_queue_count(executor->queue) == 0)
        pthread_cond_broadcast(&executor->empty);
    pthread_mutex_unlock(&executor->lock);
}

static bool connect_thread(const struct executor_config *config, struct db_conn **conn, struct error *err)
{
    if (*conn != NULL)
        return true;
    if (!config->connect(config->context, conn, err))
        return false;
    if (config->is_slow && *conn != NULL)
        db_lower_priority(*conn);
    return true;
}

/* The server processes that share a query have an ordinary priority. So a query has one process while others are active. Beside
 * many slow queries it has one, too: together they keep all processors busy, and a campaign that begins meanwhile waits for them. */
static void choose_processes(const struct executor *executor, struct db_conn *conn, const struct taken *taken)
{
    const struct executor_config *config = &executor->config;
    if (!config->is_slow || config->activity == NULL || conn == NULL)
        return;
    if (config->look != NULL && activity_must_look(config->activity))
        config->look(config->context, conn);
    struct error ignored = { .code = ERR_NONE }; /* a lost connection is found again by the call */
    bool is_quiet = taken->running <= config->parallel_calls &&
                    !activity_has_others(config->activity, taken->states[0]->turn.organization_id);
    (void)!db_allow_parallel(conn, is_quiet, &ignored);
}

/* After the calls, so that none of them waits for it. */
static void tell_activity(const struct executor_config *config, struct db_conn *conn)
{
    int64_t organization_ids[ACTIVITY_ORGANIZATIONS];
    if (config->tell == NULL || conn == NULL)
        return;
    size_t count = activity_take_latest(config->activity, organization_ids);
    if (count > 0)
        config->tell(config->context, conn, organization_ids, count);
}

static void run_taken(struct executor *executor, struct db_conn **conn, const struct taken *taken)
{
    const struct executor_config *config = &executor->config;
    struct error err = { .code = ERR_NONE };
    if (!connect_thread(config, conn, &err)) {
        for (size_t i = 0; i < taken->count; i++)
            config->refuse(config->context, taken->states[i], &err);
        return;
    }
    choose_processes(executor, *conn, taken);
    config->run(config->context, *conn, taken->states, taken->count);
    tell_activity(config, *conn);
}

static void *executor_thread(void *argument)
{
    struct pool_thread *thread = argument;
    struct executor *executor = thread->executor;
    DB_CONN_SCOPE conn = NULL;
    struct taken taken;
    (void)pthread_setname_np(pthread_self(), executor->config.name);
    if (executor->config.is_slow)
        scheduling_slow_thread();
    else
        scheduling_reset(); /* a thread inherits the policy of the thread that starts it */
    while (take_work(executor, thread, &taken)) {
        run_taken(executor, &conn, &taken);
        note_completed(executor, &taken);
    }
    return NULL;
}

/* ---- Submitting ---- */

static bool start_thread(struct executor *executor, int threads_max)
{
    if (executor->thread_count >= threads_max)
        return executor->thread_count > 0;
    struct pool_thread *thread = &executor->threads[executor->thread_count];
    if (pthread_create(&thread->id, NULL, executor_thread, thread) == 0)
        executor->thread_count++;
    return executor->thread_count > 0;
}

/* True when a thread is idle for one more call, or was started. Single calls use at most `batchers` threads beside those that serve
 * other calls, so few connections are in use. */
static bool has_thread(struct executor *executor, bool is_single)
{
    const struct executor_config *config = &executor->config;
    int enough = is_single ? config->batchers + executor->running - executor->batching : config->threads;
    int threads_max = enough < config->threads ? enough : config->threads;
    return fair_queue_count(executor->queue) < (size_t)(executor->idle + executor->waking) || start_thread(executor, threads_max);
}

static bool has_place(const struct executor *executor, const struct call_state *state, size_t queue_max)
{
    const struct turn *turn = &state->turn;
    bool has_own_bound = turn->waiting_max != 0 && queue_max != SIZE_MAX && turn->waiting_max < queue_max;
    return fair_queue_count_of(executor->queue, turn->organization_id) < (has_own_bound ? turn->waiting_max : queue_max) &&
           fair_queue_count(executor->queue) / EXECUTOR_QUEUE_SHARES < queue_max;
}

/* A thread that was woken for an older call takes all single calls that wait, unless it takes another call. */
static bool awaits_batcher(const struct executor *executor)
{
    return executor->waking > 0 && !fair_queue_has(executor->queue, QUEUE_OTHERS);
}

/* When the organization is at its bound, or enough batchers run, no further thread can take this call: a running one takes it
 * next. */
static bool needs_thread(const struct executor *executor, const struct call_state *state, enum queue_kind kind)
{
    if (!fair_queue_has_room(executor->queue, state->turn.organization_id, kind))
        return false;
    return kind != QUEUE_SINGLES || (executor->batching < executor->config.batchers && !awaits_batcher(executor));
}

static bool queue_call(struct executor *executor, struct call_state *state, bool is_single, size_t queue_max, struct error *err)
{
    bool batches = is_single && executor->config.batchers > 0;
    enum queue_kind kind = batches ? QUEUE_SINGLES : QUEUE_OTHERS;
    if (executor->config.activity != NULL)
        activity_note(executor->config.activity, state->turn.organization_id);
    pthread_mutex_lock(&executor->lock);
    struct pool_thread *idle = NULL;
    bool wakes = needs_thread(executor, state, kind);
    bool stopping = executor->stopping;
    bool accepted = !stopping && has_place(executor, state, queue_max) && (!wakes || has_thread(executor, batches));
    if (accepted)
        fair_queue_add(executor->queue, state, kind);
    if (accepted && wakes)
        idle = take_idle(executor);
    pthread_mutex_unlock(&executor->lock);
    wake(idle);
    if (accepted)
        return true;
    err->retry_after_s = 1;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, stopping ? "The service is stopping." : "Too many calls are waiting.");
}

bool executor_submit(struct executor *executor, struct call_state *state, bool is_single, struct error *err)
{
    return queue_call(executor, state, is_single, executor->config.queue_max, err);
}

bool executor_submit_again(struct executor *executor, struct call_state *state, struct error *err)
{
    return queue_call(executor, state, false, SIZE_MAX, err);
}

/* ---- The end ---- */

static void refuse_all(struct executor *executor, struct call_state *left, const struct error *why)
{
    while (left != NULL) {
        struct call_state *next = left->next;
        executor->config.refuse(executor->config.context, left, why);
        left = next;
    }
}

void executor_stop(struct executor *executor, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);
    pthread_mutex_lock(&executor->lock);
    int waited = 0;
    while (waited == 0 && (executor->running > 0 || fair_queue_count(executor->queue) > 0))
        waited = pthread_cond_clockwait(&executor->empty, &executor->lock, CLOCK_MONOTONIC, &until);
    executor->stopping = true;
    struct call_state *left = fair_queue_clear(executor->queue);
    struct pool_thread *idle;
    while ((idle = take_idle(executor)) != NULL)
        wake(idle);
    int threads = executor->thread_count;
    pthread_mutex_unlock(&executor->lock);

    struct error why = { .code = ERR_NONE };
    fail(&why, ERR_SERVICE_UNAVAILABLE, NULL, "The service is stopping.");
    refuse_all(executor, left, &why);
    for (int i = 0; i < threads; i++)
        pthread_join(executor->threads[i].id, NULL);
    executor->thread_count = 0;
}

void executor_free(struct executor *executor)
{
    if (executor == NULL)
        return;
    for (int i = 0; i < executor->config.threads; i++)
        pthread_cond_destroy(&executor->threads[i].woken);
    pthread_cond_destroy(&executor->empty);
    pthread_mutex_destroy(&executor->lock);
    fair_queue_free(executor->queue);
    free(executor->threads);
    free(executor);
}

size_t executor_queued(struct executor *executor)
{
    pthread_mutex_lock(&executor->lock);
    size_t queued = fair_queue_count(executor->queue);
    pthread_mutex_unlock(&executor->lock);
    return queued;
}
