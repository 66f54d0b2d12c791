#include "engine/delivery/tranches.h"

#include "base/clock.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/sends.h"

static const int64_t guard_busy_us = INT64_C(10) * US_PER_S; /* between two looks of the guard while ranges are open */
static const int64_t guard_idle_us = INT64_C(300) * US_PER_S;
static const int64_t plan_wait_us = INT64_C(900) * US_PER_S;

bool tranches_hold(const struct work *work, int64_t send_id, const struct tranches **ret_tranches, struct error *err)
{
    struct tranches_hold_figures_params hold = { .brand_id = work->brand_id, .send_id = send_id };
    struct tranches_find_params find = { .brand_id = work->brand_id, .send_id = send_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &tranches_hold_figures_statement, &hold);
    size_t found = db_batch_add(batch, &tranches_find_statement, &find);
    *ret_tranches = NULL;
    if (!db_batch_run(batch, err))
        return false;
    const struct tranches_row *row = db_batch_rows(batch, found)->rows;
    if (row == NULL)
        return true;
    struct tranches *tranches = arena_alloc(work->arena, sizeof(*tranches));
    *tranches = (struct tranches){ .row = row,
                                   .plan = { .starting_percentage = row->starting,
                                             .increment_percentage = row->increment,
                                             .interval_value = row->interval,
                                             .is_daily = text_equal(row->unit, "day"),
                                             .time_zone = row->zone } };
    gradual_plan_load(work->arena, &tranches->plan);
    *ret_tranches = tranches;
    return true;
}

/* ---- Releasing ---- */

/* When the tranche after `tranche` is due; unset when everybody is released. */
static struct opt_int next_tranche(const struct work *work, const struct tranches *tranches, int64_t released, int64_t recipients)
{
    const struct tranches_row *row = tranches->row;
    int64_t started_us = row->started_at.set ? row->started_at.value : work->now_us;
    int64_t anchor_us = row->scheduled_at.set ? row->scheduled_at.value : started_us;
    if (released >= recipients)
        return (struct opt_int){ .set = false };
    return (struct opt_int){ .set = true, .value = gradual_next_tranche_us(&tranches->plan, anchor_us, work->now_us) };
}

/* Makes the ranges of a tranche and records it. */
static bool release(const struct work *work, int64_t send_id, const struct tranches *tranches, int64_t recipients,
                    int64_t *ret_count, struct error *err)
{
    int64_t tranche = tranches->row->tranche + 1;
    int64_t end = gradual_tranche_end(&tranches->plan, recipients, tranche);
    struct delivery_add_ranges_params ranges = {
        .brand_id = work->brand_id,
        .send_id = send_id,
        .from_ordinal = tranches->row->released + 1,
        .to_ordinal = end,
        .range_size = DELIVERY_RANGE_SIZE,
    };
    struct tranches_release_params params = {
        .brand_id = work->brand_id,
        .send_id = send_id,
        .tranche = tranche,
        .released = end,
        .next_tranche_at = next_tranche(work, tranches, end, recipients),
        .now = work->now_us,
    };
    *ret_count = end - tranches->row->released;
    return sql_delivery_add_ranges(work->conn, work->arena, &ranges, NULL, err) &&
           sql_tranches_release(work->conn, work->arena, &params, NULL, err);
}

bool tranches_begin(const struct work *work, int64_t send_id, const struct tranches *tranches, int64_t recipients,
                    int64_t *ret_count, struct error *err)
{
    return release(work, send_id, tranches, recipients, ret_count, err);
}

static bool wait_for_plan(const struct work *work, int64_t send_id, struct opt_int *ret_next_us, struct error *err)
{
    struct tranches_wait_for_plan_params params = { .brand_id = work->brand_id, .send_id = send_id, .now = work->now_us };
    *ret_next_us = (struct opt_int){ .set = true, .value = work->now_us + plan_wait_us };
    return sql_tranches_wait_for_plan(work->conn, work->arena, &params, NULL, err);
}

/* The allowance is checked under its lock, so that two sends cannot use the same remainder. */
static bool fits_allowance(const struct work *work, int64_t count, bool *ret_fits, struct error *err)
{
    struct delivery_allowance_lock_params lock = { .lock = ADVISORY_LOCK_ALLOWANCE, .organization_id = work->organization_id };
    struct opt_int left;
    if (!sql_delivery_allowance_lock(work->conn, work->arena, &lock, NULL, err) || !send_allowance_left(work, &left, err))
        return false;
    *ret_fits = !left.set || count <= left.value;
    return true;
}

