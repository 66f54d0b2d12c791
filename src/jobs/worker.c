#include "jobs/worker.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/panic.h"
#include "catalogue/job_types.h"
#include "engine/analytics/partitions.h"
#include "engine/emails/preview_images.h"
#include "engine/hits/judge_hits.h"
#include "engine/insights/insights.h"
#include "engine/ledger/ledger.h"
#include "jobs/organization_turns.h"
#include "jobs/spare_pictures.h"
#include "jobs/worker_pool.h"
#include "render/renderer.h"
#include "sql/audits.h"
#include "sql/imports.h"
#include "sql/integrations.h"
#include "sql/link_mail.h"
#include "sql/previews.h"
#include "sql/provider_reports.h"
#include "sql/short_tokens.h"
#include "sql/suppress.h"
#include "sql/worker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_MAX_BYTES = 32 * 1024 * 1024,
    ERROR_JSON_MAX_BYTES = ERROR_DETAILS_MAX_BYTES + 16 * 1024,
    RETRY_FIRST_S = 1,
    RETRY_MAX_S = 300,
    FORGET_MAX_ROWS = 10000,  /* expired rows a minute */
    PREVIEWS_MAX_ROWS = 1000, /* expired previews a minute, each with up to 16 pictures */
    CRASHES_MAX = 50,         /* at least the max_attempts of every type */
    JOB_MAX_SUBJECTS = 8,
    NETWORK_THREADS = 6, /* an import of images has up to 50 MB in memory */
    NETWORK_SHARE = 3,   /* of one organization */
    QUALITY_THREADS = 2,
    QUALITY_SHARE = 1,
};
static const char pool_of_work[] = "work";
static const char pool_of_network[] = "network";
static const char pool_of_quality[] = "quality";
static const int64_t tidy_every_us = 60 * US_PER_S;
static const int64_t keep_report_events_us = INT64_C(30) * 86400 * US_PER_S;
static const int64_t keep_settled_us = INT64_C(24) * 3600 * US_PER_S;
static const int64_t keep_imports_us = INT64_C(30) * 24 * 3600 * US_PER_S;

struct workers {
    struct installation *installation;
    struct job_services services;
    struct organization_turns *turns;
    _Atomic int64_t tidied_at_us;
    _Atomic int64_t pictures_at_us; /* of the business clock */
    struct worker_pool *work;       /* jobs that work here */
    struct worker_pool *network;    /* jobs that wait for other machines */
    struct worker_pool *quality;    /* jobs that check and draw designs, which take seconds */
};

/* A job and the private state of its worker. */
struct running_job {
    struct job job;
    struct installation *installation;
    struct organization_turns *turns;
    const char *type_name;       /* as the row has it */
    const struct job_type *type; /* NULL: this version does not have the type, or cannot read the payload */
    const char *lease_owner;
    bool brand_is_gone; /* its brand is being deleted */
    bool has_entry;
    struct ledger_entry entry;
    bool again;
    int64_t run_after_us;
    const char *next_pool; /* of the next round; NULL: the same */
    const char *subjects[JOB_MAX_SUBJECTS];
};

static struct running_job *running_of(struct job *job)
{
    return (struct running_job *)job;
}

void job_run_again(struct job *job, int64_t run_after_us)
{
    running_of(job)->again = true;
    running_of(job)->run_after_us = run_after_us;
}

void job_subject(struct job *job, const char *wire_id)
{
    struct running_job *running = running_of(job);
    if (running->entry.subject_count == JOB_MAX_SUBJECTS)
        return;
    running->subjects[running->entry.subject_count++] = wire_id;
    running->entry.subjects = running->subjects;
}

void job_used_model(struct job *job, const char *engine, struct opt_int tokens_in, struct opt_int tokens_out)
{
    struct ledger_entry *entry = &running_of(job)->entry;
    entry->engine = engine;
    entry->tokens_in = tokens_in;
    entry->tokens_out = tokens_out;
}

void job_charge_items(struct job *job, int64_t items)
{
    struct ledger_entry *entry = &running_of(job)->entry;
    entry->credits *= items;
    if (entry->credit_cost >= 0)
        entry->credit_cost *= items;
}

void job_release_key(struct job *job)
{
    running_of(job)->entry.releases_key = true;
}

