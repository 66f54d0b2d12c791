#include "engine/reports/receive.h"

#include "engine/compose/return_path.h"
#include "engine/subscriptions/link.h"
#include "sql/reports.h"

#include <string.h>

enum { COUNTED_DAYS = 30 };

/* ---- The message ---- */

static bool find_by_message_id(const struct work *work, struct text_list ids, struct message_origin *ret_origin)
{
    for (size_t i = 0; i < ids.count; i++)
        if (ids.items[i] != NULL && message_id_open(work->engine, work->arena, ids.items[i], ret_origin))
            return true;
    return false;
}

/* The field has the link and the address of unsubscribing, each in angle brackets (RFC 2369 §2). */
static bool find_by_unsubscribe(const struct work *work, const char *value, struct message_origin *ret_origin)
{
    for (const char *open = value; open != NULL && (open = strchr(open, '<')) != NULL; open++) {
        const char *item = arena_dup_bytes(work->arena, open + 1, strcspn(open + 1, ">?"));
        const char *slash = strrchr(item, '/');
        struct unsubscribe_link link;
        if (strncmp(item, "mailto:", 7) == 0 &&
            return_path_open(work->engine, work->arena, item + 7, ret_origin) != RETURN_PATH_NONE)
            return true;
        if (slash == NULL || !unsubscribe_token_open(work->engine, work->arena, slash + 1, &link) || link.was_asked_for)
            continue;
        *ret_origin = (struct message_origin){ link.brand_id, link.send_id, link.ordinal };
        return true;
    }
    return false;
}

/* A message to the address of unsubscribing unsubscribes, unless it is an answer of a machine. */
static void identify(const struct work *work, const struct received_report *received, struct report *report)
{
    const char *address = received->return_path != NULL ? received->return_path : "";
    enum return_path_kind kind = return_path_open(work->engine, work->arena, address, &report->origin);
    report->is_matched = kind != RETURN_PATH_NONE || find_by_message_id(work, received->message_ids, &report->origin) ||
                         find_by_unsubscribe(work, received->list_unsubscribe, &report->origin);
    if (kind == RETURN_PATH_UNSUBSCRIBE && report->kind == REPORT_OTHER)
        report->kind = REPORT_UNSUBSCRIBE;
}

/* ---- Reports without a known message ---- */

static bool keep_unmatched(const struct work *work, const struct received_report *received, const struct report *report,
                           struct error *err)
{
    struct unmatched_report_keep_params params = {
        .now = work->now_us,
        .source = report->source,
        .kind = report_kind_name(report->kind),
        .bounce = report->kind == REPORT_BOUNCE ? bounce_class_name(report->bounce) : NULL,
        .return_path = received->return_path,
        .recipient = received->recipient,
        .diagnostic = received->diagnostic,
        .excerpt = received->excerpt != NULL ? received->excerpt : "",
    };
    struct unmatched_report_trim_params trim = { .kept = UNMATCHED_REPORTS_MAX };
    return sql_unmatched_report_keep(work->conn, work->arena, &params, NULL, err) &&
           sql_unmatched_report_trim(work->conn, work->arena, &trim, NULL, err);
}

/* The report of a test message is about a known message, and automatic answers come from anybody. */
static bool is_kept(const struct report_record *record)
{
    bool is_test = record->report.is_matched && record->report.origin.send_id == 0;
    return record->outcome == REPORT_UNKNOWN && !is_test && record->report.kind != REPORT_AUTO_REPLY;
}

void report_identify(const struct work *work, struct receiving *receiving)
{
    const struct received_report *received = &receiving->received;
    receiving->record = (struct report_record){
        .report = {
            .kind = received->kind,
            .bounce = received->bounce,
            .source = received->source,
            .diagnostic = received->diagnostic,
            .at_us = work->now_us,
        },
    };
    identify(work, received, &receiving->record.report);
}

const char *report_lock_key(struct arena *arena, const struct receiving *receiving, const char *number)
{
    const struct report *report = &receiving->record.report;
    const struct message_origin *origin = &report->origin;
    if (report->kind == REPORT_UNSUBSCRIBE)
        return NULL;
    return arena_printf(arena, "%020lld.%020lld.%020lld.%s", (long long)origin->brand_id, (long long)origin->send_id,
                        (long long)origin->ordinal, report->is_matched ? "" : number);
}

bool report_receive_all(const struct work *work, struct receiving *const *receiving, size_t count, const struct db_batch *batch,
                        struct error *err)
{
    struct report_record **records = arena_array(work->arena, count, sizeof(struct report_record *));
    for (size_t i = 0; i < count; i++)
        records[i] = &receiving[i]->record;
    if (!report_records_finish(work, records, count, batch, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_kept(records[i]) && !keep_unmatched(work, &receiving[i]->received, &records[i]->report, err))
            return false;
    return true;
}

/* ---- For the operator ---- */

static bool write_counts(const struct work *work, struct json_writer *json, struct error *err)
{
    struct report_counts_params params = { .since = work->now_us - COUNTED_DAYS * INT64_C(86400) * 1000000 };
    struct report_counts_row *rows;
    size_t count;
    if (!sql_report_counts(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_key(json, "counts");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "source", rows[i].source);
        json_member_text(json, "kind", rows[i].kind);
        json_member_text(json, "outcome", rows[i].outcome);
        json_member_int(json, "count", rows[i].count);
        json_object_end(json);
    }
    json_array_end(json);
    return true;
}

static bool write_unmatched(const struct work *work, struct json_writer *json, struct error *err)
{
    struct unmatched_reports_row *rows;
    size_t count;
    if (!sql_unmatched_reports(work->conn, work->arena, &rows, &count, err))
        return false;
    json_key(json, "unmatched");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_time(json, "receivedAt", rows[i].received_at);
        json_member_text(json, "source", rows[i].source);
        json_member_text(json, "kind", rows[i].kind);
        json_member_text_if(json, "class", rows[i].bounce);
        json_member_text_if(json, "returnPath", rows[i].return_path);
        json_member_text_if(json, "recipient", rows[i].recipient);
        json_member_text_if(json, "diagnostic", rows[i].diagnostic);
        json_member_text(json, "excerpt", rows[i].excerpt);
        json_object_end(json);
    }
    json_array_end(json);
    return true;
}

bool report_write_all(const struct work *work, bool only_unmatched, struct json_writer *json, struct error *err)
{
    json_object_begin(json);
    if (!only_unmatched && !write_counts(work, json, err))
        return false;
    if (!write_unmatched(work, json, err))
        return false;
    json_object_end(json);
    return true;
}
