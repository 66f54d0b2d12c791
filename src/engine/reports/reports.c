#include "engine/reports/reports.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/events/recipient_events.h"
#include "engine/subscriptions/subscriptions.h"
#include "engine/suppressions/suppress.h"
#include "sql/suppress.h"

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

/* ---- Finding the recipients ---- */

/* The text in which the bounce rules look for their patterns; "" when they do not apply. */
static const char *judged_by_rules(const struct work *work, const struct report *report)
{
    bool applies = report->kind == REPORT_BOUNCE && report->diagnostic != NULL;
    return applies ? text_lower(work->arena, report->diagnostic) : "";
}

/* Reports of test messages and of unknown ones have no recipient. */
static bool may_have_recipient(const struct report *report)
{
    return report->is_matched && report->origin.send_id != 0;
}

/* Where the records of the brand of `begin` end. */
static size_t brand_end(struct report_record *const *records, size_t begin, size_t count)
{
    size_t end = begin + 1;
    while (end < count && records[end]->report.origin.brand_id == records[begin]->report.origin.brand_id)
        end++;
    return end;
}

static void ask_brand(const struct work *work, struct report_record *const *records, size_t count, struct db_batch *batch)
{
    int64_t *send_ids = arena_array(work->arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    const char **types = arena_array(work->arena, count, sizeof(*types));
    const char **diagnostics = arena_array(work->arena, count, sizeof(*diagnostics));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct report *report = &records[i]->report;
        const char *type = event_type(report);
        records[i]->asked_at = db_batch_count(batch);
        if (!may_have_recipient(report))
            continue;
        send_ids[used] = report->origin.send_id;
        ordinals[used] = report->origin.ordinal;
        types[used] = type != NULL ? type : "";
        diagnostics[used] = judged_by_rules(work, report);
        records[i]->place = (int64_t)++used;
    }
    const struct report_recipients_params params = {
        .brand_id = records[0]->report.origin.brand_id,
        .send_ids = { send_ids, used },
        .ordinals = { ordinals, used },
        .event_types = { types, used },
        .diagnostics = { diagnostics, used },
    };
    if (used > 0)
        db_batch_add(batch, &report_recipients_statement, &params);
}

void report_records_ask(const struct work *work, struct report_record *const *records, size_t count, struct db_batch *batch)
{
    for (size_t i = 0; i < count; i++) {
        records[i]->place = 0;
        records[i]->recipient = NULL;
        records[i]->organization_id = 0;
        records[i]->is_due = false;
    }
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = brand_end(records, begin, count);
        ask_brand(work, &records[begin], end - begin, batch);
    }
}

/* The rows are in another order than the records, because they were locked in it. */
static void take_recipients(struct arena *arena, struct report_record *const *records, size_t count, const struct db_batch *batch)
{
    struct report_record **by_place = arena_array(arena, count + 1, sizeof(struct report_record *));
    const struct report_record *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (records[i]->place != 0) {
            by_place[records[i]->place] = records[i];
            last = records[i];
        }
    if (last == NULL)
        return;
    const struct db_rows *rows = db_batch_rows(batch, last->asked_at);
    const struct report_recipients_row *found = rows->rows;
    for (size_t i = 0; i < rows->count; i++) {
        by_place[found[i].place]->recipient = &found[i];
        by_place[found[i].place]->organization_id = found[i].organization_id;
    }
}

/* ---- The outcome ---- */

/* Whether a bounce or a complaint changes nothing. A repetition must not suppress an address that was released since. The wish of a
 * person to get no mail always counts. */
static bool is_void(const struct report_record *record, enum report_outcome *ret_outcome)
{
    const int64_t max_age_us = REPORT_MAX_AGE_DAYS * INT64_C(86400) * US_PER_S;
    const struct opt_int decided_at = record->recipient->decided_at;
    bool is_late = decided_at.set && record->report.at_us - decided_at.value > max_age_us;
    *ret_outcome = is_late ? REPORT_LATE : REPORT_REPEATED;
    return is_late || record->recipient->is_recorded;
}

/* The kinds of reports that are due about one recipient. */
struct due_kinds {
    int64_t send_id;
    int64_t ordinal;
    bool is_due[REPORT_OTHER + 1];
};

/* Whether an earlier one of the records that are recorded together is the same report. Those about one recipient follow each
 * other. */
static bool is_among_due(struct due_kinds *due, const struct report *report)
{
    if (due->send_id != report->origin.send_id || due->ordinal != report->origin.ordinal)
        *due = (struct due_kinds){ .send_id = report->origin.send_id, .ordinal = report->origin.ordinal };
    bool is_among = due->is_due[report->kind];
    due->is_due[report->kind] = true;
    return is_among;
}

