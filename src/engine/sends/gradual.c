#include "engine/sends/gradual.h"

#include "base/clock.h"
#include "base/text.h"
#include "sql/gradual.h"
#include "template/zone.h"

#include <math.h>

enum { PERCENT = 1000 * 1000 }; /* shares are counted in millionths of a percent */
static const int64_t whole = INT64_C(100) * PERCENT;
static const int64_t hour_us = INT64_C(3600) * US_PER_S;
static const int64_t day_us = INT64_C(86400) * US_PER_S;

/* ---- Tranches ---- */

static int64_t share_of(double percentage)
{
    return llround(percentage * PERCENT);
}

/* The share that is released with the first `tranche` tranches. */
static int64_t share_until(const struct gradual_plan *plan, int64_t tranche)
{
    int64_t share = share_of(plan->starting_percentage) + (tranche - 1) * share_of(plan->increment_percentage);
    return share < whole ? share : whole;
}

/* Meaningful for a plan that reaches everybody: its increment is not 0, or its start is 100 percent. */
int64_t gradual_tranche_count(const struct gradual_plan *plan)
{
    int64_t rest = whole - share_of(plan->starting_percentage);
    int64_t increment = share_of(plan->increment_percentage);
    return rest <= 0 ? 1 : 1 + (rest + increment - 1) / increment;
}

int64_t gradual_tranche_end(const struct gradual_plan *plan, int64_t recipients, int64_t tranche)
{
    return (recipients * share_until(plan, tranche) + whole - 1) / whole;
}

int64_t gradual_tranche_of(const struct gradual_plan *plan, int64_t recipients, int64_t ordinal)
{
    int64_t tranche = 1;
    while (tranche < GRADUAL_TRANCHES_MAX && gradual_tranche_end(plan, recipients, tranche) < ordinal)
        tranche++;
    return tranche;
}

/* ---- Times ---- */

static int64_t interval_us(const struct gradual_plan *plan)
{
    return plan->interval_value * (plan->is_daily ? day_us : hour_us);
}

static int64_t offset_us(const struct gradual_plan *plan, int64_t at_us)
{
    return template_zone_offset_s(plan->zone, at_us / US_PER_S) * US_PER_S;
}

int64_t gradual_slot_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t slot)
{
    if (slot == 0 || !plan->is_daily)
        return anchor_us + slot * interval_us(plan);
    return template_zone_time_us(plan->zone, anchor_us + offset_us(plan, anchor_us) + slot * interval_us(plan), ZONE_FIRST);
}

int64_t gradual_slot_after_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t earliest_us)
{
    int64_t slot = (earliest_us - anchor_us) / interval_us(plan) - 1;
    if (slot < 1)
        slot = 1;
    while (gradual_slot_us(plan, anchor_us, slot) < earliest_us)
        slot++;
    return gradual_slot_us(plan, anchor_us, slot);
}

int64_t gradual_next_tranche_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t now_us)
{
    return gradual_slot_after_us(plan, anchor_us, now_us + interval_us(plan) / 2);
}

int64_t gradual_tranche_due_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t next_us, int64_t later)
{
    if (later == 0)
        return next_us;
    int64_t next_slot = (next_us - anchor_us + interval_us(plan) / 2) / interval_us(plan);
    return gradual_slot_us(plan, anchor_us, next_slot + later);
}

/* ---- The plan ---- */

static bool is_utc(const char *name)
{
    return text_equal(name, "UTC") || text_equal(name, "Etc/UTC");
}

void gradual_plan_load(struct arena *arena, struct gradual_plan *plan)
{
    plan->zone = is_utc(plan->time_zone) ? NULL : template_zone_load(arena, plan->time_zone);
}

static bool check_tranches(const struct gradual_plan *plan, struct error *err)
{
    static const char param[] = "gradualSend.incrementPercentage";
    int64_t rest = whole - share_of(plan->starting_percentage);
    if (rest <= 0)
        return true;
    if (share_of(plan->increment_percentage) == 0)
        return fail(err, ERR_INVALID_REQUEST, param,
                    "With an increment of 0 the send stays at %g percent of the recipients. Pass more than 0, or a "
                    "startingPercentage of 100.",
                    plan->starting_percentage);
    if (gradual_tranche_count(plan) <= GRADUAL_TRANCHES_MAX)
        return true;
    double least = ceil((double)rest / (GRADUAL_TRANCHES_MAX - 1) / PERCENT * 100) / 100;
    return fail(err, ERR_INVALID_REQUEST, param,
                "These percentages make %lld tranches, and at most %d are allowed. Pass an incrementPercentage of at least %g.",
                (long long)gradual_tranche_count(plan), GRADUAL_TRANCHES_MAX, least);
}

static bool check_interval(const struct gradual_plan *plan, struct error *err)
{
    static const char param[] = "gradualSend.interval.value";
    int64_t most = plan->is_daily ? GRADUAL_DAYS_MAX : GRADUAL_HOURS_MAX;
    if (plan->interval_value < 1 || plan->interval_value > most)
        return fail(err, ERR_INVALID_REQUEST, param, "An interval is 1 to %d hours or 1 to %d days.", GRADUAL_HOURS_MAX,
                    GRADUAL_DAYS_MAX);
    int64_t span_us = (gradual_tranche_count(plan) - 1) * interval_us(plan);
    return span_us <= GRADUAL_DAYS_MAX * day_us ||
           fail(err, ERR_INVALID_REQUEST, param,
                "The last of %lld tranches would go out %lld days after the first, and at most %d days are allowed. Pass a shorter "
                "interval or a larger incrementPercentage.",
                (long long)gradual_tranche_count(plan), (long long)(span_us / day_us), GRADUAL_DAYS_MAX);
}

