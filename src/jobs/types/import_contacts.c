/*
 * The job of contacts.importCsv. A round reads the CSV text on the thread of the
 * worker; each shard saves its part of the chunks on its own thread and
 * connection. A few chunks are in flight at a time. The shards commit, so a round
 * may end anywhere: the next round continues at the positions of the shards.
 *
 * An import that is to be validated has one more round when it has saved at most
 * VALIDATION_MAX_WAITED_FOR contacts. That round checks their addresses while
 * the caller waits (D-144). More addresses are checked by a job of their own.
 */
#include "base/clock.h"
#include "base/guard.h"
#include "base/panic.h"
#include "catalogue/job_types.h"
#include "engine/imports/imports.h"
#include "jobs/types/validate_lookup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMPORT_MAX_ATTEMPTS = 50,
    CHUNKS_UNDER_WAY = 3, /* one is being read, the others wait for the shards */
    NOTE_CHARS = 96,
};
/* The name of the computation in the error of base/guard.h. */
#define IMPORT_GUARDED "import"
static const int64_t round_us = 20 * US_PER_S; /* well within the lease of a job */
static const int64_t progress_every_us = US_PER_S / 2;

/* ---- The pump: one reader, and one thread for each shard ---- */

struct pump;

struct pump_shard {
    struct pump *pump;
    struct import_shard shard;
    pthread_t thread;
    bool is_started;
    int64_t next; /* the chunk that it applies next; the pump's lock protects this and the next two */
    bool has_failed;
    struct error error;
};

struct pump {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct job *job;
    struct import_chunk *chunks[CHUNKS_UNDER_WAY]; /* chunk n is at n % CHUNKS_UNDER_WAY */
    int64_t read;                                  /* the number of the next chunk to read */
    bool has_ended;                                /* no more chunks will be read */
    bool must_stop;                                /* a shard has failed */
    struct pump_shard shards[IMPORT_SHARDS];
};

/* Waits for the chunk that a shard applies next; NULL when the shard is done. */
static const struct import_chunk *await_chunk(struct pump_shard *shard)
{
    struct pump *pump = shard->pump;
    pthread_mutex_lock(&pump->lock);
    while (shard->next == pump->read && !pump->has_ended && !pump->must_stop)
        pthread_cond_wait(&pump->moved, &pump->lock);
    bool is_done = pump->must_stop || shard->next == pump->read;
    pthread_mutex_unlock(&pump->lock);
    return is_done ? NULL : pump->chunks[shard->next % CHUNKS_UNDER_WAY];
}

struct chunk_to_apply {
    struct import_shard *shard;
    const struct import_chunk *chunk;
};

static bool apply_chunk(void *context, struct error *err)
{
    const struct chunk_to_apply *apply = context;
    return import_shard_apply(apply->shard, apply->chunk, err);
}

/* In a turn of the organization: each shard of each import keeps a processor busy. */
static bool apply_in_turn(struct pump_shard *shard, const struct import_chunk *chunk, struct error *err)
{
    struct chunk_to_apply apply = { &shard->shard, chunk };
    arena_reset(shard->shard.work.arena);
    return job_run_in_turn(shard->pump->job, &shard->shard.work, apply_chunk, &apply, err);
}

static void *shard_thread(void *argument)
{
    struct pump_shard *shard = argument;
    struct pump *pump = shard->pump;
    const struct import_chunk *chunk;
    while ((chunk = await_chunk(shard)) != NULL) {
        struct error err = { .code = ERR_NONE };
        bool ok = apply_in_turn(shard, chunk, &err);
        pthread_mutex_lock(&pump->lock);
        shard->next++;
        if (!ok) {
            shard->has_failed = true;
            shard->error = err;
            pump->must_stop = true;
        }
        pthread_cond_broadcast(&pump->moved);
        pthread_mutex_unlock(&pump->lock);
    }
    return NULL;
}

/* Waits until all shards are done with the chunk whose memory the next chunk takes; false when a shard has failed. */
static bool await_room(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    for (size_t i = 0; i < IMPORT_SHARDS; i++)
        while (!pump->must_stop && pump->read - pump->shards[i].next >= CHUNKS_UNDER_WAY)
            pthread_cond_wait(&pump->moved, &pump->lock);
    bool may_go_on = !pump->must_stop;
    pthread_mutex_unlock(&pump->lock);
    return may_go_on;
}

static void hand_over(struct pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->read++;
    pthread_cond_broadcast(&pump->moved);
    pthread_mutex_unlock(&pump->lock);
}

