#include "engine/provider_reports/receive.h"

#include "base/clock.h"
#include "base/text.h"
#include "crypto/verify.h"
#include "sql/provider_reports.h"

#include <string.h>

enum { SIGNATURE_MAX_CHARS = 400, TIMESTAMP_MAX_CHARS = 20, CREDENTIAL_MAX_CHARS = 400 };

static const int64_t minute_us = 60 * US_PER_S;

/* The suggestion of the code is about API keys. */
static bool refuse_proof(struct error *err, const char *sentence)
{
    fail(err, ERR_AUTHENTICATION_REQUIRED, NULL, "%s", sentence);
    snprintf(err->suggestion, sizeof(err->suggestion), "%s",
             "Compare the settings of the provider with posthorn admin report-source list.");
    return false;
}

static bool check_age(const struct work *work, int64_t at_us, struct error *err)
{
    if (at_us < work->now_us - REPORT_STALE_HOURS * 60 * minute_us || at_us > work->now_us + REPORT_AHEAD_MINUTES * minute_us)
        return fail(err, ERR_INVALID_REQUEST, "timestamp", "The report is older than %d hours, or from the future.",
                    REPORT_STALE_HOURS);
    return true;
}

/* ---- SendGrid, Postmark ---- */

static bool check_sendgrid(const struct work *work, const struct report_delivery *delivery, struct bytes key, struct error *err)
{
    static const char sentence[] = "The signature is not of this body and the key of the connection.";
    int64_t seconds;
    struct bytes signature = { NULL, 0 };
    if (delivery->signature == NULL || delivery->timestamp == NULL || strlen(delivery->signature) > SIGNATURE_MAX_CHARS ||
        strlen(delivery->timestamp) > TIMESTAMP_MAX_CHARS || !int64_parse(delivery->timestamp, &seconds))
        return refuse_proof(err, "The report has no signature and timestamp of SendGrid.");
    signature.data = base64_decode(work->arena, delivery->signature, &signature.size);
    const char *text = arena_printf(work->arena, "%s%s", delivery->timestamp, delivery->body);
    struct bytes message = { (const unsigned char *)text, strlen(text) };
    if (signature.data == NULL || verify_p256(key, message, signature) != VERIFY_OK)
        return refuse_proof(err, sentence);
    return check_age(work, seconds < 0 || seconds > INT64_MAX / US_PER_S ? 0 : seconds * US_PER_S, err);
}

static bool check_postmark(const struct work *work, const struct report_delivery *delivery, struct bytes stored, struct error *err)
{
    static const char scheme[] = "Basic ";
    const char *given = delivery->authorization;
    size_t size = 0;
    unsigned char hash[SECRET_HASH_BYTES];
    unsigned char *credential = NULL;
    if (given != NULL && strncasecmp(given, scheme, strlen(scheme)) == 0 && strlen(given) <= CREDENTIAL_MAX_CHARS)
        credential = base64_decode(work->arena, given + strlen(scheme), &size);
    if (credential == NULL)
        return refuse_proof(err, "The report has no user and password.");
    secret_hash(arena_dup_bytes(work->arena, (const char *)credential, size), hash);
    return (stored.size == sizeof(hash) && verify_equal(stored.data, hash, sizeof(hash))) ||
           refuse_proof(err, "The user or password is not that of the connection.");
}

/* ---- SES ---- */

static bool check_topic(const struct report_delivery *delivery, struct bytes topic, struct error *err)
{
    const struct sns_message *sns = &delivery->sns;
    return (strlen(sns->topic) == topic.size && memcmp(sns->topic, topic.data, topic.size) == 0) ||
           refuse_proof(err, "The message is of another topic than the connection.");
}