bool gradual_plan_check(const struct work *work, struct gradual_plan *plan, struct error *err)
{
    if (!check_tranches(plan, err) || !check_interval(plan, err))
        return false;
    gradual_plan_load(work->arena, plan);
    return plan->zone != NULL || is_utc(plan->time_zone) ||
           fail(err, ERR_INVALID_REQUEST, "gradualSend.timeZone", "%.60s is not an IANA time zone.", plan->time_zone);
}

struct gradual_plan *gradual_plan_of(struct arena *arena, const struct send_row *send)
{
    if (send->gradual_zone == NULL)
        return NULL;
    struct gradual_plan *plan = arena_alloc(arena, sizeof(*plan));
    *plan = (struct gradual_plan){
        .starting_percentage = send->gradual_starting.value,
        .increment_percentage = send->gradual_increment.value,
        .interval_value = send->gradual_interval.value,
        .is_daily = text_equal(send->gradual_unit, "day"),
        .time_zone = send->gradual_zone,
    };
    return plan;
}

int64_t gradual_anchor_us(const struct send_row *send)
{
    return send->scheduled_at.set ? send->scheduled_at.value : send->started_at.value;
}

/* ---- Rows ---- */

static const char *unit_of(const struct gradual_plan *plan)
{
    return plan->is_daily ? "day" : "hour";
}

bool gradual_is_running(const struct send_row *send)
{
    return send->gradual_zone != NULL && text_equal(send->status, "running");
}

bool gradual_insert(const struct work *work, int64_t send_id, const struct gradual_plan *plan, struct error *err)
{
    unsigned char key[GRADUAL_SAMPLE_KEY_BYTES];
    random_bytes(key, sizeof(key));
    struct gradual_insert_params params = {
        .brand_id = work->brand_id,
        .send_id = send_id,
        .starting = plan->starting_percentage,
        .increment = plan->increment_percentage,
        .interval = plan->interval_value,
        .unit = unit_of(plan),
        .zone = plan->time_zone,
        .sample_key = { key, sizeof(key) },
    };
    return sql_gradual_insert(work->conn, work->arena, &params, NULL, err);
}

bool gradual_pause(const struct work *work, int64_t send_id, struct error *err)
{
    struct gradual_pause_params params = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    return sql_gradual_pause(work->conn, work->arena, &params, NULL, err);
}

bool gradual_note_resume(const struct work *work, struct send_row *send, struct error *err)
{
    struct gradual_plan *plan = gradual_plan_of(work->arena, send);
    struct opt_int *next = &send->next_tranche_at;
    if (plan == NULL)
        return true;
    gradual_plan_load(work->arena, plan);
    if (next->set && next->value <= work->now_us)
        next->value = gradual_slot_after_us(plan, gradual_anchor_us(send), work->now_us);
    send->resumed_at = (struct opt_int){ .set = true, .value = work->now_us };
    send->error = NULL;
    struct gradual_note_resume_params params = {
        .brand_id = work->brand_id, .id = send->id, .next_tranche_at = *next, .now = work->now_us
    };
    return sql_gradual_note_resume(work->conn, work->arena, &params, NULL, err);
}

/* ---- JSON ---- */

static void write_interval(const struct gradual_plan *plan, struct json_writer *json)
{
    json_key(json, "interval");
    json_object_begin(json);
    json_member_int(json, "value", plan->interval_value);
    json_member_text(json, "unit", unit_of(plan));
    json_object_end(json);
}

void gradual_write_plan(const struct gradual_plan *plan, struct json_writer *json)
{
    json_key(json, "startingPercentage");
    json_number(json, plan->starting_percentage);
    json_key(json, "incrementPercentage");
    json_number(json, plan->increment_percentage);
    write_interval(plan, json);
    json_member_text(json, "timeZone", plan->time_zone);
}

void gradual_write(const struct work *work, const struct send_row *send, struct json_writer *json)
{
    const struct gradual_plan *plan = gradual_plan_of(work->arena, send);
    if (plan == NULL)
        return;
    json_key(json, "gradualSend");
    json_object_begin(json);
    gradual_write_plan(plan, json);
    json_member_int(json, "currentTranche", send->gradual_tranche.value);
    json_member_int(json, "sentSoFar", send->sent);
    json_member_time_if(json, "pausedAt", send->paused_at);
    json_member_time_if(json, "resumedAt", send->resumed_at);
    if (work_is_for_assistant(work)) {
        json_member_int(json, "tranches", gradual_tranche_count(plan));
        if (gradual_is_running(send))
            json_member_time_if(json, "nextTrancheAt", send->next_tranche_at);
    }
    json_object_end(json);
}

void gradual_write_tranches(const struct gradual_plan *plan, int64_t first_us, int64_t recipients, struct json_writer *json)
{
    int64_t before = 0;
    json_key(json, "tranches");
    json_array_begin(json);
    for (int64_t tranche = 1; tranche == 1 || before < recipients; tranche++) {
        int64_t end = gradual_tranche_end(plan, recipients, tranche);
        json_object_begin(json);
        json_member_time(json, "at", gradual_slot_us(plan, first_us, tranche - 1));
        json_member_int(json, "recipients", end - before);
        json_object_end(json);
        before = end;
    }
    json_array_end(json);
}