static bool pump_start(struct pump *pump, struct job *job, const struct import *import, struct error *err)
{
    const struct import_shard_row *begin = import_hindmost(import);
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->moved, NULL);
    pump->job = job;
    pump->read = begin->chunks;
    for (size_t i = 0; i < CHUNKS_UNDER_WAY; i++)
        pump->chunks[i] = import_chunk_new(job->work.arena);
    for (size_t i = 0; i < IMPORT_SHARDS; i++) {
        struct pump_shard *shard = &pump->shards[i];
        shard->pump = pump;
        shard->next = begin->chunks;
        shard->shard = (struct import_shard){
            .work = job->work,
            .import_id = import->row->id,
            .shard = (int64_t)i,
            .validation_id = import->row->validation_id.value,
            .chunks = import->shards[i].chunks,
            .fields = import_columns_custom(job->work.arena, &import->plan.columns),
        };
        shard->shard.work.arena = arena_new(0);
        shard->shard.work.conn = NULL;
        if (!job_connect(job, &shard->shard.work.conn, err))
            return false;
        shard->is_started = pthread_create(&shard->thread, NULL, shard_thread, shard) == 0;
        if (!shard->is_started)
            panic(PANIC_NO_THREAD);
    }
    return true;
}

/* Lets the shards finish the chunks that were read, and frees everything. Gives the error of a shard that failed. */
static bool pump_end(struct pump *pump, struct error *err)
{
    bool ok = true;
    pthread_mutex_lock(&pump->lock);
    pump->has_ended = true;
    pthread_cond_broadcast(&pump->moved);
    pthread_mutex_unlock(&pump->lock);
    for (size_t i = 0; i < IMPORT_SHARDS; i++) {
        struct pump_shard *shard = &pump->shards[i];
        if (shard->is_started)
            pthread_join(shard->thread, NULL);
        if (shard->has_failed && ok) {
            *err = shard->error;
            ok = false;
        }
        db_disconnect(shard->shard.work.conn);
        arena_free(shard->shard.work.arena);
    }
    pthread_mutex_destroy(&pump->lock);
    pthread_cond_destroy(&pump->moved);
    return ok;
}

/* ---- A round ---- */

enum round_end { ROUND_GOES_ON, ROUND_COMPLETED, ROUND_CANCELED };

struct round {
    struct job *job;
    struct import import;
    struct pump pump;
    int64_t begun_at_us;
    int64_t begun_line;
    int64_t told_at_us;
};

static void tell_progress(struct round *round, const struct import_reading *reading)
{
    int64_t now_us = clock_monotonic_us();
    if (now_us - round->told_at_us < progress_every_us)
        return;
    round->told_at_us = now_us;
    int64_t lines = reading->csv.line - 1;
    double seconds = (double)(now_us - round->begun_at_us) / (double)US_PER_S;
    double rate = (double)(reading->csv.line - round->begun_line) / seconds;
    char note[NOTE_CHARS];
    snprintf(note, sizeof(note), "%lld rows read, %.0f a second", (long long)lines, rate);
    job_progress(round->job, (double)reading->csv.offset, (double)round->import.row->size_bytes, note);
}

/* Shard 0 stores the errors. If it has applied this chunk before, the chunk is read again for the other shards only. The errors of
 * the chunk have used the budget already, so they get a budget without room. */
static bool read_chunk(struct round *round, struct import_reading *reading, struct error *err)
{
    struct pump *pump = &round->pump;
    struct import_chunk *chunk = pump->chunks[pump->read % CHUNKS_UNDER_WAY];
    struct import_error_budget none = { .kept = IMPORT_MAX_ERRORS_KEPT };
    bool is_repeated = pump->read < round->import.shards[0].chunks;
    if (!import_chunk_read(chunk, &round->import.plan, reading, is_repeated ? &none : &round->import.budget, err))
        return false;
    chunk->number = pump->read;
    return true;
}

struct reader {
    struct round *round;
    struct import_reading *reading;
    enum round_end *ret_end;
};

static bool read_chunk_of(void *context, struct error *err)
{
    const struct reader *reader = context;
    return read_chunk(reader->round, reader->reading, err);
}

static bool read_chunks(void *context, struct error *err)
{
    const struct reader *reader = context;
    struct round *round = reader->round;
    enum round_end *ret_end = reader->ret_end;
    struct pump *pump = &round->pump;
    *ret_end = ROUND_GOES_ON;
    while (await_room(pump)) {
        if (job_is_cancelled(round->job)) {
            *ret_end = ROUND_CANCELED;
            return true;
        }
        if (clock_monotonic_us() - round->begun_at_us > round_us)
            return true;
        if (!job_run_in_turn(round->job, &round->job->work, read_chunk_of, context, err))
            return false;
        bool is_last = pump->chunks[pump->read % CHUNKS_UNDER_WAY]->is_last;
        hand_over(pump);
        if (is_last) {
            *ret_end = ROUND_COMPLETED;
            return true;
        }
        tell_progress(round, reader->reading);
    }
    return true;
}

