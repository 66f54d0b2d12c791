#include "engine/runs/step_batch.h"

#include "base/clock.h"
#include "engine/runs/stepped_run.h"

enum { ROUNDS_MAX = 4 };

/* ---- Taking runs ---- */

/* Names the runs before anything of callers is read. */
static void fill_slot(struct step_slot *slot, const struct step_batch *batch)
{
    if (slot == NULL)
        return;
    slot->brand_id = batch->work.brand_id;
    for (size_t i = 0; i < batch->count; i++)
        slot->run_ids[i] = batch->runs[i].row->id;
    atomic_store_explicit(&slot->count, (int)batch->count, memory_order_release);
}

static bool take(const struct work *work, const struct step_taking *taking, struct step_batch *ret_batch, struct error *err)
{
    struct step_take_params params = {
        .brand_id = work->brand_id,
        .mark_at = taking->mark.due_us,
        .mark_id = taking->mark.id,
        .until = taking->until_us.set ? taking->until_us.value : work->now_us,
        .only = taking->only,
        .except = taking->except,
        .now = work->now_us,
        .limit = taking->limit,
    };
    struct step_take_row *rows;
    size_t count;
    *ret_batch = (struct step_batch){ .work = *work };
    if (!sql_step_take(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    ret_batch->count = count;
    ret_batch->runs = arena_array(work->arena, count, sizeof(*ret_batch->runs));
    for (size_t i = 0; i < count; i++)
        ret_batch->runs[i] = (struct stepped_run){ .row = &rows[i], .state = RUN_SKIPPED };
    if (count > 0)
        ret_batch->work.organization_id = rows[0].organization_id;
    fill_slot(taking->slot, ret_batch);
    return true;
}

/* Suspect runs that are stepped now, or fail, are suspect no longer with the commit. */
static bool forget_crashes(const struct step_batch *batch, const struct step_taking *taking, struct error *err)
{
    if (taking->only.count == 0)
        return true;
    int64_t *ids = arena_array(batch->work.arena, batch->count, sizeof(*ids));
    for (size_t i = 0; i < batch->count; i++)
        ids[i] = batch->runs[i].row->id;
    struct step_forget_crashes_params params = { .brand_id = batch->work.brand_id, .run_ids = { ids, batch->count } };
    return sql_step_forget_crashes(batch->work.conn, batch->work.arena, &params, NULL, err);
}

static bool is_among(const int64_t *ids, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Loads the first versions of the batch. Runs of further ones are skipped. */
static bool load_graphs(struct step_batch *batch, struct error *err)
{
    int64_t ids[BATCH_GRAPHS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < batch->count && count < BATCH_GRAPHS_MAX; i++)
        if (!batch->runs[i].row->is_paused && !is_among(ids, count, batch->runs[i].row->version_id))
            ids[count++] = batch->runs[i].row->version_id;
    if (!graph_cache_load(batch->cache, &batch->work, (struct int_list){ ids, count }, err))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        struct stepped_run *run = &batch->runs[i];
        if (run->row->is_paused || !is_among(ids, count, run->row->version_id))
            continue;
        run->version = graph_cache_find(batch->cache, run->row->version_id);
        stepped_run_begin(batch, run);
    }
    return true;
}

/* ---- Stepping ---- */

static bool any_in(const struct step_batch *batch, enum run_state state)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].state == state)
            return true;
    return false;
}

/* Events are read and messages are appended for all runs together. */
static bool step_all(struct step_batch *batch, const struct step_taking *taking, struct error *err)
{
    int64_t processor_us = taking->processor_us != 0 ? taking->processor_us : STEP_BATCH_PROCESSOR_US;
    batch->decide_until_us = clock_thread_processor_us() + processor_us;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        for (size_t i = 0; i < batch->count; i++)
            stepped_run_go(batch, &batch->runs[i]);
        if (!step_facts_load_events(batch, err))
            return false;
        if (!any_in(batch, RUN_GOES) && !step_mail_append(batch, err))
            return false;
        if (!any_in(batch, RUN_GOES))
            return true;
    }
    for (size_t i = 0; i < batch->count; i++)
        if (batch->runs[i].state == RUN_GOES || batch->runs[i].state == RUN_MAILS)
            stepped_run_leave(batch, &batch->runs[i]);
    return true;
}

/* ---- The result ---- */

static bool is_left(const struct stepped_run *run)
{
    return run->state == RUN_LEFT || (run->state == RUN_SKIPPED && !run->row->is_paused);
}

static struct step_batch_result result_of(const struct step_batch *batch, const struct step_taking *taking)
{
    struct step_batch_result result = {
        .taken = batch->count,
        .last = taking->mark,
        .is_last = batch->count < (size_t)taking->limit,
    };
    for (size_t i = 0; i < batch->count; i++) {
        const struct stepped_run *run = &batch->runs[i];
        result.left += is_left(run);
        if (result.left == 0)
            result.last = (struct step_mark){ run->row->due_at, run->row->id };
        bool is_sooner = !result.next_us.set || run->due_us.value < result.next_us.value;
        if (run->due_us.set && is_sooner)
            result.next_us = run->due_us;
    }
    return result;
}

static struct visit_record *make_records(const struct step_batch *batch)
{
    return arena_array(batch->work.arena, BATCH_VISITS_MAX + 4 * batch->count, sizeof(struct visit_record));
}

bool step_batch_run(const struct work *work, struct graph_cache *cache, const struct step_taking *taking,
                    struct step_batch_result *ret_result, struct error *err)
{
    struct step_batch batch;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !take(work, taking, &batch, err))
        return false;
    batch.cache = cache;
    if (batch.count > 0) {
        batch.records = make_records(&batch);
        if (!load_graphs(&batch, err) || !step_facts_load(&batch, err) || !step_all(&batch, taking, err) ||
            !forget_crashes(&batch, taking, err) || !step_write(&batch, &tx, err))
            return false;
    }
    *ret_result = result_of(&batch, taking);
    return true;
}

bool step_batch_fail_first(const struct work *work, const struct step_taking *taking, const char *reason, int64_t *ret_id,
                           struct error *err)
{
    struct step_batch batch;
    struct step_taking first = *taking;
    DB_TX tx = { .conn = NULL };
    *ret_id = 0;
    first.limit = 1;
    first.slot = NULL;
    if (!db_tx_begin(work->conn, &tx, err) || !take(work, &first, &batch, err))
        return false;
    if (batch.count == 0)
        return true;
    struct stepped_run *run = &batch.runs[0];
    batch.records = make_records(&batch);
    run->state = RUN_FAILED;
    run->error = reason;
    run->visit = run->row->visit;
    run->entered_us = run->row->entered_at.set ? run->row->entered_at.value : work->now_us;
    *ret_id = run->row->id;
    return forget_crashes(&batch, &first, err) && step_write(&batch, &tx, err);
}
