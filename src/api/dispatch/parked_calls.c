#include "api/dispatch/parked_calls.h"

#include "api/dispatch/dispatch.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "base/scheduling.h"
#include "base/unwind.h"
#include "sql/parked_calls.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    POLL_MS = 1000,
    RECONNECT_MS = 200,
    SENT_ERROR_MAX_BYTES = ERROR_DETAILS_MAX_BYTES + 128 * 1024, /* with the spaces of jsonb */
};

struct parked_calls {
    struct api *api;
    pthread_mutex_t lock; /* guards the members below; not held while a call is completed */
    struct call_state *parked;
    bool stopping;
    bool started;
    pthread_t thread;
    int wake_fd;
};

struct parked_calls *parked_calls_new(struct api *api)
{
    struct parked_calls *parked = calloc(1, sizeof(*parked));
    if (parked == NULL)
        panic(PANIC_NO_MEMORY);
    parked->api = api;
    parked->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (parked->wake_fd < 0)
        panic(PANIC_NO_DESCRIPTOR);
    pthread_mutex_init(&parked->lock, NULL);
    return parked;
}

void parked_calls_wake(struct parked_calls *parked)
{
    /* A full counter means that a wake-up is already pending. */
    uint64_t one = 1;
    ssize_t written = write(parked->wake_fd, &one, sizeof(one));
    (void)written;
}

/* ---- Calls that end without their job ---- */

static void unlink_call(struct parked_calls *parked, const struct call_state *state)
{
    for (struct call_state **link = &parked->parked; *link != NULL; link = &(*link)->next) {
        if (*link == state) {
            *link = state->next;
            return;
        }
    }
}

enum early_end { NOT_YET, STOPPING, CANCELLED, TOO_LATE };

/* The reason why a call ends before its job has settled: the service stops, the caller has cancelled, or the deadline has passed.
 */
static enum early_end early_end_of(struct parked_calls *parked, const struct call_state *state, int64_t now_us)
{
    if (parked->stopping)
        return STOPPING;
    pthread_mutex_lock(&parked->api->calls_lock);
    bool cancelled = state->cancelled;
    pthread_mutex_unlock(&parked->api->calls_lock);
    if (cancelled)
        return CANCELLED;
    return now_us < state->deadline_us ? NOT_YET : TOO_LATE;
}

static void describe_early_end(enum early_end end, struct error *err)
{
    if (end == STOPPING) {
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The service is stopping; the job continues.");
    } else if (end == CANCELLED) {
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    } else {
        err->retry_after_s = 5;
        fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
             "The job is still running. Repeat the call with the same idempotency key to get its result.");
    }
}

/* Removes and returns a call that ends before its job has settled; NULL when there is none. */
static struct call_state *take_early_end(struct parked_calls *parked, int64_t now_us, enum early_end *ret_end)
{
    pthread_mutex_lock(&parked->lock);
    struct call_state *state = parked->parked;
    *ret_end = NOT_YET;
    while (state != NULL && !(state->committed && (*ret_end = early_end_of(parked, state, now_us)) != NOT_YET))
        state = state->next;
    if (state != NULL)
        unlink_call(parked, state);
    pthread_mutex_unlock(&parked->lock);
    return state;
}

/* Deletes the caller from the job. The job is cancelled when the caller has cancelled and no other waits, in any process. A
 * process that stops deletes none: callers count only while their process has a connection. */
static void leave_job(struct parked_calls *parked, struct db_conn *conn, const struct call_state *state, enum early_end end)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error ignored = { .code = ERR_NONE };
    struct parked_leave_params params = {
        .job_id = state->job_id,
        .process = installation_name(parked->api->installation),
        .call = state->caller,
        .cancels = end == CANCELLED,
    };
    if (conn != NULL && state->job_id != 0 && end != STOPPING && !sql_parked_leave(conn, arena, &params, NULL, &ignored))
        error_clear(&ignored);
}