/* Decides the outcome of a report, or that it changes something. A bounce rule replaces its class. */
static bool decide(struct report_record *record, struct due_kinds *due, struct error *err)
{
    record->outcome = record->recipient != NULL ? REPORT_NOTED : REPORT_UNKNOWN;
    if (record->recipient == NULL || event_type(&record->report) == NULL)
        return true;
    if (record->report.kind != REPORT_UNSUBSCRIBE && is_void(record, &record->outcome))
        return true;
    if (is_among_due(due, &record->report)) {
        record->outcome = REPORT_REPEATED;
        return true;
    }
    record->is_due = true;
    const char *rule_class = record->recipient->rule_class;
    return rule_class == NULL || bounce_class_parse(rule_class, &record->report.bounce) ||
           fail(err, ERR_INTERNAL_ERROR, NULL, "A bounce rule has an unknown class.");
}

/* ---- Suppressions ---- */

/* False when the report suppresses nobody. */
static bool suppression_of(const struct report *report, struct suppression *ret_suppression)
{
    *ret_suppression = (struct suppression){ .source = "report", .evidence = report->diagnostic };
    if (report->kind == REPORT_COMPLAINT) {
        ret_suppression->reason = "complaint";
        return true;
    }
    ret_suppression->reason = "bounce";
    if (report->kind == REPORT_BOUNCE && report->bounce == BOUNCE_MAILBOX_FULL)
        ret_suppression->expires_us = suppression_mailbox_full_end(report->at_us);
    return report->kind == REPORT_BOUNCE && (report->bounce == BOUNCE_HARD || report->bounce == BOUNCE_MAILBOX_FULL);
}

static bool is_same_suppression(const struct suppression *one, const struct suppression *other)
{
    return text_equal(one->reason, other->reason) && one->expires_us.set == other->expires_us.set &&
           one->expires_us.value == other->expires_us.value;
}

/* The suppressions of one reason and end, in one statement. */
static void suppress_alike(const struct work *work, const struct suppression *like, struct report_record *const *records,
                           size_t count, struct db_batch *batch)
{
    const char **hashes = arena_array(work->arena, count, sizeof(*hashes));
    const char **evidences = arena_array(work->arena, count, sizeof(*evidences));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct suppression suppression;
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
        if (!records[i]->is_due || !suppression_of(&records[i]->report, &suppression) || !is_same_suppression(&suppression, like))
            continue;
        address_hash(work->engine->address_key, records[i]->recipient->email_key, hash);
        hex_encode(hash, sizeof(hash), hex);
        hashes[used] = hex;
        evidences[used++] = suppression.evidence;
    }
    const struct suppressions_add_params params = {
        .brand_id = work->brand_id,
        .address_hashes = { hashes, used },
        .reason = like->reason,
        .source = like->source,
        .evidences = { evidences, used },
        .expires_at = like->expires_us,
        .now = work->now_us,
    };
    db_batch_add(batch, &suppressions_add_statement, &params);
}

/* Suppresses the addresses of these reports. A batch of calls bounds their number. */
static bool suppress_all(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    struct suppression *kinds = arena_array(work->arena, count, sizeof(*kinds));
    size_t kind_count = 0;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    for (size_t i = 0; i < count; i++) {
        size_t known = 0;
        if (!records[i]->is_due || !suppression_of(&records[i]->report, &kinds[kind_count]))
            continue;
        while (known < kind_count && !is_same_suppression(&kinds[known], &kinds[kind_count]))
            known++;
        if (known == kind_count)
            suppress_alike(work, &kinds[kind_count++], records, count, batch);
    }
    return kind_count == 0 || db_batch_run(batch, err);
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

/* ---- Recording ---- */

static bool unsubscribe_all(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool is_new = false;
        if (!records[i]->is_due || records[i]->report.kind != REPORT_UNSUBSCRIBE)
            continue;
        if (!unsubscribe(work, &records[i]->report, records[i]->recipient->email_key, &is_new, err))
            return false;
        records[i]->outcome = is_new ? REPORT_APPLIED : REPORT_REPEATED;
    }
    return true;
}

