#include "engine/delivery/delivery.h"

#include "base/text.h"
#include "engine/compose/return_path.h"
#include "engine/secrets/secrets.h"
#include "sql/leasing.h"

#include <stdlib.h>
#include <string.h>

/* ---- Leasing ---- */

bool delivery_take_range(const struct work *work, const struct delivery_lease_request *request, struct delivery_batch *ret_batch,
                         bool *ret_found, struct error *err)
{
    struct delivery_take_range_params params = {
        .owner = request->owner,
        .lease_s = DELIVERY_LEASE_S,
        .after_brand = request->after_brand,
        .places = request->places,
        .full = request->full,
        .put_off = request->put_off,
        .now = work->now_us,
    };
    struct delivery_take_range_row *row;
    if (!sql_delivery_take_range(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_found = row != NULL;
    if (row == NULL)
        return true;
    size_t count = (size_t)(row->to_ordinal - row->from_ordinal + 1);
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++)
        ordinals[i] = row->from_ordinal + (int64_t)i;
    *ret_batch = (struct delivery_batch){
        .owner = request->owner,
        .brand_id = row->brand_id,
        .send_id = row->send_id,
        .from_ordinal = row->from_ordinal,
        .ordinals = ordinals,
        .ordinal_count = count,
        .date_us = row->date,
        .is_fresh = !row->was_begun,
        .has_crashed = row->has_crashed,
        .is_carrier = row->is_carrier,
        .is_abandoned = row->is_abandoned,
        .is_unsure = row->is_abandoned, /* the former owner may still write results */
    };
    return true;
}

static int compare_ordinals(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;
    return (*left > *right) - (*left < *right);
}

bool delivery_take_retries(const struct work *work, const struct delivery_lease_request *request, struct delivery_batch *ret_batch,
                           bool *ret_found, struct error *err)
{
    struct delivery_take_retries_params params = {
        .owner = request->owner,
        .lease_s = DELIVERY_LEASE_S,
        .after_brand = request->after_brand,
        .places = request->places,
        .full = request->full,
        .put_off = request->put_off,
        .limit = DELIVERY_RETRIES_MAX,
        .now = work->now_us,
    };
    struct delivery_take_retries_row *rows;
    size_t count;
    if (!sql_delivery_take_retries(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    *ret_found = count > 0;
    if (count == 0)
        return true;
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++)
        ordinals[i] = rows[i].ordinal;
    qsort(ordinals, count, sizeof(*ordinals), compare_ordinals);
    *ret_batch = (struct delivery_batch){
        .owner = request->owner,
        .brand_id = rows[0].brand_id,
        .send_id = rows[0].send_id,
        .ordinals = ordinals,
        .ordinal_count = count,
        .has_crashed = true,
        .is_carrier = rows[0].is_carrier,
    };
    return true;
}

bool delivery_take_batch(const struct work *work, const struct delivery_lease_request *request, struct delivery_batch *ret_batch,
                         bool *ret_found, struct error *err)
{
    if (request->range_first)
        return delivery_take_range(work, request, ret_batch, ret_found, err) &&
               (*ret_found || delivery_take_retries(work, request, ret_batch, ret_found, err));
    return delivery_take_retries(work, request, ret_batch, ret_found, err) &&
           (*ret_found || delivery_take_range(work, request, ret_batch, ret_found, err));
}

/* ---- Fetching ---- */

const char *delivery_click_url(const struct work *work, const char *domain)
{
    const char *url = work->engine->public_url;
    const char *slashes = url != NULL ? strstr(url, "://") : NULL;
    if (slashes == NULL)
        return url;
    const char *host = slashes + 3;
    return arena_printf(work->arena, "%.*sclick.%s%s", (int)(host - url), url, domain, host + strcspn(host, ":/"));
}

bool delivery_can_track(const struct work *work)
{
    return !work->engine->tracking_off && work->engine->public_url != NULL;
}

const char *delivery_tracking_url(const struct work *work, const struct delivery_send_row *send)
{
    if (!delivery_can_track(work) || !send->brand_tracks)
        return NULL;
    return send->has_click_host ? delivery_click_url(work, send->domain) : work->engine->public_url;
}

bool delivery_is_urgent(const struct delivery_send_row *send)
{
    return send->is_carrier || !text_equal(send->message_class, "marketing");
}

static bool read_send(const struct work *work, struct delivery_batch *batch, struct error *err)
{
    struct delivery_send_params find = { .brand_id = batch->brand_id, .id = batch->send_id, .now = work->now_us };
    struct delivery_send_row *send;
    if (!sql_delivery_send(work->conn, work->arena, &find, &send, err))
        return false;
    if (send == NULL) /* not an internal error: those are retried */
        return fail(err, ERR_SEND_NOT_FOUND, NULL, "The design, domain or brand of this send no longer exists.");
    batch->send = send;
    batch->organization_id = send->organization_id;
    batch->is_carrier = send->is_carrier;
    batch->design = (struct composer_design){
        .subject_code = send->subject_code,
        .html_code = send->html_code,
        .text_code = send->text_code,
        .from_address = send->from_address,
        .sender_name = send->sender_name,
        .reply_to = send->reply_to,
        .domain = send->domain,
        .brand_json = send->brand,
        .message_class = text_equal(send->message_class, "marketing") ? MESSAGE_MARKETING : MESSAGE_TRANSACTIONAL,
        .send_id = batch->send_id,
        .tracking_url = delivery_tracking_url(work, send),
        .receives_reports = send->receives_reports,
    };
    return true;
}

static void skip(struct delivery_result *result, const char *reason)
{
    result->outcome = DELIVERY_SKIPPED;
    result->reason = reason;
}

static bool is_marketing(const struct delivery_batch *batch)
{
    return batch->design.message_class == MESSAGE_MARKETING;
}

/* Consent and address validity are checked as they are now, not as they were when the send began. D-104: mail that is not marketing
 * needs no consent. */
static void skip_ineligible(struct delivery_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct delivery_recipients_row *recipient = &batch->recipients[i];
        if (recipient->was_contact && !recipient->contact_id.set)
            skip(&batch->results[i], "contact deleted");
        else if (is_marketing(batch) && recipient->contact_id.set && !recipient->subscribed.value)
            skip(&batch->results[i], "unsubscribed");
        else if (recipient->is_invalid)
            skip(&batch->results[i], "invalid address");
    }
}

/* A message that was canceled, alone or with its run, is not sent. */
static void skip_canceled(struct delivery_batch *batch)
{
    for (size_t i = 0; batch->is_carrier && i < batch->count; i++)
        if (batch->messages[i].canceled != NULL)
            skip(&batch->results[i], batch->messages[i].canceled);
}

static const char *suppression_hash_hex(const struct work *work, const char *email_key)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
    address_hash(work->engine->address_key, email_key, hash);
    hex_encode(hash, sizeof(hash), hex);
    return hex;
}

