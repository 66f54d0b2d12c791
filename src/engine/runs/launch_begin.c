/*
 * The beginning of a launch: its runs, with the times of their tranches.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/runs/launch.h"
#include "engine/runs/launch_plan.h"
#include "engine/runs/launch_target.h"
#include "engine/runs/start.h"
#include "engine/sends/gradual.h"
#include "sql/audience_runs.h"
#include "sql/cancel.h"
#include "sql/launch.h"

#include <string.h>

static const int64_t whole = INT64_C(100) * 1000 * 1000; /* the recipients of whom the share of a tranche is taken */

/* ---- The tranches ---- */

static const struct launch_tranches *one_tranche(const struct work *work)
{
    struct launch_tranches *tranches = arena_alloc(work->arena, sizeof(*tranches));
    int64_t *numbers = arena_array(work->arena, 2, sizeof(*numbers));
    numbers[0] = whole;
    numbers[1] = work->now_us;
    *tranches = (struct launch_tranches){ .shares = { numbers, 1 }, .times_us = { numbers + 1, 1 }, .whole = whole };
    return tranches;
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static struct gradual_plan plan_of(const struct work *work, const json_t *stored)
{
    const json_t *interval = json_object_get(stored, "interval");
    struct gradual_plan plan = {
        .starting_percentage = number_of(stored, "startingPercentage"),
        .increment_percentage = number_of(stored, "incrementPercentage"),
        .interval_value = json_get_int(interval, "value", 1),
        .is_daily = text_equal(json_get_text(interval, "unit"), "day"),
        .time_zone = json_get_text(stored, "timeZone"),
    };
    gradual_plan_load(work->arena, &plan);
    return plan;
}

/* The first tranche is due now, each further one at the slot that a gradual send would take. */
static const struct launch_tranches *tranches_of(const struct work *work, const struct launch_find_row *launch,
                                                 const json_t *stored)
{
    struct gradual_plan plan = plan_of(work, stored);
    int64_t anchor_us = launch->scheduled_at.set ? launch->scheduled_at.value : work->now_us;
    size_t count = (size_t)gradual_tranche_count(&plan);
    int64_t *shares = arena_array(work->arena, count, sizeof(*shares));
    int64_t *times_us = arena_array(work->arena, count, sizeof(*times_us));
    int64_t at_us = work->now_us;
    for (size_t i = 0; i < count; i++) {
        shares[i] = gradual_tranche_end(&plan, whole, (int64_t)i + 1);
        times_us[i] = at_us;
        at_us = gradual_next_tranche_us(&plan, anchor_us, at_us);
    }
    struct launch_tranches *tranches = arena_alloc(work->arena, sizeof(*tranches));
    *tranches = (struct launch_tranches){
        .shares = { shares, count },
        .times_us = { times_us, count },
        .whole = whole,
        .order_key = json_get_text(stored, "orderKey"),
    };
    return tranches;
}

static bool read_tranches(const struct work *work, const struct launch_find_row *launch,
                          const struct launch_tranches **ret_tranches, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = 4096 };
    const json_t *stored;
    *ret_tranches = one_tranche(work);
    if (launch->gradual == NULL)
        return true;
    if (!json_read(work->arena, launch->gradual, strlen(launch->gradual), bounds, &stored, err))
        return false;
    *ret_tranches = tranches_of(work, launch, stored);
    return true;
}

/* ---- The runs ---- */

static bool find_target(const struct work *work, int64_t audience_id, const struct launch_plan *plan,
                        struct launch_target *ret_target, struct error *err)
{
    struct launch_is_transactional_params params = { .brand_id = work->brand_id, .domain_ids = plan->domain_ids };
    struct launch_is_transactional_row *row;
    if (!sql_launch_is_transactional(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_target =
        (struct launch_target){ .audience_id = audience_id, .is_transactional = row->is_transactional, .is_accepted = true };
    return true;
}

static bool start_runs(const struct work *work, int64_t id, const struct launch_find_row *launch, struct error *err)
{
    struct launch_plan plan;
    struct launch_target target;
    const struct launch_tranches *tranches;
    return launch_plan_read(work, launch->nodes, launch->connections, &plan, err) &&
           (plan.trigger_node != NULL || fail(err, ERR_AUTOMATION_NOT_PUBLISHED, NULL, "The automation has no trigger.")) &&
           read_tranches(work, launch, &tranches, err) && find_target(work, launch->audience_id, &plan, &target, err) &&
           sql_runs_disable_timeout(work->conn, work->arena, NULL, err) &&
           launch_target_start(work, id, target, plan.trigger_node, tranches, err) && runs_notify(work, err);
}

bool launch_begin(const struct work *work, int64_t id, struct error *err)
{
    struct audience_run_serialize_params lock = { .lock = ADVISORY_LOCK_LAUNCH, .id = id };
    struct launch_find_params find = { .brand_id = work->brand_id, .id = id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &audience_run_serialize_statement, &lock);
    size_t found = db_batch_add(batch, &launch_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    const struct launch_find_row *launch = db_batch_rows(batch, found)->rows;
    if (launch == NULL ||
        !(text_equal(launch->status, "scheduled") || text_equal(launch->status, "queued") || text_equal(launch->status, "failed")))
        return true;
    if (!launch->is_published)
        return fail(err, ERR_AUTOMATION_NOT_PUBLISHED, NULL, "The automation is not published any more.");
    return start_runs(work, id, launch, err);
}

bool launch_give_up(const struct work *work, int64_t id, const char *reason, struct error *err)
{
    struct launch_give_up_params params = { .brand_id = work->brand_id, .id = id, .error = reason, .now = work->now_us };
    return sql_launch_give_up(work->conn, work->arena, &params, NULL, err);
}