static bool record_events(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    struct recipient_event *events = arena_array(work->arena, count, sizeof(*events));
    struct report_record **owners = arena_array(work->arena, count, sizeof(struct report_record *));
    bool *is_new = arena_array(work->arena, count, sizeof(*is_new));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct report *report = &records[i]->report;
        if (!records[i]->is_due || report->kind == REPORT_UNSUBSCRIBE)
            continue;
        owners[used] = records[i];
        events[used++] = (struct recipient_event){
            .send_id = report->origin.send_id,
            .ordinal = report->origin.ordinal,
            .type = event_type(report),
            .at_us = report->at_us,
            .summary = report->diagnostic,
        };
    }
    if (!recipient_events_record(work, events, used, is_new, err))
        return false;
    for (size_t i = 0; i < used; i++)
        owners[i]->outcome = is_new[i] ? REPORT_APPLIED : REPORT_REPEATED;
    return true;
}

/* The records of one brand. */
static bool change_brand(const struct work *work, struct report_record *const *records, size_t count, const struct db_batch *batch,
                         struct error *err)
{
    struct work own = *work;
    struct due_kinds due = { .send_id = 0 };
    own.brand_id = records[0]->report.origin.brand_id;
    take_recipients(work->arena, records, count, batch);
    for (size_t i = 0; i < count; i++) {
        if (!decide(records[i], &due, err))
            return false;
        if (records[i]->organization_id != 0)
            own.organization_id = records[i]->organization_id;
    }
    return unsubscribe_all(&own, records, count, err) && suppress_all(&own, records, count, err) &&
           record_events(&own, records, count, err);
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

bool report_counts_add(const struct work *work, const struct counted_report *reports, size_t count, struct error *err)
{
    int64_t *brand_ids = arena_array(work->arena, count, sizeof(*brand_ids));
    int64_t *ats = arena_array(work->arena, count, sizeof(*ats));
    const char **sources = arena_array(work->arena, count, sizeof(*sources));
    const char **kinds = arena_array(work->arena, count, sizeof(*kinds));
    const char **outcomes = arena_array(work->arena, count, sizeof(*outcomes));
    for (size_t i = 0; i < count; i++) {
        brand_ids[i] = reports[i].outcome == REPORT_UNKNOWN ? 0 : reports[i].brand_id;
        ats[i] = reports[i].at_us;
        sources[i] = reports[i].source;
        kinds[i] = report_kind_name(reports[i].kind);
        outcomes[i] = report_outcome_name(reports[i].outcome);
    }
    const struct report_counts_add_params params = {
        .brand_ids = { brand_ids, count },
        .ats = { ats, count },
        .sources = { sources, count },
        .kinds = { kinds, count },
        .outcomes = { outcomes, count },
    };
    return count == 0 || sql_report_counts_add(work->conn, work->arena, &params, NULL, err);
}

struct counted_report report_record_counted(const struct report_record *record)
{
    const struct report *report = &record->report;
    return (struct counted_report){ report->origin.brand_id, report->at_us, report->source, report->kind, record->outcome };
}

static bool count_all(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    struct counted_report *counted = arena_array(work->arena, count, sizeof(*counted));
    for (size_t i = 0; i < count; i++)
        counted[i] = report_record_counted(records[i]);
    return report_counts_add(work, counted, count, err);
}

static bool keep_delays(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    struct reported_delay *delays = arena_array(work->arena, count, sizeof(*delays));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct report *report = &records[i]->report;
        if (report->kind == REPORT_DELAY && records[i]->outcome == REPORT_NOTED)
            delays[used++] = (struct reported_delay){ report->origin, report->diagnostic, report->at_us };
    }
    return report_delays_keep(work, delays, used, err);
}

bool report_records_change(const struct work *work, struct report_record *const *records, size_t count,
                           const struct db_batch *batch, struct error *err)
{
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = brand_end(records, begin, count);
        if (!change_brand(work, &records[begin], end - begin, batch, err))
            return false;
    }
    return true;
}

bool report_records_finish(const struct work *work, struct report_record *const *records, size_t count,
                           const struct db_batch *batch, struct error *err)
{
    if (!report_records_change(work, records, count, batch, err) || !count_all(work, records, count, err))
        return false;
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = brand_end(records, begin, count);
        if (!keep_delays(work, &records[begin], end - begin, err))
            return false;
    }
    return true;
}

bool report_record(const struct work *work, const struct report *report, enum report_outcome *ret_outcome, struct error *err)
{
    struct report_record record = { .report = *report };
    struct report_record *const records[] = { &record };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    report_records_ask(work, records, 1, batch);
    if ((record.place != 0 && !db_batch_run(batch, err)) || !report_records_finish(work, records, 1, batch, err))
        return false;
    *ret_outcome = record.outcome;
    return true;
}