static bool check_sns(const struct work *work, struct report_delivery *delivery, const struct report_connection_find_row *row,
                      struct error *err)
{
    const struct sns_message *sns = &delivery->sns;
    bool loopback = work->engine->fetch_allow_loopback;
    if (!check_topic(delivery, row->verifier, err))
        return false;
    if (!sns_certificate_address_is_trusted(sns->certificate_url, loopback) ||
        (sns->subscribe_url != NULL && !sns_address_is_trusted(sns->subscribe_url, loopback)))
        return refuse_proof(err, "The message names an address that is not of SNS.");
    if (!check_age(work, sns->at_us, err))
        return false;
    struct bytes pem = delivery->certificate.data != NULL ? delivery->certificate : row->pem;
    delivery->fetch_url = pem.data == NULL ? sns->certificate_url : NULL;
    if (delivery->fetch_url != NULL)
        return true;
    enum verify_hash hash = sns->is_sha256 ? VERIFY_SHA256 : VERIFY_SHA1;
    switch (verify_by_certificate(pem, work->now_us / US_PER_S, hash, sns->signed_text, sns->signature)) {
    case VERIFY_OK:
        return true;
    case VERIFY_WRONG:
        return refuse_proof(err, "The signature is not of this message and its certificate.");
    case VERIFY_NO_KEY:
    case VERIFY_OUT_OF_DATE:
        break;
    }
    return refuse_proof(err, "The certificate of the message is not valid.");
}

/* ---- The check ---- */

static bool read_events(const struct work *work, struct report_delivery *delivery, const json_t *json, struct error *err)
{
    if (strcmp(delivery->provider, "sendgrid") == 0)
        return sendgrid_events_read(work->arena, json, work->now_us, &delivery->events, err);
    if (strcmp(delivery->provider, "postmark") == 0)
        return postmark_events_read(work->arena, json, work->now_us, &delivery->events, err);
    return ses_events_read(work->arena, &delivery->sns, work->now_us, &delivery->events, err);
}

static bool find_connection(const struct work *work, const struct report_delivery *delivery,
                            struct report_connection_find_row **ret_row, struct error *err)
{
    unsigned char url_hash[SECRET_HASH_BYTES];
    secret_hash(delivery->sns.certificate_url != NULL ? delivery->sns.certificate_url : "", url_hash);
    struct report_connection_find_params params = {
        .id = delivery->connection_id,
        .provider = delivery->provider,
        .url_hash = { url_hash, sizeof(url_hash) },
        .fetched_after = work->now_us - REPORT_CERTIFICATE_DAYS * 24 * 60 * minute_us,
    };
    if (!sql_report_connection_find(work->conn, work->arena, &params, ret_row, err))
        return false;
    return *ret_row != NULL || fail(err, ERR_NOT_FOUND, NULL, "There is no such connection.");
}

static bool check_proof(const struct work *work, struct report_delivery *delivery, const struct report_connection_find_row *row,
                        struct error *err)
{
    if (strcmp(delivery->provider, "sendgrid") == 0)
        return check_sendgrid(work, delivery, row->verifier, err);
    if (strcmp(delivery->provider, "postmark") == 0)
        return check_postmark(work, delivery, row->verifier, err);
    return check_sns(work, delivery, row, err);
}

bool report_delivery_check(const struct work *work, struct report_delivery *delivery, struct error *err)
{
    struct report_connection_find_row *row;
    const json_t *json = NULL;
    bool is_ses = strcmp(delivery->provider, "ses") == 0;
    /* The body of SNS holds its own signature. The others are read after the check. */
    if (is_ses &&
        (!provider_json_read(work->arena, delivery->body, &json, err) || !sns_message_read(work->arena, json, &delivery->sns, err)))
        return false;
    if (!find_connection(work, delivery, &row, err) || !check_proof(work, delivery, row, err))
        return false;
    delivery->organization_id = row->organization_id;
    if (delivery->fetch_url != NULL)
        return true;
    return (is_ses || provider_json_read(work->arena, delivery->body, &json, err)) && read_events(work, delivery, json, err);
}

/* ---- Recording ---- */

/* Records whose changes are written by the same statements. */
enum { RECORDED_TOGETHER = 500 };

/* An event with the message it is about. */
struct matched_event {
    const struct provider_event *event;
    struct message_origin origin;
    bool is_matched;
};

/* Unsubscribes come first, because they lock contacts, and every transaction locks contacts before suppressions. Events about one
 * recipient keep their order. */
static int compare_events(const void *left_pointer, const void *right_pointer)
{
    const struct matched_event *left = left_pointer;
    const struct matched_event *right = right_pointer;
    bool left_waits = left->event->kind != REPORT_UNSUBSCRIBE;
    bool right_waits = right->event->kind != REPORT_UNSUBSCRIBE;
    if (left_waits != right_waits)
        return left_waits - right_waits;
    if (left->origin.brand_id != right->origin.brand_id)
        return left->origin.brand_id < right->origin.brand_id ? -1 : 1;
    if (left->origin.send_id != right->origin.send_id)
        return left->origin.send_id < right->origin.send_id ? -1 : 1;
    if (left->origin.ordinal != right->origin.ordinal)
        return left->origin.ordinal < right->origin.ordinal ? -1 : 1;
    return (left->event > right->event) - (left->event < right->event);
}