static bool skip_suppressed(const struct work *work, struct delivery_batch *batch, struct error *err)
{
    if (!batch->send->any_suppressed || batch->count == 0)
        return true;
    const char **hashes = arena_array(work->arena, batch->count, sizeof(*hashes));
    for (size_t i = 0; i < batch->count; i++)
        hashes[i] = suppression_hash_hex(work, batch->recipients[i].email_key);
    struct delivery_suppressed_params params = {
        .brand_id = batch->brand_id, .hashes = { hashes, batch->count }, .is_marketing = is_marketing(batch), .now = work->now_us
    };
    struct delivery_suppressed_row *rows;
    size_t row_count;
    if (!sql_delivery_suppressed(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; j < batch->count; j++)
            /* An unsubscribed contact is suppressed, too; the first reason says more. */
            if (strcmp(rows[i].hash, hashes[j]) == 0 && batch->results[j].outcome != DELIVERY_SKIPPED)
                skip(&batch->results[j], "suppressed");
    return true;
}

/* Of retries the lease covers single recipients: those that were not read leave the batch. */
static void note_part(struct delivery_batch *batch)
{
    const struct delivery_recipients_row *rows = batch->recipients;
    if (batch->count == 0 || rows[0].eligible <= (int64_t)batch->count)
        return;
    batch->is_part = true;
    size_t kept = 0;
    while (batch->from_ordinal == 0 && kept < batch->ordinal_count && batch->ordinals[kept] <= rows[batch->count - 1].ordinal)
        kept++;
    if (batch->from_ordinal == 0)
        batch->ordinal_count = kept;
}

static bool read_recipients(const struct work *work, struct delivery_batch *batch, struct text_list fields, struct error *err)
{
    struct delivery_recipients_params params = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .ordinals = { batch->ordinals, batch->ordinal_count },
        .fields = fields,
        .is_fresh = batch->is_fresh,
        .is_retry = batch->from_ordinal == 0,
        .owner = batch->owner,
        .date = batch->date_us,
        .max_bytes = DELIVERY_FETCH_MAX_BYTES,
    };
    struct delivery_recipients_row *recipients;
    bool done = sql_delivery_recipients(work->conn, work->arena, &params, &recipients, &batch->count, err);
    batch->recipients = recipients;
    return done;
}

