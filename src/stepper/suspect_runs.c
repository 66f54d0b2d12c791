#include "stepper/suspect_runs.h"

#include "base/log.h"
#include "sql/run_steps.h"
#include "stepper/slot_file.h"

enum { SUSPECTS_MAX = 4 * STEP_BATCH_MAX };

/* ---- Counting ---- */

static bool count_one(const struct work *work, const struct stale_slot *stale, struct error *err)
{
    size_t count = (size_t)stale->slot.count;
    struct step_count_crash_params params = {
        .brand_id = stale->slot.brand_id,
        .run_ids = { stale->slot.run_ids, count },
        .now = work->now_us,
    };
    if (count == 0)
        return true;
    log_event(LOG_WARNING, "stepper.crash", "A process ended while it stepped %zu runs of brand %lld, such as run %lld.", count,
              (long long)stale->slot.brand_id, (long long)stale->slot.run_ids[0]);
    return sql_step_count_crash(work->conn, work->arena, &params, NULL, err);
}

bool suspect_runs_count(const struct work *work, const char *data_dir, int64_t database, struct error *err)
{
    struct stale_slot *stale;
    bool ok = true;
    while (ok && stale_slot_find(data_dir, database, work->arena, &stale)) {
        ok = count_one(work, stale, err);
        stale_slot_close(stale, ok);
    }
    return ok;
}

/* ---- The next transaction ---- */

/* The number of runs of the next transaction: half of the runs that were in a transaction of the same size. */
static size_t next_size(const struct step_suspects_row *rows, size_t count)
{
    size_t alike = 1;
    while (alike < count && rows[alike].batch_runs == rows[0].batch_runs)
        alike++;
    size_t half = rows[0].batch_runs > 1 ? (size_t)rows[0].batch_runs / 2 : 1;
    size_t size = half < alike ? half : alike;
    return size < STEP_BATCH_MAX ? size : STEP_BATCH_MAX;
}

/* The times of the runs bound the scan. */
static struct step_taking taking_of(const struct step_suspects_row *rows, const int64_t *ids, size_t size)
{
    struct step_taking taking = {
        .mark = { .due_us = rows[0].due_at },
        .limit = (int)size,
        .until_us = { true, rows[0].due_at },
        .only = { ids, size },
    };
    for (size_t i = 1; i < size; i++) {
        if (rows[i].due_at < taking.mark.due_us)
            taking.mark.due_us = rows[i].due_at;
        if (rows[i].due_at > taking.until_us.value)
            taking.until_us.value = rows[i].due_at;
    }
    taking.mark.due_us--;
    return taking;
}

bool suspect_runs_find(const struct work *work, struct suspect_runs *ret_suspects, struct error *err)
{
    struct step_suspects_params params = { .brand_id = work->brand_id, .now = work->now_us, .limit = SUSPECTS_MAX };
    struct step_suspects_row *rows;
    size_t count;
    *ret_suspects = (struct suspect_runs){ .must_fail = false };
    if (!sql_step_suspects(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    if (count == 0)
        return true;
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].id;
    ret_suspects->all = (struct int_list){ ids, count };
    ret_suspects->must_fail = rows[0].alone >= SUSPECT_CRASHES_MAX;
    ret_suspects->taking = taking_of(rows, ids, ret_suspects->must_fail ? 1 : next_size(rows, count));
    return true;
}
