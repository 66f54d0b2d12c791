#include "api/dispatch/parked_calls.h"

#include "api/dispatch/dispatch.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "sql/parked_calls.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    LOOK_EVERY_MS = 1000,
    RECONNECT_MS = 200,
    DEFAULT_DEADLINE_MS = 60 * 1000,
    SENT_ERROR_MAX_BYTES = 64 * 1024,
};

struct waiting {
    struct api *api;
    pthread_mutex_t lock; /* guards what follows; never held while a call is ended */
    struct call_state *parked;
    bool stopping;
    bool started;
    pthread_t thread;
    int wake_fd;
};

struct waiting *waiting_new(struct api *api)
{
    struct waiting *waiting = calloc(1, sizeof(*waiting));
    if (waiting == NULL)
        abort();
    waiting->api = api;
    waiting->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiting->wake_fd < 0)
        abort();
    pthread_mutex_init(&waiting->lock, NULL);
    return waiting;
}

void waiting_wake(struct waiting *waiting)
{
    /* A full counter means that a wake-up is on its way already. */
    uint64_t one = 1;
    ssize_t written = write(waiting->wake_fd, &one, sizeof(one));
    (void)written;
}

/* ---- Taking calls out ---- */

static void take_out(struct waiting *waiting, const struct call_state *state)
{
    for (struct call_state **link = &waiting->parked; *link != NULL; link = &(*link)->next) {
        if (*link == state) {
            *link = state->next;
            return;
        }
    }
}

enum early_end { NOT_YET, STOPPING, CANCELLED, TOO_LATE };

/* Why a call ends without its job: its caller is gone, its time is over, or the service stops. */
static enum early_end early_end_of(struct waiting *waiting, const struct call_state *state, int64_t now_us)
{
    if (waiting->stopping)
        return STOPPING;
    pthread_mutex_lock(&waiting->api->calls_lock);
    bool cancelled = state->cancelled;
    pthread_mutex_unlock(&waiting->api->calls_lock);
    if (cancelled)
        return CANCELLED;
    return now_us < state->deadline_us ? NOT_YET : TOO_LATE;
}

static void explain_end(enum early_end end, struct error *err)
{
    if (end == STOPPING) {
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The service is stopping; the work goes on.");
    } else if (end == CANCELLED) {
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    } else {
        err->retry_after_s = 5;
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The work goes on. Ask again with the same idempotency key to get its result.");
    }
}

static bool has_caller(const struct waiting *waiting, int64_t job_id)
{
    for (const struct call_state *state = waiting->parked; state != NULL; state = state->next)
        if (state->job_id == job_id)
            return true;
    return false;
}

/* Takes out a call that ends without its job, NULL when there is none. Its job is abandoned when the caller has gone and no
 * other waits for the same job. */
static struct call_state *take_ending(struct waiting *waiting, int64_t now_us, enum early_end *ret_end, bool *ret_abandoned)
{
    pthread_mutex_lock(&waiting->lock);
    struct call_state *state = waiting->parked;
    *ret_end = NOT_YET;
    while (state != NULL && !(state->committed && (*ret_end = early_end_of(waiting, state, now_us)) != NOT_YET))
        state = state->next;
    if (state != NULL)
        take_out(waiting, state);
    *ret_abandoned = state != NULL && *ret_end == CANCELLED && state->job_id != 0 && !has_caller(waiting, state->job_id);
    pthread_mutex_unlock(&waiting->lock);
    return state;
}

static void end_early(struct waiting *waiting, struct db_conn *conn)
{
    ARENA_SCOPE arena = arena_new(0);
    int64_t now_us = clock_monotonic_us();
    enum early_end end;
    bool abandoned;
    struct call_state *state;
    while ((state = take_ending(waiting, now_us, &end, &abandoned)) != NULL) {
        struct waiting_cancel_params params = { .ids = { &state->job_id, 1 } };
        struct error err = { .code = ERR_NONE };
        if (abandoned && conn != NULL && !sql_waiting_cancel(conn, arena, &params, NULL, &err))
            error_clear(&err);
        explain_end(end, &err);
        dispatch_finish(waiting->api, state, false, &err);
    }
}

/* ---- Asking again ---- */

/* Takes out a call without a job whose time has come, NULL when there is none. */
static struct call_state *take_due(struct waiting *waiting, int64_t now_us)
{
    pthread_mutex_lock(&waiting->lock);
    struct call_state *state = waiting->parked;
    while (state != NULL && !(state->committed && state->job_id == 0 && now_us >= state->again_us))
        state = state->next;
    if (state != NULL)
        take_out(waiting, state);
    pthread_mutex_unlock(&waiting->lock);
    return state;
}

