#include "api/dispatch/executor.h"

#include "api/dispatch/dispatch.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct call_queue {
    struct call_state *first;
    struct call_state *last;
};

struct executor {
    struct executor_config config;
    pthread_mutex_t lock;
    pthread_cond_t work;       /* a call was queued, or the executor stops */
    pthread_cond_t empty;      /* no call is queued or running */
    struct call_queue singles; /* taken in batches; empty in a pool without batchers */
    struct call_queue others;  /* taken one by one */
    size_t queued;
    uint64_t arrivals;
    int running;
    int batching; /* the running threads that run a batch */
    int idle;
    bool stopping;
    pthread_t *threads;
    int thread_count;
};

struct executor *executor_new(const struct executor_config *config)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    pthread_t *threads = calloc((size_t)config->threads, sizeof(*threads));
    if (executor == NULL || threads == NULL)
        abort();
    executor->config = *config;
    executor->threads = threads;
    pthread_mutex_init(&executor->lock, NULL);
    pthread_cond_init(&executor->work, NULL);
    pthread_cond_init(&executor->empty, NULL);
    return executor;
}

/* ---- The queues; all under the lock ---- */

static void queue_append(struct executor *executor, struct call_queue *queue, struct call_state *state)
{
    state->next = NULL;
    state->arrival = executor->arrivals++;
    if (queue->last != NULL)
        queue->last->next = state;
    else
        queue->first = state;
    queue->last = state;
    executor->queued++;
}

static struct call_state *take_first(struct executor *executor, struct call_queue *queue)
{
    struct call_state *state = queue->first;
    queue->first = state->next;
    if (queue->first == NULL)
        queue->last = NULL;
    executor->queued--;
    state->next = NULL;
    return state;
}

/* The queue that a free thread serves next; NULL when there is nothing for it. */
static struct call_queue *queue_to_serve(struct executor *executor)
{
    bool singles = executor->singles.first != NULL && executor->batching < executor->config.batchers;
    bool others = executor->others.first != NULL;
    if (singles && others)
        return executor->singles.first->arrival < executor->others.first->arrival ? &executor->singles : &executor->others;
    if (singles)
        return &executor->singles;
    return others ? &executor->others : NULL;
}

/* ---- A thread ---- */

/* The calls that one thread has taken. */
struct taken {
    struct call_state *states[EXECUTOR_BATCH_MAX];
    size_t count;
    bool is_batch;
};

/* Waits for the next call or batch of single calls. False when the executor stops. */
static bool take_work(struct executor *executor, struct taken *taken)
{
    pthread_mutex_lock(&executor->lock);
    executor->idle++;
    struct call_queue *queue;
    while ((queue = queue_to_serve(executor)) == NULL && !executor->stopping)
        pthread_cond_wait(&executor->work, &executor->lock);
    executor->idle--;

    taken->count = 0;
    taken->is_batch = queue == &executor->singles;
    if (queue != NULL) {
        size_t max = taken->is_batch ? (size_t)EXECUTOR_BATCH_MAX : 1;
        while (queue->first != NULL && taken->count < max)
            taken->states[taken->count++] = take_first(executor, queue);
        executor->running++;
        executor->batching += taken->is_batch;
    }
    pthread_mutex_unlock(&executor->lock);
    return taken->count > 0;
}

static void note_completed(struct executor *executor, const struct taken *taken)
{
    pthread_mutex_lock(&executor->lock);
    executor->running--;
    executor->batching -= taken->is_batch;
    if (executor->running == 0 && executor->queued == 0)
        pthread_cond_broadcast(&executor->empty);
    pthread_mutex_unlock(&executor->lock);
}

static void run_taken(struct executor *executor, struct db_conn **conn, const struct taken *taken)
{
    const struct executor_config *config = &executor->config;
    struct error err = { .code = ERR_NONE };
    if (*conn == NULL && !config->connect(config->context, conn, &err)) {
        for (size_t i = 0; i < taken->count; i++)
            config->refuse(config->context, taken->states[i], &err);
        return;
    }
    config->run(config->context, *conn, taken->states, taken->count);
}

static void *executor_thread(void *argument)
{
    struct executor *executor = argument;
    DB_CONN_SCOPE conn = NULL;
    struct taken taken;
    while (take_work(executor, &taken)) {
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
    if (pthread_create(&executor->threads[executor->thread_count], NULL, executor_thread, executor) == 0)
        executor->thread_count++;
    return executor->thread_count > 0;
}

/* Wakes a thread for one more call. Starts one when fewer threads are idle than calls wait. Single calls use at most `batchers`
 * threads beside those that serve other calls, so few connections are in use. */
static bool call_thread(struct executor *executor, bool is_single)
{
    const struct executor_config *config = &executor->config;
    int enough = is_single ? config->batchers + executor->running - executor->batching : config->threads;
    int threads_max = enough < config->threads ? enough : config->threads;
    if (executor->queued >= (size_t)executor->idle && !start_thread(executor, threads_max))
        return false;
    pthread_cond_signal(&executor->work);
    return true;
}

static bool queue_call(struct executor *executor, struct call_state *state, bool is_single, size_t queue_max, struct error *err)
{
    struct call_queue *queue = is_single && executor->config.batchers > 0 ? &executor->singles : &executor->others;
    pthread_mutex_lock(&executor->lock);
    /* When enough batchers run, no further thread is needed: one of them takes this single call with its next batch, or a thread
     * that was woken for an older call takes it. */
    bool batches = queue == &executor->singles;
    bool needs_thread = !batches || executor->batching < executor->config.batchers;
    bool accepted = !executor->stopping && executor->queued < queue_max && (!needs_thread || call_thread(executor, batches));
    if (accepted)
        queue_append(executor, queue, state);
    bool stopping = executor->stopping;
    pthread_mutex_unlock(&executor->lock);
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
    while (waited == 0 && (executor->running > 0 || executor->queued > 0))
        waited = pthread_cond_clockwait(&executor->empty, &executor->lock, CLOCK_MONOTONIC, &until);
    executor->stopping = true;
    struct call_queue singles = executor->singles;
    struct call_queue others = executor->others;
    executor->singles = executor->others = (struct call_queue){ NULL, NULL };
    executor->queued = 0;
    pthread_cond_broadcast(&executor->work);
    int threads = executor->thread_count;
    pthread_mutex_unlock(&executor->lock);

    struct error why = { .code = ERR_NONE };
    fail(&why, ERR_SERVICE_UNAVAILABLE, NULL, "The service is stopping.");
    refuse_all(executor, singles.first, &why);
    refuse_all(executor, others.first, &why);
    for (int i = 0; i < threads; i++)
        pthread_join(executor->threads[i], NULL);
    executor->thread_count = 0;
}

void executor_free(struct executor *executor)
{
    if (executor == NULL)
        return;
    pthread_cond_destroy(&executor->work);
    pthread_cond_destroy(&executor->empty);
    pthread_mutex_destroy(&executor->lock);
    free(executor->threads);
    free(executor);
}

size_t executor_queued(struct executor *executor)
{
    pthread_mutex_lock(&executor->lock);
    size_t queued = executor->queued;
    pthread_mutex_unlock(&executor->lock);
    return queued;
}