/* With another key file no payload opens: then the batch waits for the right one. Opens one payload of each key to find out. */
static bool check_payload_keys(const struct work *work, const struct delivery_batch *batch, struct error *err)
{
    bool is_checked[SEAL_MAX_KEY_ID + 1] = { false };
    ARENA_SCOPE scratch = arena_new(0);
    struct work own = *work;
    own.arena = scratch;
    own.brand_id = batch->brand_id;
    for (size_t i = 0; i < batch->count; i++) {
        const struct carrier_messages_row *message = &batch->messages[i];
        struct error why = { .code = ERR_NONE };
        const json_t *ignored;
        int id = sealed_key_id(message->sealed);
        if (message->sealed.data == NULL || is_checked[id])
            continue;
        is_checked[id] = true;
        if (!payload_open_with(&own, batch->payload_keys, message->payload_id.value, message->sealed, true, &ignored, &why) &&
            !secrets_check_key(&own, batch->payload_keys, message->sealed, err))
            return false;
    }
    return true;
}

/* The messages of a carrier, with the payloads that are composed. Those that do not fit leave the batch. */
static bool read_messages(const struct work *work, struct delivery_batch *batch, struct error *err)
{
    int64_t *ordinals = arena_array(work->arena, batch->count + 1, sizeof(*ordinals));
    for (size_t i = 0; i < batch->count; i++)
        ordinals[i] = batch->recipients[i].ordinal;
    struct carrier_messages_params params = {
        .brand_id = batch->brand_id,
        .carrier_id = batch->send_id,
        .ordinals = { ordinals, batch->count },
        .with_payloads = !batch->is_for_results,
        .max_bytes = DELIVERY_FETCH_MAX_BYTES,
    };
    struct carrier_messages_row *messages;
    if (!sql_carrier_messages(work->conn, work->arena, &params, &messages, &batch->count, err))
        return false;
    batch->messages = messages;
    bool any_payload = false;
    for (size_t i = 0; i < batch->count; i++)
        any_payload |= messages[i].sealed.data != NULL;
    struct seal_ring *keys = NULL;
    if (any_payload && !secrets_opening(work, work->arena, &keys, err))
        return false;
    batch->payload_keys = keys;
    return keys == NULL || check_payload_keys(work, batch, err);
}

static bool note_tracked(const struct work *work, const struct delivery_batch *batch, struct error *err)
{
    struct delivery_note_tracked_params params = { .brand_id = batch->brand_id, .id = batch->send_id };
    if (batch->is_for_results || batch->send->is_tracked || batch->design.tracking_url == NULL)
        return true;
    return sql_delivery_note_tracked(work->conn, work->arena, &params, NULL, err);
}