static void complete_early(struct parked_calls *parked, struct db_conn *conn)
{
    int64_t now_us = clock_monotonic_us();
    enum early_end end;
    struct call_state *state;
    while ((state = take_early_end(parked, now_us, &end)) != NULL) {
        struct error err = { .code = ERR_NONE };
        leave_job(parked, conn, state, end);
        describe_early_end(end, &err);
        dispatch_finish(parked->api, state, false, &err);
    }
}

/* ---- Retrying calls without a job ---- */

/* Removes and returns a call without a job whose retry is due; NULL when there is none. */
static struct call_state *take_due(struct parked_calls *parked, int64_t now_us)
{
    pthread_mutex_lock(&parked->lock);
    struct call_state *state = parked->parked;
    while (state != NULL && !(state->committed && state->job_id == 0 && now_us >= state->retry_at_us))
        state = state->next;
    if (state != NULL)
        unlink_call(parked, state);
    pthread_mutex_unlock(&parked->lock);
    return state;
}

static void queue_due_calls(struct parked_calls *parked)
{
    int64_t now_us = clock_monotonic_us();
    struct call_state *state;
    while ((state = take_due(parked, now_us)) != NULL) {
        state->next = NULL;
        state->runs_alone = true; /* it was accepted by the queue before */
        dispatch_queue(parked->api, state);
    }
}

/* ---- Polling the jobs ---- */

static void read_job_error(struct arena *arena, const char *text, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = SENT_ERROR_MAX_BYTES };
    struct error ignored = { .code = ERR_NONE };
    const json_t *object = NULL;
    if (text == NULL || !json_read(arena, text, strlen(text), bounds, &object, &ignored))
        object = NULL;
    const char *message = json_get_text(object, "message");
    enum error_code code = error_code_from_name(json_get_text(object, "code"), ERR_INTERNAL_ERROR);
    fail(err, code, json_get_text(object, "param"), "%s", message != NULL ? message : "The job failed.");
    err->retry_after_s = json_get_int(object, "retryAfter", 0);
    const json_t *details = json_object_get(object, "details");
    if (details != NULL)
        error_with_details(err, json_compact(arena, details));
}

static void complete_with_job(struct parked_calls *parked, struct call_state *state, const struct parked_jobs_row *job)
{
    struct error err = { .code = ERR_NONE };
    bool done = strcmp(job->state, "done") == 0 && job->body != NULL;
    if (done) {
        int64_t cost = job->credit_cost.set ? job->credit_cost.value : -1;
        dispatch_answer_stored(state->call, (int)job->status.value, job->body, cost);
    } else {
        read_job_error(state->call->arena, job->error, &err);
    }
    dispatch_finish(parked->api, state, done, &err);
}

static void report_progress(struct call_state *state, const struct parked_jobs_row *job)
{
    if (state->call->on_progress == NULL || job->progress <= state->progress_seen)
        return;
    state->progress_seen = job->progress;
    state->call->on_progress(state->call, job->progress, job->progress_total, job->progress_note);
}

static bool job_is_settled(const struct parked_jobs_row *job)
{
    return strcmp(job->state, "queued") != 0 && strcmp(job->state, "running") != 0;
}

/* The next committed call after `behind` that waits for this job. It is removed from the list when the job has settled. */
static struct call_state *caller_of(struct parked_calls *parked, const struct parked_jobs_row *job, const struct call_state *behind)
{
    pthread_mutex_lock(&parked->lock);
    struct call_state *state = behind != NULL ? behind->next : parked->parked;
    while (state != NULL && !(state->committed && state->job_id == job->id))
        state = state->next;
    if (state != NULL && job_is_settled(job))
        unlink_call(parked, state);
    pthread_mutex_unlock(&parked->lock);
    return state;
}

static void handle_job(struct parked_calls *parked, const struct parked_jobs_row *job)
{
    struct call_state *state = NULL;
    if (job_is_settled(job)) {
        while ((state = caller_of(parked, job, NULL)) != NULL)
            complete_with_job(parked, state, job);
        return;
    }
    /* Only this thread removes committed calls, so the walk through the list is safe. */
    while ((state = caller_of(parked, job, state)) != NULL)
        report_progress(state, job);
}

