#include "stepper/stepper.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "sql/run_steps.h"
#include "stepper/brand_turns.h"
#include "stepper/slot_file.h"
#include "stepper/suspect_runs.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RECONNECT_WAIT_MS = 500, LOOK_COST_FACTOR = 20 };
static const int64_t look_every_us = US_PER_S;
static const int64_t count_every_us = 2 * US_PER_S;
static const char given_up[] = "The step failed three times for an internal reason. See the log of the service.";
static const char ends_process[] = "The service ended three times while it stepped this run.";

struct stepper {
    struct installation *installation;
    char *data_dir;
    pthread_t thread;
    atomic_bool is_stopping;
    int stop_fd; /* eventfd */

    /* Of the thread. */
    struct db_conn *conn;
    struct graph_cache *cache;
    struct brand_turns turns;
    struct slot_file *slot_file; /* opened with the first connection */
    int64_t database;            /* identifies the database in slot files */
    int64_t counted_us;          /* monotonic; the last search for slot files of ended processes; 0: none */
    int64_t next_look_us;        /* monotonic */
    int64_t least_look_us;       /* monotonic: no look before */
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

static void note_heads(struct stepper *stepper, const struct db_rows *heads)
{
    const struct step_heads_row *rows = heads->rows;
    int64_t now_us = clock_now_us();
    for (size_t i = 0; i < heads->count; i++)
        brand_turns_note(&stepper->turns, rows[i].brand_id, rows[i].due_at, now_us);
}

static void note_suspects(struct stepper *stepper, struct arena *arena, const struct db_rows *brands)
{
    const struct step_suspect_brands_row *rows = brands->rows;
    int64_t *ids = arena_array(arena, brands->count, sizeof(*ids));
    for (size_t i = 0; i < brands->count; i++)
        ids[i] = rows[i].brand_id;
    brand_turns_note_suspects(&stepper->turns, (struct int_list){ ids, brands->count });
}

static bool count_crashes(struct stepper *stepper, struct arena *arena, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (stepper->counted_us != 0 && now_us - stepper->counted_us < count_every_us)
        return true;
    struct work work = stepper_work(stepper, arena, 0);
    if (!suspect_runs_count(&work, stepper->data_dir, stepper->database, err))
        return false;
    stepper->counted_us = now_us;
    return true;
}

/* Looks at the first run of each brand, once a second. After dead rows have made a look slow, looks take at most a twentieth of the
 * time. */
static bool look(struct stepper *stepper, struct arena *arena, struct error *err)
{
    if (clock_monotonic_us() < stepper->next_look_us)
        return true;
    if (!count_crashes(stepper, arena, err))
        return false;
    int64_t begun_us = clock_monotonic_us();
    struct db_batch *batch = db_batch_new(stepper->conn, arena);
    size_t heads = db_batch_add(batch, &step_heads_statement, NULL);
    size_t brands = db_batch_add(batch, &step_suspect_brands_statement, NULL);
    if (!db_batch_run(batch, err))
        return false;
    note_heads(stepper, db_batch_rows(batch, heads));
    note_suspects(stepper, arena, db_batch_rows(batch, brands));
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
    struct step_taking taking;
    struct work work;
    struct step_batch_result result;
};

static bool run_batch(void *context, struct error *err)
{
    struct stepping *stepping = context;
    return step_batch_run(&stepping->work, stepping->stepper->cache, &stepping->taking, &stepping->result, err);
}

/* The slot names the runs meanwhile. */
static bool run_guarded(struct stepping *stepping, struct error *err)
{
    stepping->taking.slot = slot_file_slot(stepping->stepper->slot_file);
    bool done = guard_run(run_batch, stepping, "batch of runs", err);
    step_slot_empty(stepping->taking.slot);
    return done;
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

static bool fail_first(const struct work *work, const struct step_taking *taking, const char *reason, struct error *err)
{
    int64_t run_id;
    if (!step_batch_fail_first(work, taking, reason, &run_id, err))
        return false;
    if (run_id != 0)
        log_event(LOG_ERROR, "stepper.run", "Run %lld could not be stepped and has failed.", (long long)run_id);
    return true;
}

/* The transaction is tried again with fewer runs, until the run that makes it fail is alone. */
static bool handle_failure(const struct stepping *stepping, struct brand_turn *turn, const struct error *why, struct error *err)
{
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    log_failure("stepper.batch", why);
    if (!brand_turn_failed(turn, is_passing(why), clock_monotonic_us()))
        return true;
    ARENA_SCOPE arena = arena_new(0);
    struct work work = stepper_work(stepping->stepper, arena, turn->brand_id);
    turn->failures = 0;
    turn->paused_until_us = 0;
    return fail_first(&work, &stepping->taking, given_up, err);
}

/* Suspect runs whose transaction fails for another reason go back to the others, where handle_failure finds the run. */
static bool handle_suspect_failure(const struct stepping *stepping, struct brand_turn *turn, const struct error *why,
                                   struct error *err)
{
    if (db_error_is_lost(why)) {
        *err = *why;
        return false;
    }
    log_failure("stepper.batch", why);
    brand_turn_rest(turn, clock_monotonic_us());
    struct step_forget_crashes_params params = { .brand_id = turn->brand_id, .run_ids = stepping->taking.only };
    return is_passing(why) || sql_step_forget_crashes(stepping->work.conn, stepping->work.arena, &params, NULL, err);
}

static bool step_suspects(struct stepping *stepping, struct brand_turn *turn, const struct suspect_runs *suspects,
                          struct error *err)
{
    struct error why = { .code = ERR_NONE };
    stepping->taking = suspects->taking;
    if (suspects->must_fail)
        return fail_first(&stepping->work, &stepping->taking, ends_process, err);
    if (!run_guarded(stepping, &why))
        return handle_suspect_failure(stepping, turn, &why, err);
    if (stepping->result.taken == 0)
        brand_turn_rest(turn, clock_monotonic_us());
    return true;
}

static bool step_others(struct stepping *stepping, struct brand_turn *turn, struct int_list except, struct error *err)
{
    struct error why = { .code = ERR_NONE };
    stepping->taking = (struct step_taking){ .mark = turn->mark, .limit = turn->limit, .except = except };
    if (!run_guarded(stepping, &why))
        return handle_failure(stepping, turn, &why, err);
    brand_turn_stepped(turn, &stepping->result, stepping->work.now_us, clock_monotonic_us());
    return true;
}

/* While a brand has suspect runs, they and the others take turns. The others are first, so that they go on in a process that the
 * suspect runs end again. */
static bool step_brand(struct stepper *stepper, struct brand_turn *turn, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct stepping stepping = { .stepper = stepper, .work = stepper_work(stepper, arena, turn->brand_id) };
    struct suspect_runs suspects = { .must_fail = false };
    if (turn->has_suspects && !suspect_runs_find(&stepping.work, &suspects, err))
        return false;
    turn->has_suspects = suspects.all.count > 0;
    bool is_of_suspects = turn->has_suspects && turn->suspects_are_next;
    turn->suspects_are_next = !is_of_suspects;
    bool done = is_of_suspects ? step_suspects(&stepping, turn, &suspects, err) : step_others(&stepping, turn, suspects.all, err);
    turn->is_due |= turn->has_suspects;
    return done;
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

/* Every database has a token key of its own, so its hash identifies the database. */
static int64_t database_of(const struct engine *engine)
{
    unsigned char hash[SECRET_HASH_BYTES];
    int64_t database;
    sha256(engine->token_key, sizeof(engine->token_key), hash);
    memcpy(&database, hash, sizeof(database));
    return database;
}

static bool connect_stepper(struct stepper *stepper, struct error *err)
{
    struct installation *installation = stepper->installation;
    if (stepper->conn != NULL)
        return true;
    if (!installation_connect(installation, &stepper->conn, err) || !db_listen(stepper->conn, "posthorn_step", err))
        return false;
    if (stepper->slot_file == NULL) {
        stepper->database = database_of(installation_engine(installation));
        stepper->slot_file = slot_file_open(stepper->data_dir, installation_name(installation), stepper->database);
    }
    return true;
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

struct stepper *stepper_start(struct installation *installation, const char *data_dir)
{
    struct stepper *stepper = calloc(1, sizeof(*stepper));
    if (stepper == NULL)
        panic(PANIC_NO_MEMORY);
    stepper->installation = installation;
    stepper->data_dir = strdup(data_dir);
    if (stepper->data_dir == NULL)
        panic(PANIC_NO_MEMORY);
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
    slot_file_close(stepper->slot_file);
    free(stepper->data_dir);
    close(stepper->stop_fd);
    free(stepper);
}
