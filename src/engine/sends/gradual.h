/*
 * Gradual send: the plan of a campaign that goes out in tranches, and its
 * arithmetic. Tranches are numbered from 1. After tranche n the share of the
 * recipients that was released is the starting percentage plus n - 1 increments,
 * rounded up to whole recipients. The times of tranches are slots: slot 0 is the
 * beginning of the send, and each further slot is one interval later. With an
 * interval of days all slots have the same local time. A plan is allocated in the
 * arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/sends.h"

struct template_zone;

enum {
    GRADUAL_TRANCHES_MAX = 30,
    GRADUAL_DAYS_MAX = 30,  /* from the first tranche to the last */
    GRADUAL_HOURS_MAX = 24, /* of one interval */
    GRADUAL_SAMPLE_KEY_BYTES = 16,
};

struct gradual_plan {
    double starting_percentage;
    double increment_percentage;
    int64_t interval_value;
    bool is_daily; /* the unit of the interval: days, or hours */
    const char *time_zone;
    const struct template_zone *zone; /* NULL: UTC, or not loaded; only times need it */
};

/* ---- The plan ---- */

/* Checks a plan of a caller and loads its zone. Errors: INVALID_REQUEST (gradualSend.interval.value,
 * gradualSend.incrementPercentage, gradualSend.timeZone). */
MUST_CHECK bool gradual_plan_check(const struct work *work, struct gradual_plan *plan, struct error *err) NONNULL(1, 2, 3);

/* Loads the zone of a stored plan. A zone that the system lacks now is UTC. */
void gradual_plan_load(struct arena *arena, struct gradual_plan *plan) NONNULL(1, 2);

/* The plan of a row, without its zone; NULL when the send is not gradual. */
struct gradual_plan *gradual_plan_of(struct arena *arena, const struct send_row *send) NONNULL(1, 2);

/* ---- Tranches ---- */

/* The number of tranches until everybody is released. */
int64_t gradual_tranche_count(const struct gradual_plan *plan) NONNULL(1) PURE;

/* The recipients of the first `tranche` tranches: the last ordinal of this tranche. */
int64_t gradual_tranche_end(const struct gradual_plan *plan, int64_t recipients, int64_t tranche) NONNULL(1) PURE;

/* The tranche of an ordinal. */
int64_t gradual_tranche_of(const struct gradual_plan *plan, int64_t recipients, int64_t ordinal) NONNULL(1) PURE;

/* ---- Times ---- */

/* The time of a slot of a send whose slot 0 is `anchor_us`. A local time that a change of the clock leaves out is moved by the
 * change; of one that occurs twice, the first is taken. */
int64_t gradual_slot_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t slot) NONNULL(1) PURE;

/* The first slot that is not before `earliest_us`, and not slot 0. */
int64_t gradual_slot_after_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t earliest_us) NONNULL(1) PURE;

/* When the tranche after one that is released at `now_us` is due: at the first slot that is at least half an interval later, so
 * that a tranche that was late does not meet the next one. */
int64_t gradual_next_tranche_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t now_us) NONNULL(1) PURE;

/* When a tranche is due that comes `later` tranches after the next one, which is due at `next_us`. */
int64_t gradual_tranche_due_us(const struct gradual_plan *plan, int64_t anchor_us, int64_t next_us, int64_t later) NONNULL(1) PURE;

/* Slot 0 of a send that has begun: the scheduled time, or the beginning. */
int64_t gradual_anchor_us(const struct send_row *send) NONNULL(1) PURE;

/* ---- Rows ---- */

/* Whether the send is gradual and running, so that it needs its job. */
bool gradual_is_running(const struct send_row *send) NONNULL(1) PURE;

/* Stores the plan of a send that was just inserted, with a new key for the order of its recipients. */
MUST_CHECK bool gradual_insert(const struct work *work, int64_t send_id, const struct gradual_plan *plan, struct error *err)
    NONNULL(1, 3, 4);

/* Pauses a running gradual send and removes its job from the queue. Any other send stays as it is. */
MUST_CHECK bool gradual_pause(const struct work *work, int64_t send_id, struct error *err) NONNULL(1, 3);

/* Records that a gradual send was resumed, also in `send`. The guard counts anew. A tranche whose time has passed waits for its
 * next slot. */
MUST_CHECK bool gradual_note_resume(const struct work *work, struct send_row *send, struct error *err) NONNULL(1, 2, 3);

/* Writes the member gradualSend of a send; nothing for any other send. */
void gradual_write(const struct work *work, const struct send_row *send, struct json_writer *json) NONNULL(1, 2, 3);

/* Writes the members of the plan itself. */
void gradual_write_plan(const struct gradual_plan *plan, struct json_writer *json) NONNULL(1, 2);

/* Writes the member tranches: when how many recipients would get their message, if the first tranche went out at `first_us`. */
void gradual_write_tranches(const struct gradual_plan *plan, int64_t first_us, int64_t recipients, struct json_writer *json)
    NONNULL(1, 4);
