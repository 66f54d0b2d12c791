#include "engine/reports/reports.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/events/recipient_events.h"
#include "engine/subscriptions/subscriptions.h"
#include "engine/suppressions/suppress.h"
#include "sql/reports.h"

const char *report_kind_name(enum report_kind kind)
{
    static const char *const names[] = {
        [REPORT_BOUNCE] = "bounce",           [REPORT_DELAY] = "delay",           [REPORT_COMPLAINT] = "complaint",
        [REPORT_UNSUBSCRIBE] = "unsubscribe", [REPORT_AUTO_REPLY] = "auto_reply", [REPORT_OTHER] = "other",
    };
    return names[kind];
}

const char *bounce_class_name(enum bounce_class bounce)
{
    static const char *const names[] = {
        [BOUNCE_HARD] = "hard",
        [BOUNCE_MAILBOX_FULL] = "mailbox_full",
        [BOUNCE_BLOCK] = "block",
        [BOUNCE_REFUSED] = "refused",
    };
    return names[bounce];
}

bool bounce_class_parse(const char *name, enum bounce_class *ret_bounce)
{
    for (int bounce = BOUNCE_HARD; bounce <= BOUNCE_REFUSED; bounce++) {
        *ret_bounce = (enum bounce_class)bounce;
        if (text_equal(bounce_class_name(*ret_bounce), name))
            return true;
    }
    return false;
}

const char *report_outcome_name(enum report_outcome outcome)
{
    static const char *const names[] = {
        [REPORT_APPLIED] = "applied", [REPORT_REPEATED] = "repeated", [REPORT_NOTED] = "noted",
        [REPORT_UNKNOWN] = "unknown", [REPORT_LATE] = "late",
    };
    return names[outcome];
}

/* The event of a report; NULL for one that changes nothing. */
static const char *event_type(const struct report *report)
{
    static const char *const types[REPORT_OTHER + 1] = {
        [REPORT_BOUNCE] = "bounced",
        [REPORT_COMPLAINT] = "complained",
        [REPORT_UNSUBSCRIBE] = "unsubscribed",
    };
    return types[report->kind];
}

/* False when the report suppresses nobody. */
static bool suppression_of(const struct report *report, struct suppression *ret_suppression)
{
    *ret_suppression = (struct suppression){ .source = "report", .evidence = report->diagnostic };
    if (report->kind == REPORT_COMPLAINT) {
        ret_suppression->reason = "complaint";
        return true;
    }
    ret_suppression->reason = "bounce";
    if (report->bounce == BOUNCE_MAILBOX_FULL)
        ret_suppression->expires_us = suppression_mailbox_full_end(report->at_us);
    return report->bounce == BOUNCE_HARD || report->bounce == BOUNCE_MAILBOX_FULL;
}

static bool suppress(const struct work *work, const struct report *report, const char *email_key, struct error *err)
{
    struct suppression suppression;
    unsigned char hash[SECRET_HASH_BYTES];
    if (!suppression_of(report, &suppression))
        return true;
    address_hash(work->engine->address_key, email_key, hash);
    suppression.address_hash = hash;
    return suppression_add(work, &suppression, err);
}

static bool unsubscribe(const struct work *work, const struct report *report, const char *email_key, bool *ret_new,
                        struct error *err)
{
    struct unsubscribe_link link = { .brand_id = work->brand_id,
                                     .send_id = report->origin.send_id,
                                     .ordinal = report->origin.ordinal };
    const struct leave_reason reason = {
        .source = "report", .evidence = report->diagnostic, .summary = report->diagnostic, .at_us = report->at_us
    };
    address_hash(work->engine->address_key, email_key, link.address_hash);
    return subscription_leave_for(work, &link, &reason, ret_new, err);
}

static bool apply(const struct work *work, const struct report *report, const char *email_key, enum report_outcome *ret_outcome,
                  struct error *err)
{
    const struct recipient_event event = {
        .send_id = report->origin.send_id,
        .ordinal = report->origin.ordinal,
        .type = event_type(report),
        .at_us = report->at_us,
        .summary = report->diagnostic,
    };
    bool is_new = false;
    bool ok = report->kind == REPORT_UNSUBSCRIBE
                  ? unsubscribe(work, report, email_key, &is_new, err)
                  : suppress(work, report, email_key, err) && recipient_events_record(work, &event, 1, &is_new, err);
    if (!ok)
        return false;
    *ret_outcome = is_new ? REPORT_APPLIED : REPORT_REPEATED;
    return true;
}