static struct int_list parked_jobs(struct parked_calls *parked, struct arena *arena)
{
    pthread_mutex_lock(&parked->lock);
    size_t count = 0;
    for (const struct call_state *state = parked->parked; state != NULL; state = state->next)
        count++;
    int64_t *ids = arena_array(arena, count, sizeof(*ids));
    size_t used = 0;
    for (const struct call_state *state = parked->parked; state != NULL; state = state->next)
        if (state->job_id != 0)
            ids[used++] = state->job_id;
    pthread_mutex_unlock(&parked->lock);
    return (struct int_list){ ids, used };
}

struct jobs_query {
    struct db_conn *conn;
    struct arena *arena;
    struct int_list ids;
    struct parked_jobs_row *jobs;
    size_t count;
    bool ok;
    struct error *err;
};

static void run_jobs_query(void *context)
{
    struct jobs_query *query = context;
    struct parked_jobs_params params = { .ids = query->ids };
    query->ok = sql_parked_jobs(query->conn, query->arena, &params, &query->jobs, &query->count, query->err);
}

static void handle_jobs(struct parked_calls *parked, const struct jobs_query *query)
{
    for (size_t i = 0; i < query->count; i++)
        handle_job(parked, &query->jobs[i]);
}

/* The answers of many jobs may need more memory than one arena has. One answer always fits. */
static bool poll_one_by_one(struct parked_calls *parked, struct db_conn *conn, struct int_list ids, struct error *err)
{
    for (size_t i = 0; i < ids.count; i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct jobs_query query = { .conn = conn, .arena = arena, .ids = { &ids.items[i], 1 }, .err = err };
        run_jobs_query(&query);
        if (!query.ok)
            return false;
        handle_jobs(parked, &query);
    }
    return true;
}

static bool poll_jobs(struct parked_calls *parked, struct db_conn *conn, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    bool got = true;
    struct db_notice notice;
    while (got)
        if (!db_notice_take(conn, arena, 0, &got, &notice, err))
            return false;
    struct int_list ids = parked_jobs(parked, arena);
    ARENA_SCOPE answers = arena_new(0);
    struct jobs_query query = { .conn = conn, .arena = answers, .ids = ids, .err = err };
    if (ids.count == 0)
        return true;
    /* Only the query may be left: completing a call must not stop in the middle. */
    if (!unwind_catch(run_jobs_query, &query))
        return poll_one_by_one(parked, conn, ids, err);
    if (query.ok)
        handle_jobs(parked, &query);
    return query.ok;
}

/* ---- The thread ---- */

static void sleep_until_woken(struct parked_calls *parked, int database_fd, int wait_ms)
{
    struct pollfd fds[2] = {
        { .fd = parked->wake_fd, .events = POLLIN },
        { .fd = database_fd, .events = POLLIN },
    };
    int ready = poll(fds, database_fd >= 0 ? 2 : 1, wait_ms);
    uint64_t count;
    if (ready > 0 && (fds[0].revents & POLLIN) && read(parked->wake_fd, &count, sizeof(count)) < 0)
        return;
}

static bool is_stopped(struct parked_calls *parked)
{
    pthread_mutex_lock(&parked->lock);
    bool stop = parked->stopping && parked->parked == NULL;
    pthread_mutex_unlock(&parked->lock);
    return stop;
}

static bool has_parked_calls(struct parked_calls *parked)
{
    pthread_mutex_lock(&parked->lock);
    bool has_calls = parked->parked != NULL;
    pthread_mutex_unlock(&parked->lock);
    return has_calls;
}

static bool connect_listener(struct parked_calls *parked, struct db_conn **conn, struct error *err)
{
    return installation_connect(parked->api->installation, conn, err) && db_listen(*conn, "posthorn_jobs", err);
}

