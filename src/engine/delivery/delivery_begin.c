#include "engine/delivery/delivery.h"

#include "db/advisory_locks.h"
#include "engine/delivery/tranches.h"
#include "engine/sends/sends.h"
#include "engine/sends/target.h"

#include <string.h>

enum { ANALYZE_ABOVE = 10 * 1000 };

static struct send_target begun_target(struct opt_int audience_id)
{
    return (struct send_target){ .is_all = !audience_id.set, .audience_id = audience_id.value, .is_accepted = true };
}

/* The allowance is checked under a lock, so that two sends cannot use the same remainder. A gradual send needs that of its first
 * tranche. */
static bool check_allowance(const struct work *work, const struct delivery_send_row *send, const struct tranches *tranches,
                            bool *ret_fits, struct error *err)
{
    struct opt_int left;
    *ret_fits = true;
    if (!send_allowance_left(work, &left, err))
        return false;
    if (!left.set)
        return true;

    struct delivery_allowance_lock_params lock = { .lock = ADVISORY_LOCK_ALLOWANCE, .organization_id = work->organization_id };
    int64_t count = (int64_t)send->inline_keys.count;
    if (!sql_delivery_allowance_lock(work->conn, work->arena, &lock, NULL, err) || !send_allowance_left(work, &left, err))
        return false;
    if (send->inline_keys.items == NULL && !send_target_count(work, begun_target(send->audience_id), &count, err))
        return false;
    if (tranches != NULL)
        count = gradual_tranche_end(&tranches->plan, count, 1);
    *ret_fits = count <= left.value;
    return true;
}

static bool expand_recipients(const struct work *work, int64_t send_id, const struct delivery_begin_row *begun,
                              const struct tranches *tranches, int64_t *ret_count, struct error *err)
{
    struct bytes sample_key = { .data = NULL };
    if (tranches != NULL)
        sample_key = tranches->row->sample_key;
    if (begun->inline_to.items == NULL)
        return sql_delivery_disable_timeout(work->conn, work->arena, NULL, err) &&
               send_target_expand(work, send_id, begun_target(begun->audience_id), sample_key, ret_count, err);
    struct delivery_expand_inline_params params = {
        .brand_id = work->brand_id,
        .send_id = send_id,
        .sample_key = sample_key,
        .emails = begun->inline_to,
        .keys = begun->inline_keys,
    };
    struct delivery_expand_inline_row *row;
    if (!sql_delivery_expand_inline(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_count = row->count;
    return true;
}

/* Makes the ranges of all recipients, or of the first tranche, and returns the number of recipients in them. */
static bool release_recipients(const struct work *work, int64_t send_id, const struct tranches *tranches, int64_t recipients,
                               int64_t *ret_count, struct error *err)
{
    if (tranches != NULL)
        return tranches_begin(work, send_id, tranches, recipients, ret_count, err);
    struct delivery_add_ranges_params ranges = {
        .brand_id = work->brand_id,
        .send_id = send_id,
        .from_ordinal = 1,
        .to_ordinal = recipients,
        .range_size = DELIVERY_RANGE_SIZE,
    };
    *ret_count = recipients;
    return sql_delivery_add_ranges(work->conn, work->arena, &ranges, NULL, err);
}

/* Completes a send without recipients. Otherwise counts its usage and notifies the sender processes. */
static bool count_usage_or_complete(const struct work *work, int64_t send_id, int64_t recipients, int64_t count, struct error *err)
{
    struct delivery_complete_params complete = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct delivery_complete_row *ignored;
    struct delivery_count_usage_params usage = { .organization_id = work->organization_id, .at = work->now_us, .count = count };
    if (recipients > ANALYZE_ABOVE && !sql_delivery_analyze(work->conn, work->arena, NULL, err))
        return false;
    if (recipients == 0)
        return sql_delivery_complete(work->conn, work->arena, &complete, &ignored, err);
    return sql_delivery_count_usage(work->conn, work->arena, &usage, NULL, err) &&
           sql_delivery_notify_senders(work->conn, work->arena, NULL, err);
}

bool delivery_begin(const struct work *work, int64_t send_id, bool *ret_begun, struct error *err)
{
    *ret_begun = true;
    bool fits;
    struct delivery_send_params find = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct delivery_send_row *send;
    if (!sql_delivery_send(work->conn, work->arena, &find, &send, err))
        return false;
    if (send == NULL || send->started_at.set)
        return true;
    if (send->is_held) {
        *ret_begun = false;
        return true;
    }
    const struct tranches *tranches;
    if (!tranches_hold(work, send_id, &tranches, err) || !check_allowance(work, send, tranches, &fits, err))
        return false;
    if (!fits) {
        struct delivery_pause_for_plan_params pause = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
        *ret_begun = false;
        return sql_delivery_pause_for_plan(work->conn, work->arena, &pause, NULL, err);
    }

    struct delivery_begin_params begin = {
        .brand_id = work->brand_id,
        .id = send_id,
        .is_tracked = delivery_can_track(work) && send->brand_tracks,
        .now = work->now_us,
    };
    struct delivery_begin_row *begun;
    if (!sql_delivery_begin(work->conn, work->arena, &begin, &begun, err))
        return false;
    int64_t recipients;
    int64_t count;
    /* NULL: canceled meanwhile, or begun by an earlier run of this job. */
    return begun == NULL || (expand_recipients(work, send_id, begun, tranches, &recipients, err) &&
                             release_recipients(work, send_id, tranches, recipients, &count, err) &&
                             count_usage_or_complete(work, send_id, recipients, count, err));
}

bool delivery_give_up(const struct work *work, int64_t send_id, const char *reason, struct error *err)
{
    struct delivery_fail_params params = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .id = send_id,
        .error = reason,
        .now = work->now_us,
    };
    return sql_delivery_fail(work->conn, work->arena, &params, NULL, err);
}
