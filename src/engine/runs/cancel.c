#include "engine/runs/cancel.h"

#include "sql/cancel.h"

/* The payloads are erased by a statement of their own, because it must see that the runs have ended. */
static bool erase_payloads(const struct work *work, struct int_list ids, struct error *err)
{
    struct runs_erase_payloads_params params = { .brand_id = work->brand_id, .ids = ids };
    struct runs_erase_payloads_row *ignored;
    return ids.count == 0 || sql_runs_erase_payloads(work->conn, work->arena, &params, &ignored, err);
}

bool runs_cancel(const struct work *work, struct runs_to_cancel which, int64_t *ret_canceled, struct error *err)
{
    struct runs_cancel_params params = {
        .brand_id = work->brand_id,
        .automation_id = which.automation_id,
        .audience_run_id = which.audience_run_id,
        .run_id = which.run_id,
        .now = work->now_us,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &runs_disable_timeout_statement, NULL);
    size_t canceled = db_batch_add(batch, &runs_cancel_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    const struct runs_cancel_row *row = db_batch_rows(batch, canceled)->rows;
    *ret_canceled = row->canceled;
    return erase_payloads(work, row->payload_ids, err);
}
