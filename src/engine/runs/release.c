#include "engine/runs/release.h"

#include "catalogue/jobs.h"
#include "db/advisory_locks.h"
#include "engine/ledger/ledger.h"
#include "engine/runs/start.h"
#include "sql/audience_runs.h"
#include "sql/release.h"

/* What a part did. */
struct part {
    int64_t count;
    int64_t last_id;
};

static bool release_part(const struct work *work, const struct runs_to_release *which, struct part *ret_part, struct error *err)
{
    struct runs_release_part_params params = {
        .brand_id = work->brand_id,
        .automation_id = which->automation_id,
        .audience_run_id = which->audience_run_id,
        .after_id = which->after_id,
        .limit = RUNS_RELEASE_PART,
    };
    struct runs_release_part_row *row;
    if (!sql_runs_release_part(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_part = (struct part){ row->count, row->last_id.value };
    return true;
}

/* A cancellation of the launch, or of all runs of the automation, comes before the part or behind it. */
static bool take_up_part(const struct work *work, const struct runs_to_release *which, struct part *ret_part, struct error *err)
{
    struct audience_run_serialize_params serialize = { .lock = ADVISORY_LOCK_LAUNCH, .id = which->audience_run_id };
    struct runs_lock_automation_params lock = { .brand_id = work->brand_id, .id = which->automation_id };
    struct runs_take_up_part_params params = {
        .brand_id = work->brand_id,
        .audience_run_id = which->audience_run_id,
        .after_id = which->after_id,
        .limit = RUNS_RELEASE_PART,
        .now = work->now_us,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &audience_run_serialize_statement, &serialize);
    db_batch_add(batch, &runs_lock_automation_statement, &lock);
    size_t at = db_batch_add(batch, &runs_take_up_part_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    const struct runs_take_up_part_row *row = db_batch_rows(batch, at)->rows;
    *ret_part = (struct part){ row->count, row->last_id.value };
    return true;
}

static bool enqueue_rest(const struct work *work, const struct runs_to_release *which, int64_t after_id, struct error *err)
{
    struct release_runs_payload payload = {
        .automation_id = which->automation_id,
        .audience_run_id = which->audience_run_id,
        .after_id = after_id,
        .takes_up = which->takes_up,
    };
    int64_t job_id;
    return ledger_enqueue(work, release_runs_job(work->arena, &payload), work->now_us, NULL, &job_id, err) &&
           sql_release_wake_workers(work->conn, work->arena, NULL, err);
}

bool runs_release(const struct work *work, struct runs_to_release which, struct error *err)
{
    struct part part;
    bool ok = which.takes_up ? take_up_part(work, &which, &part, err) : release_part(work, &which, &part, err);
    if (!ok || !runs_notify(work, err))
        return false;
    return part.count < RUNS_RELEASE_PART || enqueue_rest(work, &which, part.last_id, err);
}