bool delivery_fetch(const struct work *work, struct delivery_batch *batch, struct error *err)
{
    struct composer *composer;
    if (!read_send(work, batch, err) || !note_tracked(work, batch, err) ||
        (!batch->is_for_results && !delivery_composer(work, batch, &composer, err)))
        return false;
    struct text_list fields = batch->is_for_results ? (struct text_list){ .count = 0 } : composer_fields(composer);
    if (!read_recipients(work, batch, fields, err) || (batch->is_carrier && !read_messages(work, batch, err)))
        return false;
    note_part(batch);
    batch->results = arena_array(work->arena, batch->count + 1, sizeof(*batch->results));
    for (size_t i = 0; i < batch->count; i++)
        batch->results[i] = (struct delivery_result){
            .uncertain = batch->recipients[i].uncertain || batch->is_abandoned,
            .attempts = batch->recipients[i].attempts,
        };
    skip_ineligible(batch);
    skip_canceled(batch);
    return skip_suppressed(work, batch, err);
}

/* ---- Composing ---- */

bool delivery_composer(const struct work *work, const struct delivery_batch *batch, struct composer **ret_composer,
                       struct error *err)
{
    struct work own = *work;
    own.organization_id = batch->organization_id;
    own.brand_id = batch->brand_id;
    return composer_new(&own, &batch->design, ret_composer, err);
}

char *delivery_message_name(const struct work *work, const struct delivery_batch *batch, size_t index, struct arena *arena)
{
    if (batch->messages != NULL && batch->messages[index].id.set)
        return arena_printf(arena, "%s.1", id_text(&work->engine->ids, arena, ID_SEND, batch->messages[index].id.value));
    return arena_printf(arena, "%s.%lld", id_text(&work->engine->ids, arena, ID_SEND, batch->send_id),
                        (long long)batch->recipients[index].ordinal);
}

static char *message_token(const struct work *work, const struct delivery_batch *batch, int64_t ordinal)
{
    const struct message_origin origin = { .brand_id = batch->brand_id, .send_id = batch->send_id, .ordinal = ordinal };
    return message_id_token(work->engine, work->arena, &origin);
}

char *delivery_return_path(const struct work *work, const struct delivery_batch *batch, size_t index)
{
    const struct message_origin origin = { batch->brand_id, batch->send_id, batch->recipients[index].ordinal };
    return batch->send->receives_reports
               ? return_path_address(work->engine, work->arena, RETURN_PATH_BOUNCE, &origin, batch->send->domain)
               : NULL;
}

/* A payload that cannot be opened is a fault of this message alone. The error tells nothing of it. */
static bool open_payload(const struct work *work, const struct delivery_batch *batch, size_t index, const json_t **ret_payload,
                         struct error *err)
{
    struct error why = { .code = ERR_NONE };
    struct work own = *work;
    own.brand_id = batch->brand_id;
    *ret_payload = NULL;
    if (batch->messages == NULL || !batch->messages[index].payload_id.set)
        return true;
    const struct carrier_messages_row *message = &batch->messages[index];
    if (batch->payload_keys == NULL || message->sealed.data == NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The payload of this message does not exist any more.");
    return payload_open_with(&own, batch->payload_keys, message->payload_id.value, message->sealed, true, ret_payload, &why) ||
           fail(err, ERR_INVALID_REQUEST, NULL, "The payload of this message cannot be opened.") ||
           error_because(err, "%s", why.cause);
}

bool delivery_compose(const struct work *work, const struct delivery_batch *batch, size_t index, struct composer *composer,
                      struct bytes *ret_message, struct error *err)
{
    const struct delivery_recipients_row *row = &batch->recipients[index];
    struct composer_recipient recipient = {
        .email = row->email,
        .email_key = row->email_key,
        .ordinal = row->ordinal,
        .first_name = row->first_name,
        .last_name = row->last_name,
        .user_id = row->user_id,
        .fields = row->fields,
    };
    if (!open_payload(work, batch, index, &recipient.payload, err))
        return false;
    /* The date of the range, not of this attempt, so that composing again gives the same bytes. */
    return composer_write(composer, &recipient, message_token(work, batch, row->ordinal), row->date, ret_message, err);
}