static bool release_due(const struct work *work, int64_t send_id, const struct tranches *tranches, struct opt_int *ret_next_us,
                        struct error *err)
{
    const struct tranches_row *row = tranches->row;
    int64_t recipients = row->recipient_count.value;
    int64_t count = gradual_tranche_end(&tranches->plan, recipients, row->tranche + 1) - row->released;
    struct delivery_count_usage_params usage = { .organization_id = work->organization_id, .at = work->now_us, .count = count };
    struct tranches_run_params run = { .brand_id = work->brand_id, .send_id = send_id, .now = work->now_us };
    bool fits;
    if (!fits_allowance(work, count, &fits, err))
        return false;
    if (!fits)
        return wait_for_plan(work, send_id, ret_next_us, err);
    *ret_next_us = (struct opt_int){ .set = true, .value = work->now_us + guard_busy_us };
    return release(work, send_id, tranches, recipients, &count, err) &&
           sql_tranches_run(work->conn, work->arena, &run, NULL, err) &&
           sql_delivery_count_usage(work->conn, work->arena, &usage, NULL, err) &&
           sql_delivery_notify_senders(work->conn, work->arena, NULL, err);
}

/* ---- The guard ---- */

static bool is_share(int64_t count, int64_t of, int64_t least_of_1000)
{
    return of >= GUARD_LEAST_MESSAGES && count * 1000 >= of * least_of_1000;
}

static const char *guard_error(const struct work *work, const char *what, int64_t count, int64_t of, int64_t least_of_1000)
{
    return arena_printf(
        work->arena,
        "The %s guard paused this send: %lld of %lld messages (%.1f %%); the limit is %.1f %%. A resume continues it "
        "and counts anew.",
        what, (long long)count, (long long)of, 100.0 * (double)count / (double)of, (double)least_of_1000 / 10);
}

/* Why the guard stops the send; NULL when it does not. */
static const char *guard_reason(const struct work *work, const struct tranches_row *row)
{
    int64_t tried = row->sent + row->bounced;
    if (is_share(row->bounced, tried, GUARD_BOUNCES_OF_1000))
        return guard_error(work, "bounce", row->bounced, tried, GUARD_BOUNCES_OF_1000);
    if (row->complained >= GUARD_LEAST_COMPLAINTS && is_share(row->complained, row->delivered, GUARD_COMPLAINTS_OF_1000))
        return guard_error(work, "complaint", row->complained, row->delivered, GUARD_COMPLAINTS_OF_1000);
    return NULL;
}

/* ---- The job ---- */

static bool is_under_way(const struct tranches_row *row)
{
    return row->started_at.set && (text_equal(row->status, "running") || text_equal(row->pause_reason, "plan_limit"));
}

static struct opt_int next_look(const struct work *work, const struct tranches_row *row)
{
    int64_t at_us = work->now_us + (row->is_delivering ? guard_busy_us : guard_idle_us);
    if (row->next_tranche_at.set && row->next_tranche_at.value < at_us)
        at_us = row->next_tranche_at.value;
    return (struct opt_int){ .set = true, .value = at_us };
}

bool delivery_continue(const struct work *work, int64_t send_id, int64_t job_id, struct opt_int *ret_next_us, struct error *err)
{
    const struct tranches *tranches;
    *ret_next_us = (struct opt_int){ .set = false };
    if (!tranches_hold(work, send_id, &tranches, err))
        return false;
    if (tranches == NULL || !is_under_way(tranches->row) || tranches->row->job_id.value != job_id)
        return true;
    const struct tranches_row *row = tranches->row;
    struct tranches_guard_params guard = {
        .brand_id = work->brand_id, .send_id = send_id, .error = guard_reason(work, row), .now = work->now_us
    };
    if (guard.error != NULL)
        return sql_tranches_guard(work->conn, work->arena, &guard, NULL, err);
    if (row->next_tranche_at.set && row->next_tranche_at.value <= work->now_us)
        return release_due(work, send_id, tranches, ret_next_us, err);
    *ret_next_us = next_look(work, row);
    return true;
}