/* Whether a bounce or a complaint changes nothing. A repetition must not suppress an address that was released since. The wish of a
 * person to get no mail always counts. */
static bool is_void(const struct report *report, const struct report_recipient_row *row, enum report_outcome *ret_outcome)
{
    const int64_t max_age_us = REPORT_MAX_AGE_DAYS * INT64_C(86400) * US_PER_S;
    bool is_late = row->decided_at.set && report->at_us - row->decided_at.value > max_age_us;
    *ret_outcome = is_late ? REPORT_LATE : REPORT_REPEATED;
    return is_late || row->is_recorded;
}

/* The text in which the bounce rules look for their patterns, NULL when they do not apply. */
static const char *judged_by_rules(const struct work *work, const struct report *report)
{
    bool applies = report->kind == REPORT_BOUNCE && report->diagnostic != NULL;
    return applies ? text_lower(work->arena, report->diagnostic) : NULL;
}

static bool decide(const struct work *work, const struct report *report, enum report_outcome *ret_outcome, struct error *err)
{
    const char *type = event_type(report);
    struct report_recipient_params params = {
        .brand_id = report->origin.brand_id,
        .send_id = report->origin.send_id,
        .ordinal = report->origin.ordinal,
        .event_type = type,
        .diagnostic = judged_by_rules(work, report),
    };
    struct report_recipient_row *row = NULL;
    *ret_outcome = REPORT_UNKNOWN;
    if (!report->is_matched || report->origin.send_id == 0)
        return true;
    if (!sql_report_recipient(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    struct work own = *work;
    own.organization_id = row->organization_id;
    own.brand_id = report->origin.brand_id;
    *ret_outcome = REPORT_NOTED;
    if (type == NULL)
        return true;
    if (report->kind != REPORT_UNSUBSCRIBE && is_void(report, row, ret_outcome))
        return true;
    struct report judged = *report;
    if (row->rule_class != NULL && !bounce_class_parse(row->rule_class, &judged.bounce))
        return fail(err, ERR_INTERNAL_ERROR, NULL, "A bounce rule has an unknown class.");
    return apply(&own, &judged, row->email_key, ret_outcome, err);
}

bool report_delays_keep(const struct work *work, const struct reported_delay *delays, size_t count, struct error *err)
{
    int64_t *send_ids = arena_array(work->arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    int64_t *ats = arena_array(work->arena, count, sizeof(*ats));
    const char **diagnostics = arena_array(work->arena, count, sizeof(*diagnostics));
    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        send_ids[i] = delays[i].origin.send_id;
        ordinals[i] = delays[i].origin.ordinal;
        ats[i] = delays[i].at_us;
        diagnostics[i] = delays[i].diagnostic;
    }
    struct report_delays_keep_params params = {
        .brand_id = delays[0].origin.brand_id,
        .send_ids = { send_ids, count },
        .ordinals = { ordinals, count },
        .ats = { ats, count },
        .diagnostics = { diagnostics, count },
    };
    return sql_report_delays_keep(work->conn, work->arena, &params, NULL, err);
}

bool report_record(const struct work *work, const struct report *report, enum report_outcome *ret_outcome, struct error *err)
{
    if (!decide(work, report, ret_outcome, err))
        return false;
    struct report_count_params count = {
        .brand_id = *ret_outcome == REPORT_UNKNOWN ? 0 : report->origin.brand_id,
        .at = report->at_us,
        .source = report->source,
        .kind = report_kind_name(report->kind),
        .outcome = report_outcome_name(*ret_outcome),
    };
    const struct reported_delay delay = { report->origin, report->diagnostic, report->at_us };
    bool is_delay = report->kind == REPORT_DELAY && *ret_outcome == REPORT_NOTED;
    return sql_report_count(work->conn, work->arena, &count, NULL, err) && (!is_delay || report_delays_keep(work, &delay, 1, err));
}
