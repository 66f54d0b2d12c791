/*
 * Waits: a time span, until a date, until a local time, and for an event. A wait
 * of the first three forms has one due time, which depends on the arrival and
 * the facts only. A run that is late leads on at once.
 */
#include "base/clock.h"
#include "engine/filters/filter_match.h"
#include "engine/nodes/conditions.h"
#include "engine/nodes/facts.h"

static const int64_t day_us = INT64_C(86400) * US_PER_S;

static int64_t later_us(int64_t from_us, int64_t span_us)
{
    int64_t sum_us;
    return __builtin_add_overflow(from_us, span_us, &sum_us) ? INT64_MAX : sum_us;
}

static void wait_until_us(const struct step_in *in, struct step_record *record, int64_t due_us, struct step_out *ret_out)
{
    if (in->now_us >= due_us)
        step_go(ret_out, record, NULL);
    else
        step_wait_until(ret_out, record, due_us);
}

/* ---- Until a date: the facts name the field only, because the date may be of a payload ---- */

static void wait_until_date(struct arena *arena, const struct step_in *in, const struct wait_until *until,
                            struct step_record *record, struct step_out *ret_out)
{
    int64_t date_us;
    const struct template_zone *zone = template_zone_load(arena, in->time_zone);
    bool has_date = match_time_us(condition_field_value(in->facts, until->field), zone, &date_us);
    step_record_text(record, "until", until->field);
    step_record_flag(record, "hasDate", has_date);
    if (!has_date) {
        step_fail(ret_out, record, "The field of the wait has no date.");
        return;
    }
    const struct wait_until_offset *offset = until->offset;
    int64_t span_us = offset != NULL ? node_span_us(offset->duration, offset->unit) : 0;
    wait_until_us(in, record, later_us(date_us, offset != NULL && offset->before ? -span_us : span_us), ret_out);
}

/* ---- Until a local time ---- */

static bool is_wanted_day(unsigned weekdays, int64_t local_us)
{
    enum { FIRST_WEEKDAY = 3 }; /* 1970 began on a Thursday */
    int64_t weekday = ((local_us / day_us + FIRST_WEEKDAY) % 7 + 7) % 7;
    return weekdays == 0 || (weekdays & 1U << (WEEKDAY_MONDAY + weekday)) != 0;
}

/* The first time at or after `from_us` at which clocks show this minute on a wanted day. A week and a day have every case. */
static int64_t next_local_us(const struct template_zone *zone, int64_t from_us, int64_t minutes, unsigned weekdays)
{
    enum { DAYS_MAX = 9 };
    int64_t local_us = from_us + template_zone_offset_s(zone, from_us / US_PER_S) * US_PER_S;
    int64_t time_of_day_us = minutes * 60 * US_PER_S;
    int64_t midnight_us = local_us - (local_us % day_us + day_us) % day_us;
    for (int day = 0; day < DAYS_MAX; day++, midnight_us += day_us) {
        int64_t due_us = template_zone_time_us(zone, midnight_us + time_of_day_us, ZONE_FIRST);
        if (due_us >= from_us && is_wanted_day(weekdays, midnight_us))
            return due_us;
    }
    return from_us;
}

static void wait_until_local_time(struct arena *arena, const struct step_in *in, const struct wait_config *config,
                                  struct step_record *record, struct step_out *ret_out)
{
    const struct template_zone *zone = template_zone_load(arena, in->time_zone);
    int64_t due_us = next_local_us(zone, in->entered_us, config->local_time.value, config->weekdays);
    step_record_time(record, "until", (struct opt_int){ true, due_us });
    wait_until_us(in, record, due_us, ret_out);
}

/* ---- For an event ---- */

/* The first event of the trigger until the deadline. A later one does not count, even if the step is late itself. */
static struct opt_int first_event(const struct step_facts *facts, int64_t trigger_id, int64_t deadline_us)
{
    for (size_t i = 0; i < facts->event_count; i++)
        if (facts->events[i].trigger_id == trigger_id && facts->events[i].at_us <= deadline_us)
            return (struct opt_int){ true, facts->events[i].at_us };
    return (struct opt_int){ 0 };
}

static void wait_for_event(const struct step_in *in, const struct wait_event *event, struct step_record *record,
                           struct step_out *ret_out)
{
    int64_t deadline_us = later_us(in->entered_us, node_span_us(event->timeout->duration, event->timeout->unit));
    struct opt_int came = first_event(in->facts, event->trigger_event_id, deadline_us);
    step_record_flag(record, "event", came.set);
    step_record_time(record, "eventAt", came);
    step_record_time(record, "until", (struct opt_int){ true, deadline_us });
    if (came.set || in->now_us >= deadline_us) {
        step_go(ret_out, record, came.set ? "event" : "timeout");
        return;
    }
    step_wait_until(ret_out, record, deadline_us);
    ret_out->waits_trigger = event->trigger_event_id;
}

void step_wait(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    const struct wait_config *config = in->node->config;
    struct step_record record;
    step_record_begin(&record, arena);
    switch (config->form) {
    case WAIT_FORM_UNTIL:
        wait_until_date(arena, in, config->until, &record, ret_out);
        return;
    case WAIT_FORM_LOCAL_TIME:
        wait_until_local_time(arena, in, config, &record, ret_out);
        return;
    case WAIT_FORM_EVENT:
        wait_for_event(in, config->event, &record, ret_out);
        return;
    case WAIT_FORM_DURATION:
        break;
    }
    int64_t due_us = later_us(in->entered_us, node_span_us(config->duration, config->unit));
    step_record_time(&record, "until", (struct opt_int){ true, due_us });
    wait_until_us(in, &record, due_us, ret_out);
}