static void ask_again(struct waiting *waiting)
{
    int64_t now_us = clock_monotonic_us();
    struct call_state *state;
    while ((state = take_due(waiting, now_us)) != NULL) {
        state->next = NULL;
        state->goes_alone = true; /* it was admitted to the queue before */
        dispatch_queue(waiting->api, state);
    }
}

/* ---- Looking at the jobs ---- */

static void read_error(struct arena *arena, const char *text, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = SENT_ERROR_MAX_BYTES };
    struct error ignored = { .code = ERR_NONE };
    const json_t *object = NULL;
    if (text == NULL || !json_read(arena, text, strlen(text), bounds, &object, &ignored))
        object = NULL;
    const char *message = json_get_text(object, "message");
    enum error_code code = error_code_from_name(json_get_text(object, "code"), ERR_INTERNAL_ERROR);
    fail(err, code, json_get_text(object, "param"), "%s", message != NULL ? message : "The work failed.");
    err->retry_after_s = json_get_int(object, "retryAfter", 0);
}

static void end_with_job(struct waiting *waiting, struct call_state *state, const struct waiting_jobs_row *job)
{
    struct error err = { .code = ERR_NONE };
    bool done = strcmp(job->state, "done") == 0 && job->body != NULL;
    if (done) {
        int64_t cost = job->credit_cost.set ? job->credit_cost.value : -1;
        dispatch_answer_stored(state->call, (int)job->status.value, job->body, cost);
    } else {
        read_error(state->call->arena, job->error, &err);
    }
    dispatch_finish(waiting->api, state, done, &err);
}

static void tell_progress(struct call_state *state, const struct waiting_jobs_row *job)
{
    if (state->call->progress == NULL || job->progress <= state->progress_seen)
        return;
    state->progress_seen = job->progress;
    state->call->progress(state->call, job->progress, job->progress_total, job->progress_note);
}

static bool is_settled(const struct waiting_jobs_row *job)
{
    return strcmp(job->state, "queued") != 0 && strcmp(job->state, "running") != 0;
}

/* The first committed call that waits for this job, taken out when the job has settled. */
static struct call_state *caller_of(struct waiting *waiting, const struct waiting_jobs_row *job, const struct call_state *behind)
{
    pthread_mutex_lock(&waiting->lock);
    struct call_state *state = behind != NULL ? behind->next : waiting->parked;
    while (state != NULL && !(state->committed && state->job_id == job->id))
        state = state->next;
    if (state != NULL && is_settled(job))
        take_out(waiting, state);
    pthread_mutex_unlock(&waiting->lock);
    return state;
}

static void attend_job(struct waiting *waiting, const struct waiting_jobs_row *job)
{
    struct call_state *state = NULL;
    if (is_settled(job)) {
        while ((state = caller_of(waiting, job, NULL)) != NULL)
            end_with_job(waiting, state, job);
        return;
    }
    /* Only this thread takes calls out once they are committed, so walking from one to the next is safe. */
    while ((state = caller_of(waiting, job, state)) != NULL)
        tell_progress(state, job);
}

static struct int_list parked_jobs(struct waiting *waiting, struct arena *arena)
{
    pthread_mutex_lock(&waiting->lock);
    size_t count = 0;
    for (const struct call_state *state = waiting->parked; state != NULL; state = state->next)
        count++;
    int64_t *ids = arena_array(arena, count, sizeof(*ids));
    size_t used = 0;
    for (const struct call_state *state = waiting->parked; state != NULL; state = state->next)
        if (state->job_id != 0)
            ids[used++] = state->job_id;
    pthread_mutex_unlock(&waiting->lock);
    return (struct int_list){ ids, used };
}