/* The stored response and its key stay with the first job, which answers the caller; charge and audit row go on. */
bool job_hand_on(struct job *job, struct new_job next, int64_t *ret_job_id, struct error *err)
{
    struct running_job *running = running_of(job);
    if (!running->has_entry)
        return ledger_enqueue(&job->work, next, job->work.now_us, NULL, ret_job_id, err);
    struct ledger_entry entry = running->entry;
    entry.idempotency_key = NULL;
    entry.fingerprint = NULL;
    entry.hold = entry.credits;
    entry.job_id = 0;
    entry.subject_count = 0;
    running->entry.credits = 0;
    running->entry.writes_audit = false;
    return ledger_enqueue(&job->work, next, job->work.now_us, &entry, ret_job_id, err);
}

void job_run_again_in_network(struct job *job)
{
    job_run_again(job, job->work.now_us);
    running_of(job)->next_pool = pool_of_network;
}

static void notify_waiting(struct job *job)
{
    struct error ignored = { .code = ERR_NONE };
    struct job_tell_params params = { .id = arena_printf(job->work.arena, "%lld", (long long)job->id) };
    /* A lost notification only delays the answer: parked callers also poll once a second. */
    if (!sql_job_tell(job->work.conn, job->work.arena, &params, NULL, &ignored))
        log_event(LOG_DEBUG, "job.notify", "A waiting caller could not be notified at once.");
}

void job_progress(struct job *job, double progress, double total, const char *note)
{
    struct job_note_progress_params params = {
        .id = job->id,
        .owner = running_of(job)->lease_owner,
        .progress = progress,
        .total = total,
        .note = note,
        .lease_s = JOB_LEASE_S,
    };
    struct error ignored = { .code = ERR_NONE };
    if (sql_job_note_progress(job->work.conn, job->work.arena, &params, NULL, &ignored))
        notify_waiting(job);
}

bool job_renew(struct job *job, struct error *err)
{
    struct job_renew_params params = { .id = job->id, .owner = running_of(job)->lease_owner, .lease_s = JOB_LEASE_S };
    int64_t renewed;
    if (!sql_job_renew(job->work.conn, job->work.arena, &params, &renewed, err))
        return false;
    return renewed > 0 || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Another worker has taken over this job.");
}

bool job_connect(struct job *job, struct db_conn **ret_conn, struct error *err)
{
    if (!installation_connect(running_of(job)->installation, ret_conn, err))
        return false;
    db_lower_priority(*ret_conn);
    return true;
}

bool job_run_in_turn(struct job *job, const struct work *work, bool (*act)(void *context, struct error *err), void *context,
                     struct error *err)
{
    struct organization_turns *turns = running_of(job)->turns;
    if (!organization_turns_begin(turns, work, err))
        return false;
    bool ok = guard_run(act, context, "job", err);
    organization_turns_end(turns, work->organization_id);
    return ok;
}

bool job_is_cancelled(struct job *job)
{
    struct job_cancel_asked_params params = { .id = job->id };
    struct job_cancel_asked_row *row;
    struct error ignored = { .code = ERR_NONE };
    return sql_job_cancel_asked(job->work.conn, job->work.arena, &params, &row, &ignored) && row != NULL && row->cancel_asked;
}

/* ---- Settling ---- */

static char *error_as_json(struct arena *arena, const struct error *why)
{
    struct buf *out = buf_in_arena(arena, ERROR_JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "code", error_info(why->code)->name);
    json_member_text(&json, "message", why->message);
    json_member_text(&json, "param", why->param[0] != '\0' ? why->param : NULL);
    json_member_int(&json, "retryAfter", why->retry_after_s);
    if (why->details_json != NULL && strlen(why->details_json) <= ERROR_DETAILS_MAX_BYTES)
        json_member_raw(&json, "details", why->details_json);
    json_object_end(&json);
    return arena_dup(arena, buf_text(out));
}

/* Locks the row for settling. When the lease was lost during the execution, another worker has the job: this one then writes
 * nothing. */
static bool hold(const struct running_job *running, bool *ret_held, struct error *err)
{
    struct job_hold_params params = { .id = running->job.id, .owner = running->lease_owner };
    struct job_hold_row *row;
    if (!sql_job_hold(running->job.work.conn, running->job.work.arena, &params, &row, err))
        return false;
    *ret_held = row != NULL;
    return true;
}

static bool finish(struct running_job *running, const char *state, int status, const char *body, const char *error_json,
                   struct error *err)
{
    struct job_finish_params params = {
        .id = running->job.id,
        .state = state,
        .status = { .set = status != 0, .value = status },
        .body = body,
        .error = error_json,
        .credit_cost = { .set = running->has_entry && running->entry.credit_cost >= 0, .value = running->entry.credit_cost },
        .now = running->job.work.now_us,
    };
    return sql_job_finish(running->job.work.conn, running->job.work.arena, &params, NULL, err);
}