static void *parked_calls_thread(void *argument)
{
    struct parked_calls *parked = argument;
    const int poll_ms = parked->api->config.job_poll_ms > 0 ? parked->api->config.job_poll_ms : POLL_MS;
    DB_CONN_SCOPE conn = NULL;
    /* A slow thread may have started this one, which inherits its name and its policy. */
    (void)pthread_setname_np(pthread_self(), "parked");
    scheduling_reset();
    while (!is_stopped(parked)) {
        struct error err = { .code = ERR_NONE };
        /* Without parked calls a lost connection is not opened again: that would start a cluster that an operator has stopped. */
        bool has_calls = has_parked_calls(parked);
        bool needs_connection = conn != NULL || has_calls;
        bool ok = !needs_connection || ((conn != NULL || connect_listener(parked, &conn, &err)) && poll_jobs(parked, conn, &err));
        if (!ok && conn != NULL) {
            db_disconnect(conn);
            conn = NULL;
        }
        complete_early(parked, conn);
        queue_due_calls(parked);
        int until_next_ms = conn != NULL ? poll_ms : has_calls ? RECONNECT_MS : -1;
        if (!is_stopped(parked))
            sleep_until_woken(parked, conn != NULL ? db_socket(conn) : -1, until_next_ms);
    }
    return NULL;
}

/* ---- Parking ---- */

void parked_calls_add(struct parked_calls *parked, struct call_state *state, int64_t job_id)
{
    /* Shared by all services of the process, because a row of job_waiters has the name of the service, and two services may have
     * the same name. */
    static _Atomic int64_t callers;
    int64_t deadline_ms = parked->api->config.job_deadline_ms;
    state->job_id = job_id;
    state->caller = ++callers;
    state->committed = false;
    state->deadline_us = clock_later_us(clock_monotonic_us(), deadline_ms > 0 ? deadline_ms : JOB_CALLER_WAIT_MS, US_PER_MS);

    pthread_mutex_lock(&parked->lock);
    state->next = parked->parked;
    parked->parked = state;
    if (!parked->started)
        parked->started = pthread_create(&parked->thread, NULL, parked_calls_thread, parked) == 0;
    if (!parked->started)
        panic(PANIC_NO_THREAD);
    pthread_mutex_unlock(&parked->lock);
}

void parked_calls_record(struct parked_calls *parked, const struct call_state *state, struct db_batch *batch)
{
    struct parked_wait_params params = {
        .job_id = state->job_id,
        .process = installation_name(parked->api->installation),
        .call = state->caller,
    };
    db_batch_add(batch, &parked_wait_statement, &params);
}

void parked_calls_add_timed(struct parked_calls *parked, struct call_state *state, int64_t until_us)
{
    int64_t retry_at_us = clock_monotonic_us() + POLL_MS * US_PER_MS;
    state->retry_at_us = retry_at_us < until_us ? retry_at_us : until_us;
    parked_calls_add(parked, state, 0);
    parked_calls_committed(parked, state);
}

void parked_calls_remove(struct parked_calls *parked, struct call_state *state)
{
    pthread_mutex_lock(&parked->lock);
    unlink_call(parked, state);
    state->next = NULL;
    pthread_mutex_unlock(&parked->lock);
}

void parked_calls_committed(struct parked_calls *parked, struct call_state *state)
{
    pthread_mutex_lock(&parked->api->calls_lock);
    state->phase = CALL_PARKED;
    state->conn = NULL;
    pthread_mutex_unlock(&parked->api->calls_lock);

    pthread_mutex_lock(&parked->lock);
    state->committed = true;
    pthread_mutex_unlock(&parked->lock);
    parked_calls_wake(parked);
}

void parked_calls_free(struct parked_calls *parked)
{
    if (parked == NULL)
        return;
    pthread_mutex_lock(&parked->lock);
    parked->stopping = true;
    bool started = parked->started;
    pthread_mutex_unlock(&parked->lock);
    parked_calls_wake(parked);
    if (started)
        pthread_join(parked->thread, NULL);
    close(parked->wake_fd);
    pthread_mutex_destroy(&parked->lock);
    free(parked);
}
