#include "stepper/stepper.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "sql/run_steps.h"
#include "stepper/brand_turns.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RECONNECT_WAIT_MS = 500, LOOK_COST_FACTOR = 20 };
static const int64_t look_every_us = US_PER_S;
static const char given_up[] = "The step failed three times for an internal reason. See the log of the service.";

struct stepper {
    struct installation *installation;
    pthread_t thread;
    atomic_bool is_stopping;
    int stop_fd; /* eventfd */

    /* Of the thread. */
    struct db_conn *conn;
    struct graph_cache *cache;
    struct brand_turns turns;
    int64_t next_look_us;  /* monotonic */
    int64_t least_look_us; /* monotonic: no look before */
};

static void log_failure(const char *event, const struct error *err)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, event);
    log_error_members(&line, err);
    log_end(&line);
}

static struct work stepper_work(struct stepper *stepper, struct arena *arena, int64_t brand_id)
{
    return (struct work){
        .engine = installation_engine(stepper->installation),
        .arena = arena,
        .conn = stepper->conn,
        .brand_id = brand_id,
        .now_us = clock_now_us(),
    };
}

/* ---- Looking ---- */

/* Looks at the first run of each brand, once a second. After dead rows have made a look slow, looks take at most a twentieth of the
 * time. */
static bool look(struct stepper *stepper, struct arena *arena, struct error *err)
{
    int64_t begun_us = clock_monotonic_us();
    struct step_heads_row *rows;
    size_t count;
    if (begun_us < stepper->next_look_us)
        return true;
    if (!sql_step_heads(stepper->conn, arena, &rows, &count, err))
        return false;
    int64_t now_us = clock_now_us();
    for (size_t i = 0; i < count; i++)
        brand_turns_note(&stepper->turns, rows[i].brand_id, rows[i].due_at, now_us);
    int64_t cost_us = clock_monotonic_us() - begun_us;
    int64_t pause_us = LOOK_COST_FACTOR * cost_us > look_every_us ? LOOK_COST_FACTOR * cost_us : look_every_us;
    stepper->next_look_us = begun_us + pause_us;
    stepper->least_look_us = begun_us + LOOK_COST_FACTOR * cost_us;
    return true;
}

/* A notification names the brand that has a due run, or no brand. */
static bool read_notices(struct stepper *stepper, struct arena *arena, struct error *err)
{
    struct db_notice notice;
    bool got = true;
    while (got) {
        if (!db_notice_take(stepper->conn, arena, 0, &got, &notice, err))
            return false;
        int64_t brand_id = got ? strtoll(notice.payload, NULL, 10) : 0;
        if (brand_id > 0)
            brand_turns_find(&stepper->turns, brand_id)->is_due = true;
        else if (got)
            stepper->next_look_us = stepper->least_look_us;
    }
    return true;
}

/* ---- Stepping ---- */

struct stepping {
    struct stepper *stepper;
    const struct brand_turn *turn;
    struct work work;
    struct step_batch_result result;
};

static bool run_batch(void *context, struct error *err)
{
    struct stepping *stepping = context;
    return step_batch_run(&stepping->work, stepping->stepper->cache, stepping->turn->mark, stepping->turn->limit, &stepping->result,
                          err);
}

/* A cause that has nothing to do with the runs: a deadlock, a full disk, a server that shuts down, a missing key. */
static bool is_passing(const struct error *err)
{
    static const char *const classes[] = { "25", "40", "53", "55", "57", "58" };
    for (size_t i = 0; i < ARRAY_COUNT(classes); i++)
        if (strncmp(err->sqlstate, classes[i], 2) == 0)
            return true;
    return error_info(err->code)->retryable || db_error_is_retryable(err);
}

static bool fail_first(struct stepper *stepper, struct brand_turn *turn, struct arena *arena, struct error *err)
{
    struct work work = stepper_work(stepper, arena, turn->brand_id);
    int64_t run_id;
    if (!step_batch_fail_first(&work, turn->mark, given_up, &run_id, err))
        return false;
    turn->failures = 0;
    turn->paused_until_us = 0;
    if (run_id != 0)
        log_event(LOG_ERROR, "stepper.run", "Run %lld could not be stepped and has failed.", (long long)run_id);
    return true;
}