static bool look(struct waiting *waiting, struct db_conn *conn, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    bool got = true;
    struct db_notice notice;
    while (got)
        if (!db_notice_take(conn, arena, 0, &got, &notice, err))
            return false;
    struct waiting_jobs_params params = { .ids = parked_jobs(waiting, arena) };
    if (params.ids.count == 0)
        return true;
    struct waiting_jobs_row *jobs;
    size_t count;
    if (!sql_waiting_jobs(conn, arena, &params, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        attend_job(waiting, &jobs[i]);
    return true;
}

/* ---- The thread ---- */

static void sleep_until_woken(struct waiting *waiting, int database_fd, int wait_ms)
{
    struct pollfd fds[2] = {
        { .fd = waiting->wake_fd, .events = POLLIN },
        { .fd = database_fd, .events = POLLIN },
    };
    int ready = poll(fds, database_fd >= 0 ? 2 : 1, wait_ms);
    uint64_t count;
    if (ready > 0 && (fds[0].revents & POLLIN) && read(waiting->wake_fd, &count, sizeof(count)) < 0)
        return;
}

static bool must_stop(struct waiting *waiting)
{
    pthread_mutex_lock(&waiting->lock);
    bool stop = waiting->stopping && waiting->parked == NULL;
    pthread_mutex_unlock(&waiting->lock);
    return stop;
}

static bool is_waited_for(struct waiting *waiting)
{
    pthread_mutex_lock(&waiting->lock);
    bool waited_for = waiting->parked != NULL;
    pthread_mutex_unlock(&waiting->lock);
    return waited_for;
}

static bool listen_for_jobs(struct waiting *waiting, struct db_conn **conn, struct error *err)
{
    return installation_connect(waiting->api->installation, conn, err) && db_listen(*conn, "posthorn_jobs", err);
}

static void *waiting_thread(void *argument)
{
    struct waiting *waiting = argument;
    DB_CONN_SCOPE conn = NULL;
    while (!must_stop(waiting)) {
        struct error err = { .code = ERR_NONE };
        /* A connection that nobody waits for is not renewed: that would start a cluster which was stopped on purpose. */
        bool waited_for = is_waited_for(waiting);
        bool wanted = conn != NULL || waited_for;
        bool well = !wanted || ((conn != NULL || listen_for_jobs(waiting, &conn, &err)) && look(waiting, conn, &err));
        if (!well && conn != NULL) {
            db_disconnect(conn);
            conn = NULL;
        }
        end_early(waiting, conn);
        ask_again(waiting);
        int until_next_ms = conn != NULL ? LOOK_EVERY_MS : waited_for ? RECONNECT_MS : -1;
        if (!must_stop(waiting))
            sleep_until_woken(waiting, conn != NULL ? db_socket(conn) : -1, until_next_ms);
    }
    return NULL;
}

/* ---- Parking ---- */

void waiting_park(struct waiting *waiting, struct call_state *state, int64_t job_id)
{
    int64_t deadline_ms = waiting->api->config.job_deadline_ms;
    state->job_id = job_id;
    state->committed = false;
    state->deadline_us = clock_later_us(clock_monotonic_us(), deadline_ms > 0 ? deadline_ms : DEFAULT_DEADLINE_MS, US_PER_MS);

    pthread_mutex_lock(&waiting->lock);
    state->next = waiting->parked;
    waiting->parked = state;
    if (!waiting->started)
        waiting->started = pthread_create(&waiting->thread, NULL, waiting_thread, waiting) == 0;
    if (!waiting->started)
        abort();
    pthread_mutex_unlock(&waiting->lock);
}

void waiting_park_again(struct waiting *waiting, struct call_state *state, int64_t until_us)
{
    int64_t again_us = clock_monotonic_us() + LOOK_EVERY_MS * US_PER_MS;
    state->again_us = again_us < until_us ? again_us : until_us;
    waiting_park(waiting, state, 0);
    waiting_committed(waiting, state);
}

void waiting_unpark(struct waiting *waiting, struct call_state *state)
{
    pthread_mutex_lock(&waiting->lock);
    take_out(waiting, state);
    state->next = NULL;
    pthread_mutex_unlock(&waiting->lock);
}

void waiting_committed(struct waiting *waiting, struct call_state *state)
{
    pthread_mutex_lock(&waiting->api->calls_lock);
    state->phase = CALL_PARKED;
    state->conn = NULL;
    pthread_mutex_unlock(&waiting->api->calls_lock);

    pthread_mutex_lock(&waiting->lock);
    state->committed = true;
    pthread_mutex_unlock(&waiting->lock);
    waiting_wake(waiting);
}

void waiting_free(struct waiting *waiting)
{
    if (waiting == NULL)
        return;
    pthread_mutex_lock(&waiting->lock);
    waiting->stopping = true;
    bool started = waiting->started;
    pthread_mutex_unlock(&waiting->lock);
    waiting_wake(waiting);
    if (started)
        pthread_join(waiting->thread, NULL);
    close(waiting->wake_fd);
    pthread_mutex_destroy(&waiting->lock);
    free(waiting);
}