static bool requeue(struct running_job *running, int64_t run_after_us, int attempts, struct error *err)
{
    struct job_requeue_params params = {
        .id = running->job.id,
        .owner = running->lease_owner,
        .run_after = run_after_us,
        .attempts = attempts,
        .pool = running->next_pool,
    };
    return sql_job_requeue(running->job.work.conn, running->job.work.arena, &params, NULL, err);
}

static bool settle_in_transaction(struct running_job *running, struct error *err)
{
    struct job *job = &running->job;
    struct buf *answer = buf_in_arena(job->work.arena, ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, answer);
    int status = 200;
    bool held;

    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(job->work.conn, &tx, err) || !hold(running, &held, err))
        return false;
    if (!held)
        return true;
    job->work.now_us = clock_now_us();
    if (!running->type->settle(job, &json, &status, err))
        return false;
    if (running->again)
        return requeue(running, running->run_after_us, 0, err) &&
               (running->next_pool == NULL || sql_job_wake_pools(job->work.conn, job->work.arena, NULL, err)) &&
               db_tx_commit(&tx, err);

    const char *body = answer->size > 0 ? buf_text(answer) : NULL;
    if (running->has_entry && !ledger_settle(&job->work, &running->entry, status, body, NULL, err))
        return false;
    return finish(running, "done", status, body, NULL, err) && db_tx_commit(&tx, err);
}

static bool fail_in_transaction(struct running_job *running, const struct error *why, const char *state, struct error *err)
{
    struct job *job = &running->job;
    bool held;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(job->work.conn, &tx, err) || !hold(running, &held, err))
        return false;
    if (!held)
        return true;
    job->work.now_us = clock_now_us();
    if (running->type != NULL && running->type->on_failure != NULL && !running->type->on_failure(job, why, err))
        return false;
    if (running->has_entry && !ledger_release(&job->work, &running->entry, err))
        return false;
    return finish(running, state, error_info(why->code)->http_status, NULL, error_as_json(job->work.arena, why), err) &&
           db_tx_commit(&tx, err);
}

/* ---- One job ---- */

static bool is_retryable(const struct error *why)
{
    return db_error_is_retryable(why) || error_info(why->code)->retryable;
}

static int64_t retry_delay_us(int attempts)
{
    int64_t delay_s = RETRY_FIRST_S;
    for (int i = 1; i < attempts && delay_s < RETRY_MAX_S; i++)
        delay_s *= 2;
    return (delay_s < RETRY_MAX_S ? delay_s : (int64_t)RETRY_MAX_S) * US_PER_S;
}

static void log_failure(const struct running_job *running, const struct error *why, const char *event)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, event);
    json_member_int(&line.json, "jobId", running->job.id);
    json_member_text(&line.json, "kind", running->type_name);
    json_member_int(&line.json, "attempts", running->job.attempts);
    log_error_members(&line, why);
    log_end(&line);
}

/* Queues a failed job again, or fails it for good. When the database refuses that too, the lease ends and the job runs again. */
static void handle_failure(struct running_job *running, const struct error *why)
{
    struct error err = { .code = ERR_NONE };
    bool again = running->type != NULL && is_retryable(why) && running->job.attempts < running->type->max_attempts;
    log_failure(running, why, again ? "job.retry" : "job.failed");
    bool ok = again ? requeue(running, clock_now_us() + retry_delay_us(running->job.attempts), running->job.attempts, &err)
                    : fail_in_transaction(running, why, "failed", &err);
    if (!ok)
        log_failure(running, &err, "job.unsettled");
    else if (!again)
        notify_waiting(&running->job);
}

static bool execute_and_settle(void *context, struct error *err)
{
    struct running_job *running = context;
    if (running->brand_is_gone)
        return fail(err, ERR_BRAND_NOT_FOUND, NULL, "The brand was deleted.");
    /* A job that crashes its worker each time must end. */
    if (running->job.attempts > CRASHES_MAX)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The work was broken off %d times in a row.", CRASHES_MAX);
    if (running->type == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "This version does not know jobs of the kind %s.", running->type_name);
    return (running->type->execute == NULL || running->type->execute(&running->job, err)) && settle_in_transaction(running, err);
}