static bool is_among(const struct report_brands_of_row *rows, size_t count, int64_t brand_id)
{
    size_t low = 0;
    while (low < count && rows[low].id != brand_id)
        low++;
    return low < count;
}

/* A token of another organization matches nothing: the connection is not theirs. */
static bool match_events(const struct work *work, const struct report_delivery *delivery, struct matched_event *matched,
                         struct error *err)
{
    size_t count = delivery->events.count;
    int64_t *brands = arena_array(work->arena, count, sizeof(*brands));
    struct report_brands_of_row *rows;
    size_t row_count;
    for (size_t i = 0; i < count; i++) {
        const char *id = delivery->events.items[i].message_id;
        matched[i].event = &delivery->events.items[i];
        matched[i].is_matched = id != NULL && message_id_open(work->engine, work->arena, id, &matched[i].origin);
        brands[i] = matched[i].origin.brand_id;
    }
    struct report_brands_of_params params = { work->organization_id, { brands, count } };
    if (!sql_report_brands_of(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (matched[i].is_matched && !is_among(rows, row_count, matched[i].origin.brand_id))
            matched[i] = (struct matched_event){ .event = matched[i].event };
    return true;
}

static bool changes_something(const struct matched_event *matched)
{
    enum report_kind kind = matched->event->kind;
    return matched->is_matched && matched->origin.send_id != 0 &&
           (kind == REPORT_BOUNCE || kind == REPORT_COMPLAINT || kind == REPORT_UNSUBSCRIBE);
}

/* Moves the events that were not noted before to the front. */
static bool drop_repeated(const struct work *work, const struct report_delivery *delivery, struct matched_event *events,
                          size_t count, size_t *ret_count, struct error *err)
{
    const char **hashes = arena_array(work->arena, count, sizeof(*hashes));
    struct report_events_note_row *rows;
    size_t row_count;
    for (size_t i = 0; i < count; i++) {
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
        secret_hash(events[i].event->id, hash);
        hex_encode(hash, sizeof(hash), hex);
        hashes[i] = hex;
    }
    struct report_events_note_params params = { work->organization_id, delivery->connection_id, { hashes, count }, work->now_us };
    if (!sql_report_events_note(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    bool *is_new = arena_array(work->arena, count, sizeof(*is_new));
    for (size_t i = 0; i < row_count; i++)
        is_new[rows[i].place - 1] = true;
    *ret_count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_new[i])
            events[(*ret_count)++] = events[i];
    return true;
}

/* The end of the records that are recorded with that of `begin`. Those about one recipient are recorded together. */
static size_t part_end(struct report_record *const *records, size_t begin, size_t count)
{
    size_t end = count - begin < RECORDED_TOGETHER ? count : begin + RECORDED_TOGETHER;
    while (end < count &&
           memcmp(&records[end]->report.origin, &records[end - 1]->report.origin, sizeof(struct message_origin)) == 0)
        end++;
    return end;
}

/* All recipients are locked before anything is written, in their order. */
static bool record_in_parts(const struct work *work, struct report_record *const *records, size_t count, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = part_end(records, begin, count);
        report_records_ask(work, &records[begin], end - begin, batch);
    }
    if (count > 0 && !db_batch_run(batch, err))
        return false;
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = part_end(records, begin, count);
        if (!report_records_change(work, &records[begin], end - begin, batch, err))
            return false;
    }
    return true;
}

static bool record_events(const struct work *work, const struct report_delivery *delivery, const struct matched_event *events,
                          size_t count, struct counted_report *ret_counted, struct error *err)
{
    struct report_record *all = arena_array(work->arena, count, sizeof(*all));
    struct report_record **records = arena_array(work->arena, count, sizeof(struct report_record *));
    for (size_t i = 0; i < count; i++) {
        all[i].report = (struct report){
            .kind = events[i].event->kind,
            .bounce = events[i].event->bounce,
            .is_matched = true,
            .origin = events[i].origin,
            .source = delivery->provider,
            .diagnostic = events[i].event->diagnostic,
            .at_us = events[i].event->at_us,
        };
        records[i] = &all[i];
    }
    if (!record_in_parts(work, records, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        ret_counted[i] = report_record_counted(&all[i]);
    return true;
}

/* ---- Counting ---- */

/* The events that change nothing count for the day on which they came. */
static void list_others(const struct work *work, const struct report_delivery *delivery, const struct matched_event *events,
                        size_t count, struct counted_report *ret_counted)
{
    for (size_t i = 0; i < count; i++)
        ret_counted[i] = (struct counted_report){
            .brand_id = events[i].origin.brand_id,
            .at_us = work->now_us,
            .source = delivery->provider,
            .kind = events[i].event->kind,
            .outcome = events[i].is_matched ? REPORT_NOTED : REPORT_UNKNOWN,
        };
}

static void sum_up(const struct counted_report *counted, size_t count, struct report_delivery_counts *counts)
{
    int64_t *const sums[] = {
        [REPORT_APPLIED] = &counts->applied, [REPORT_REPEATED] = &counts->repeated, [REPORT_NOTED] = &counts->noted,
        [REPORT_UNKNOWN] = &counts->unknown, [REPORT_LATE] = &counts->noted,
    };
    for (size_t i = 0; i < count; i++)
        ++*sums[counted[i].outcome];
}

static bool is_delay(const struct matched_event *matched)
{
    return matched->event->kind == REPORT_DELAY && matched->is_matched && matched->origin.send_id != 0;
}

/* Keeps the delays of each brand. `events` are in the order of brands. */
static bool keep_delays(const struct work *work, const struct matched_event *events, size_t count, struct error *err)
{
    struct reported_delay *delays = arena_array(work->arena, count, sizeof(*delays));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_delay(&events[i]))
            continue;
        if (used > 0 && delays[0].origin.brand_id != events[i].origin.brand_id) {
            if (!report_delays_keep(work, delays, used, err))
                return false;
            used = 0;
        }
        delays[used++] = (struct reported_delay){ events[i].origin, events[i].event->diagnostic, events[i].event->at_us };
    }
    return report_delays_keep(work, delays, used, err);
}

static bool keep_certificate(const struct work *work, const struct report_delivery *delivery, struct error *err)
{
    unsigned char url_hash[SECRET_HASH_BYTES];
    if (delivery->certificate.data == NULL)
        return true;
    secret_hash(delivery->sns.certificate_url, url_hash);
    struct report_certificate_keep_params params = {
        .organization_id = work->organization_id,
        .connection_id = delivery->connection_id,
        .url_hash = { url_hash, sizeof(url_hash) },
        .pem = delivery->certificate,
        .now = work->now_us,
    };
    return sql_report_certificate_keep(work->conn, work->arena, &params, NULL, err);
}

bool report_delivery_apply(const struct work *work, const struct report_delivery *delivery,
                           struct report_delivery_counts *ret_counts, struct error *err)
{
    size_t count = delivery->events.count;
    struct matched_event *all = arena_array(work->arena, count, sizeof(*all));
    struct matched_event *changing = arena_array(work->arena, count, sizeof(*changing));
    size_t changing_count = 0;
    size_t other_count = 0;
    size_t new_count;
    *ret_counts = (struct report_delivery_counts){ 0 };
    if (!keep_certificate(work, delivery, err))
        return false;
    if (count == 0)
        return true;
    if (!match_events(work, delivery, all, err))
        return false;
    qsort(all, count, sizeof(*all), compare_events);
    for (size_t i = 0; i < count; i++)
        *(changes_something(&all[i]) ? &changing[changing_count++] : &all[other_count++]) = all[i];
    if (!drop_repeated(work, delivery, changing, changing_count, &new_count, err))
        return false;
    ret_counts->repeated = (int64_t)(changing_count - new_count);
    struct counted_report *counted = arena_array(work->arena, new_count + other_count, sizeof(*counted));
    list_others(work, delivery, all, other_count, &counted[new_count]);
    if (!record_events(work, delivery, changing, new_count, counted, err) || !keep_delays(work, all, other_count, err))
        return false;
    sum_up(counted, new_count + other_count, ret_counts);
    return report_counts_add(work, counted, new_count + other_count, err);
}

void report_delivery_write(const struct report_delivery_counts *counts, struct json_writer *json)
{
    json_object_begin(json);
    json_member_int(json, "applied", counts->applied);
    json_member_int(json, "repeated", counts->repeated);
    json_member_int(json, "noted", counts->noted);
    json_member_int(json, "unknown", counts->unknown);
    json_object_end(json);
}
