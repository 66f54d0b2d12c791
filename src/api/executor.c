#include "api/executor.h"

#include "api/dispatch.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct executor {
    struct executor_config config;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* a call was queued, or the end has come */
    pthread_cond_t empty; /* the last call of the queue was finished */
    struct call_state *first;
    struct call_state *last;
    size_t queued;
    int running;
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

static struct call_state *take_first(struct executor *executor)
{
    struct call_state *state = executor->first;
    executor->first = state->next;
    if (executor->first == NULL)
        executor->last = NULL;
    executor->queued--;
    state->next = NULL;
    return state;
}

/* The next call, or several that may share a pipeline. 0 when the executor ends. */
static size_t take_work(struct executor *executor, struct call_state **states)
{
    pthread_mutex_lock(&executor->lock);
    executor->idle++;
    while (executor->first == NULL && !executor->stopping)
        pthread_cond_wait(&executor->work, &executor->lock);
    executor->idle--;

    size_t count = 0;
    if (executor->first != NULL) {
        states[count++] = take_first(executor);
        bool batches = executor->config.batches && states[0]->is_single;
        while (batches && executor->first != NULL && executor->first->is_single && count < EXECUTOR_BATCH_MAX)
            states[count++] = take_first(executor);
        executor->running++;
    }
    pthread_mutex_unlock(&executor->lock);
    return count;
}

static void work_done(struct executor *executor)
{
    pthread_mutex_lock(&executor->lock);
    executor->running--;
    if (executor->running == 0 && executor->first == NULL)
        pthread_cond_broadcast(&executor->empty);
    pthread_mutex_unlock(&executor->lock);
}

static void run_taken(struct executor *executor, struct db_conn **conn, struct call_state *const *states, size_t count)
{
    const struct executor_config *config = &executor->config;
    struct error err = { .code = ERR_NONE };
    if (*conn == NULL && !config->connect(config->context, conn, &err)) {
        for (size_t i = 0; i < count; i++)
            config->refuse(config->context, states[i], &err);
        return;
    }
    config->run(config->context, *conn, states, count);
}

static void *executor_thread(void *argument)
{
    struct executor *executor = argument;
    DB_CONN_SCOPE conn = NULL;
    struct call_state *states[EXECUTOR_BATCH_MAX];
    size_t count;
    while ((count = take_work(executor, states)) > 0) {
        run_taken(executor, &conn, states, count);
        work_done(executor);
    }
    return NULL;
}

static bool start_thread(struct executor *executor)
{
    if (executor->thread_count >= executor->config.threads)
        return true;
    if (pthread_create(&executor->threads[executor->thread_count], NULL, executor_thread, executor) == 0)
        executor->thread_count++;
    return executor->thread_count > 0;
}

bool executor_submit(struct executor *executor, struct call_state *state, bool is_single, struct error *err)
{
    state->is_single = is_single;
    state->next = NULL;
    pthread_mutex_lock(&executor->lock);
    bool accepted = !executor->stopping && executor->queued < executor->config.queue_max;
    /* Another thread only when those that idle are fewer than the calls that wait. */
    if (accepted && executor->queued >= (size_t)executor->idle)
        accepted = start_thread(executor);
    if (accepted) {
        if (executor->last != NULL)
            executor->last->next = state;
        else
            executor->first = state;
        executor->last = state;
        executor->queued++;
        pthread_cond_signal(&executor->work);
    }
    bool stopping = executor->stopping;
    pthread_mutex_unlock(&executor->lock);
    if (accepted)
        return true;
    err->retry_after_s = 1;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, stopping ? "The service is stopping." : "Too many calls are waiting.");
}

void executor_stop(struct executor *executor, int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t until_us = (int64_t)until.tv_sec * US_PER_S + until.tv_nsec / 1000 + wait_ms * US_PER_MS;
    until = (struct timespec){ .tv_sec = until_us / US_PER_S, .tv_nsec = until_us % US_PER_S * 1000 };

    pthread_mutex_lock(&executor->lock);
    int waited = 0;
    while (waited == 0 && (executor->running > 0 || executor->first != NULL))
        waited = pthread_cond_timedwait(&executor->empty, &executor->lock, &until);
    executor->stopping = true;
    struct call_state *left = executor->first;
    executor->first = executor->last = NULL;
    executor->queued = 0;
    pthread_cond_broadcast(&executor->work);
    int threads = executor->thread_count;
    pthread_mutex_unlock(&executor->lock);

    struct error why = { .code = ERR_NONE };
    fail(&why, ERR_SERVICE_UNAVAILABLE, NULL, "The service is stopping.");
    while (left != NULL) {
        struct call_state *next = left->next;
        executor->config.refuse(executor->config.context, left, &why);
        left = next;
    }
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