static bool run_round(struct round *round, enum round_end *ret_end, struct error *err)
{
    const struct import *import = &round->import;
    const struct import_shard_row *begin = import_hindmost(import);
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, &import->source, import->plan.charset, import->plan.delimiter, begin->next_offset,
                         begin->next_line);
    round->begun_at_us = clock_monotonic_us();
    round->begun_line = begin->next_line;
    struct error shard_error = { .code = ERR_NONE };
    struct reader reader = { round, &reading, ret_end };
    bool read = pump_start(&round->pump, round->job, import, err) && guard_run(read_chunks, &reader, IMPORT_GUARDED, err);
    bool applied = pump_end(&round->pump, &shard_error);
    if (read && !applied)
        *err = shard_error;
    return read && applied && import_source_is_unchanged(&import->source, err);
}

/* ---- The job ---- */

static int64_t import_of(const struct job *job)
{
    const struct import_contacts_payload *payload = job->payload;
    return payload->import_id;
}

struct outcome {
    enum round_end end;
    struct validation_round check; /* is_open when this round checked the addresses */
};

/* Checks the addresses of an import that has saved its contacts. When the DNS does not answer, the warnings report it. */
static bool check_addresses(struct job *job, const struct import_row *row, struct validation_round *ret_check, struct error *err)
{
    bool is_left_to_another_job = !row->validation_id.set || row->validation_job.set;
    if (is_left_to_another_job)
        return true;
    if (!validation_round_open(&job->work, job->id, row->validation_id.value, ret_check, err))
        return false;
    if (ret_check->is_open)
        (void)validate_list(job, &ret_check->list);
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    struct outcome *outcome = arena_alloc(job->work.arena, sizeof(*outcome));
    job->result = outcome;
    struct round *round = arena_alloc(job->work.arena, sizeof(*round));
    round->job = job;
    bool ok = import_open(&job->work, import_of(job), &round->import, err);
    outcome->end = ROUND_COMPLETED;
    if (ok && round->import.has_ended)
        ok = check_addresses(job, round->import.row, &outcome->check, err);
    else if (ok)
        ok = run_round(round, &outcome->end, err);
    import_close(&round->import);
    if (!ok && err->code == ERR_INVALID_REQUEST)
        import_explain_stop(&job->work, import_of(job), err);
    return ok;
}

/* Ends the import. If this job is to check the addresses as well, it runs again for that, and answers then. Otherwise, or when the
 * caller has cancelled, it writes the answer now. */
static bool settle_import(struct job *job, enum round_end end, struct json_writer *answer, struct error *err)
{
    bool is_canceled = end == ROUND_CANCELED;
    bool checks_follow;
    if (!import_finish(&job->work, import_of(job), is_canceled ? IMPORT_CANCELED : IMPORT_COMPLETED, NULL,
                       is_canceled ? 0 : job->id, &checks_follow, err))
        return false;
    job_charge_items(job, 0);
    if (!checks_follow)
        return import_write(&job->work, import_of(job), NULL, answer, err);
    job_run_again_in_network(job);
    return true;
}

static bool settle_check(struct job *job, const struct validation_round *check, struct json_writer *answer, struct error *err)
{
    job_charge_items(job, address_list_checked(&check->list));
    return validation_settle_waited(&job->work, check, err) && import_write(&job->work, import_of(job), check, answer, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    *ret_status = 200;
    const struct outcome *outcome = job->result;
    if (outcome->end == ROUND_GOES_ON) {
        job_run_again(job, job->work.now_us);
        return true;
    }
    job_subject(job, work_id(&job->work, ID_IMPORT, import_of(job)));
    return outcome->check.is_open ? settle_check(job, &outcome->check, answer, err) : settle_import(job, outcome->end, answer, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const struct outcome *outcome = job->result;
    bool ignored;
    if (outcome != NULL && outcome->check.is_open)
        return validation_give_up(&job->work, job->id, outcome->check.validation_id, err);
    return import_finish(&job->work, import_of(job), IMPORT_FAILED, why->message, 0, &ignored, err);
}

const struct job_type job_import_contacts = {
    .max_attempts = IMPORT_MAX_ATTEMPTS,
    .reports_cancel = true,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