/* The transaction is tried again with fewer runs, until the run that makes it fail is alone. */
static bool handle_failure(struct stepper *stepper, struct brand_turn *turn, const struct error *why, struct error *err)
{
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    log_failure("stepper.batch", why);
    if (!brand_turn_failed(turn, is_passing(why), clock_monotonic_us()))
        return true;
    ARENA_SCOPE arena = arena_new(0);
    return fail_first(stepper, turn, arena, err);
}

static bool step_brand(struct stepper *stepper, struct brand_turn *turn, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error why = { .code = ERR_NONE };
    struct stepping stepping = { .stepper = stepper, .turn = turn, .work = stepper_work(stepper, arena, turn->brand_id) };
    if (!guard_run(run_batch, &stepping, "batch of runs", &why))
        return handle_failure(stepper, turn, &why, err);
    brand_turn_stepped(turn, &stepping.result, stepping.work.now_us, clock_monotonic_us());
    return true;
}

/* ---- The thread ---- */

static void wait_for(struct stepper *stepper, int64_t wait_us)
{
    int database_fd = stepper->conn != NULL ? db_socket(stepper->conn) : -1;
    struct pollfd fds[] = { { .fd = stepper->stop_fd, .events = POLLIN }, { .fd = database_fd, .events = POLLIN } };
    (void)!poll(fds, ARRAY_COUNT(fds), (int)((wait_us + 999) / 1000));
}

static bool step_once(struct stepper *stepper, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    /* Notifications are read last: one may come with the reply to a statement, and then nothing of it is left in the socket. */
    if (!look(stepper, arena, err) || !read_notices(stepper, arena, err))
        return false;
    int64_t monotonic_us = clock_monotonic_us();
    struct brand_turn *turn = brand_turns_next(&stepper->turns, clock_now_us(), monotonic_us);
    if (turn != NULL)
        return step_brand(stepper, turn, err);
    int64_t until_look_us = stepper->next_look_us > monotonic_us ? stepper->next_look_us - monotonic_us : 0;
    wait_for(stepper, brand_turns_wait_us(&stepper->turns, clock_now_us(), monotonic_us,
                                          until_look_us < look_every_us ? until_look_us : look_every_us));
    return true;
}

static bool connect_stepper(struct stepper *stepper, struct error *err)
{
    return stepper->conn != NULL ||
           (installation_connect(stepper->installation, &stepper->conn, err) && db_listen(stepper->conn, "posthorn_step", err));
}

static void *stepper_run(void *argument)
{
    struct stepper *stepper = argument;
    while (!atomic_load(&stepper->is_stopping)) {
        struct error err = { .code = ERR_NONE };
        if (connect_stepper(stepper, &err) && step_once(stepper, &err))
            continue;
        log_failure("stepper.database", &err);
        db_disconnect(stepper->conn);
        stepper->conn = NULL;
        stepper->next_look_us = 0;
        wait_for(stepper, RECONNECT_WAIT_MS * 1000);
    }
    db_disconnect(stepper->conn);
    return NULL;
}

struct stepper *stepper_start(struct installation *installation)
{
    struct stepper *stepper = calloc(1, sizeof(*stepper));
    if (stepper == NULL)
        panic(PANIC_NO_MEMORY);
    stepper->installation = installation;
    stepper->cache = graph_cache_new();
    stepper->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stepper->stop_fd < 0)
        panic(PANIC_NO_DESCRIPTOR);
    if (pthread_create(&stepper->thread, NULL, stepper_run, stepper) != 0)
        panic(PANIC_NO_THREAD);
    return stepper;
}

void stepper_stop(struct stepper *stepper)
{
    uint64_t one = 1;
    if (stepper == NULL)
        return;
    atomic_store(&stepper->is_stopping, true);
    if (write(stepper->stop_fd, &one, sizeof(one)) < 0)
        panic("an eventfd cannot be written");
    pthread_join(stepper->thread, NULL);
    graph_cache_free(stepper->cache);
    brand_turns_done(&stepper->turns);
    close(stepper->stop_fd);
    free(stepper);
}