static void run_job(struct running_job *running, bool cancel_asked)
{
    struct error err = { .code = ERR_NONE };
    /* A call that was cancelled before its job began has no effect. */
    bool reports_cancel = running->type != NULL && running->type->reports_cancel;
    if (cancel_asked && running->has_entry && !reports_cancel) {
        struct error why = { .code = ERR_NONE };
        fail(&why, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
        if (!fail_in_transaction(running, &why, "canceled", &err))
            log_failure(running, &err, "job.unsettled");
        notify_waiting(&running->job);
        return;
    }
    if (!guard_run(execute_and_settle, running, "job", &err)) {
        handle_failure(running, &err);
        return;
    }
    if (!running->again)
        notify_waiting(&running->job);
}

/* The index of a type by its name; JOB_TYPE_COUNT when this version has none. */
static enum job_index type_named(const char *name)
{
    size_t at = 0;
    while (at < JOB_TYPE_COUNT && strcmp(job_declarations[at].name, name) != 0)
        at++;
    return (enum job_index)at;
}

/* Finds the type of a job and decodes its payload. A payload that cannot be read is not retried. */
static bool load_type(struct running_job *running, const char *payload, struct error *err)
{
    enum job_index index = type_named(running->type_name);
    if (index == JOB_TYPE_COUNT)
        return true; /* execute reports it */
    if (!job_payload_decode(running->job.work.arena, &job_declarations[index], payload, &running->job.payload, err))
        return false;
    running->type = job_types[index];
    return true;
}

static bool load_job(struct workers *workers, const struct leased_job_row *row, struct db_conn *conn, struct arena *arena,
                     struct running_job *ret_running, struct error *err)
{
    *ret_running = (struct running_job){
        .job = {
            .work = {
                .engine = installation_engine(workers->installation),
                .arena = arena,
                .conn = conn,
                .organization_id = row->organization_id.value,
                .brand_id = row->brand_id.value,
                .now_us = clock_now_us(),
            },
            .id = row->id,
            .created_us = row->created_at,
            .attempts = (int)row->attempts,
            .services = &workers->services,
        },
        .installation = workers->installation,
        .turns = workers->turns,
        .type_name = row->kind,
        .lease_owner = row->lease_owner,
        .brand_is_gone = row->brand_is_gone,
    };
    ret_running->has_entry = row->call != NULL && ledger_entry_read(arena, row->call, &ret_running->entry);
    ret_running->entry.job_id = row->id;
    return load_type(ret_running, row->payload, err);
}

/* The connection of a worker has a low priority for ever, so a quick job has one of its own. Without it the job runs all the same.
 */
static void connect_quick(struct running_job *running, struct db_conn **conn)
{
    struct error ignored = { .code = ERR_NONE };
    if (running->type != NULL && running->type->is_quick && installation_connect(running->installation, conn, &ignored))
        running->job.work.conn = *conn;
}

/* Executes and settles a leased job. */
static void run_leased(void *context, const struct leased_job_row *row, struct db_conn *conn, struct arena *arena)
{
    struct running_job running;
    struct error bad_payload = { .code = ERR_NONE };
    DB_CONN_SCOPE quick = NULL;
    if (load_job(context, row, conn, arena, &running, &bad_payload)) {
        connect_quick(&running, &quick);
        run_job(&running, row->cancel_asked);
    } else {
        handle_failure(&running, &bad_payload);
    }
}

/* ---- The pools ---- */

/* Once a minute, by the business clock, one of the threads enqueues the drawing of new versions of designs, and removes the
 * pictures of old ones; not in the first minute, so that a short-lived process does not begin it. */
static bool tend_pictures(struct workers *workers, struct db_conn *conn, struct error *err)
{
    int64_t last_us = atomic_load(&workers->pictures_at_us);
    int64_t now_us = clock_now_us();
    if (now_us - last_us <= tidy_every_us || !atomic_compare_exchange_strong(&workers->pictures_at_us, &last_us, now_us))
        return true;
    ARENA_SCOPE arena = arena_new(0);
    return preview_images_enqueue(installation_engine(workers->installation), conn, arena, now_us, 0, err) &&
           spare_pictures_remove(conn, workers->services.assets, now_us, err);
}

/* Once a minute one of the threads ends the idle process of the renderer, deletes settled jobs and stored responses of a day ago,
 * expired short tokens, suppressions, link mails, previews and audits, imports and noted events of providers of a month ago, wakes
 * the jobs of hits, tends the monthly partitions, and enqueues the runs of insights that are due. */
static bool tidy(void *context, struct db_conn *conn, struct error *err)
{
    struct workers *workers = context;
    if (!tend_pictures(workers, conn, err))
        return false;
    int64_t last_us = atomic_load(&workers->tidied_at_us);
    int64_t now_us = clock_monotonic_us();
    bool due = last_us == 0 || now_us - last_us > tidy_every_us;
    if (!due || !atomic_compare_exchange_strong(&workers->tidied_at_us, &last_us, now_us))
        return true;
    renderer_end_idle(workers->services.renderer);
    ARENA_SCOPE arena = arena_new(0);
    struct job_forget_settled_params settled = { .before = clock_now_us() - keep_settled_us };
    struct idempotency_forget_params responses = { .before = clock_now_us() - keep_settled_us };
    struct import_forget_params imports = { .before = clock_now_us() - keep_imports_us };
    struct short_tokens_forget_params tokens = { .now = clock_now_us() };
    struct suppressions_forget_params suppressions = { .now = clock_now_us(), .limit = FORGET_MAX_ROWS };
    struct report_events_forget_params reports = { .before = clock_now_us() - keep_report_events_us, .limit = FORGET_MAX_ROWS };
    struct integration_events_forget_params integration_events = { .before = clock_now_us() - keep_report_events_us,
                                                                   .limit = FORGET_MAX_ROWS };
    struct link_mails_forget_params link_mails = { .now = clock_now_us(), .limit = FORGET_MAX_ROWS };
    struct previews_forget_params previews = { .now = clock_now_us(), .limit = PREVIEWS_MAX_ROWS };
    struct audits_forget_params audits = { .now = clock_now_us(), .limit = FORGET_MAX_ROWS };
    struct db_batch *batch = db_batch_new(conn, arena);
    db_batch_add(batch, &job_forget_settled_statement, &settled);
    db_batch_add(batch, &job_waiters_forget_statement, NULL);
    db_batch_add(batch, &credit_holds_forget_statement, NULL);
    db_batch_add(batch, &idempotency_forget_statement, &responses);
    db_batch_add(batch, &import_forget_statement, &imports);
    db_batch_add(batch, &short_tokens_forget_statement, &tokens);
    db_batch_add(batch, &suppressions_forget_statement, &suppressions);
    db_batch_add(batch, &report_events_forget_statement, &reports);
    db_batch_add(batch, &integration_events_forget_statement, &integration_events);
    db_batch_add(batch, &link_mails_forget_statement, &link_mails);
    db_batch_add(batch, &previews_forget_statement, &previews);
    db_batch_add(batch, &audits_forget_statement, &audits);
    return db_batch_run(batch, err) && hits_tend(conn, arena, clock_now_us(), err) &&
           months_make(conn, arena, clock_now_us(), err) && months_tend(conn, arena, clock_now_us(), err) &&
           insight_runs_enqueue(conn, arena, clock_now_us(), err);
}

static struct worker_pool *pool_start(struct workers *workers, const char *name, int threads, int share)
{
    struct worker_pool_config config = {
        .name = name,
        .threads = threads,
        .share = share > 0 ? share : 1,
        .installation = workers->installation,
        .run = run_leased,
        .tidy = tidy,
        .context = workers,
    };
    return worker_pool_start(&config);
}

struct workers *workers_start(struct installation *installation, const struct job_services *services, int threads)
{
    struct workers *workers = calloc(1, sizeof(*workers));
    if (workers == NULL)
        panic(PANIC_NO_MEMORY);
    workers->installation = installation;
    workers->services = *services;
    workers->turns = organization_turns_new();
    atomic_init(&workers->pictures_at_us, clock_now_us());
    int work_threads = threads > 0 ? threads : WORKER_DEFAULT_THREADS;
    workers->work = pool_start(workers, pool_of_work, work_threads, work_threads - 1);
    workers->network = pool_start(workers, pool_of_network, NETWORK_THREADS, NETWORK_SHARE);
    workers->quality = pool_start(workers, pool_of_quality, QUALITY_THREADS, QUALITY_SHARE);
    return workers;
}

void workers_stop(struct workers *workers)
{
    if (workers == NULL)
        return;
    worker_pool_ask_stop(workers->work);
    worker_pool_ask_stop(workers->network);
    worker_pool_ask_stop(workers->quality);
    worker_pool_stop(workers->work);
    worker_pool_stop(workers->network);
    worker_pool_stop(workers->quality);
    organization_turns_free(workers->turns);
    free(workers);
}

bool workers_any_open(struct db_conn *conn, bool *ret_open, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct job_any_open_row *row;
    if (!sql_job_any_open(conn, arena, &row, err))
        return false;
    *ret_open = row != NULL && row->open;
    return true;
}
