#include "engine/sends/delivery.h"

#include "base/text.h"
#include "engine/sends/sends.h"

#include <string.h>

static const char captured[] = "Captured in the outbox; simulated, nothing left this server.";

static const char *const outcome_names[] = {
    [DELIVERY_DELIVERED] = "delivered", [DELIVERY_SKIPPED] = "skipped", [DELIVERY_FAILED] = "failed"
};

/* ---- Outside a transaction ---- */

bool delivery_open(const struct work *work, int64_t send_id, int64_t job_id, struct delivery *ret_delivery, struct error *err)
{
    struct delivery_send_params find = { .brand_id = work->brand_id, .id = send_id };
    struct delivery_take_range_params take = {
        .brand_id = work->brand_id, .send_id = send_id, .job_id = job_id, .now = work->now_us
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t found = db_batch_add(batch, &delivery_send_statement, &find);
    size_t taken = db_batch_add(batch, &delivery_take_range_statement, &take);
    if (!db_batch_run(batch, err))
        return false;
    *ret_delivery = (struct delivery){
        .send_id = send_id,
        .job_id = job_id,
        .send = db_batch_rows(batch, found)->rows,
        .range = db_batch_rows(batch, taken)->rows,
    };
    return true;
}

bool delivery_is_due(const struct delivery *delivery)
{
    if (delivery->send == NULL)
        return false;
    const char *status = delivery->send->status;
    return strcmp(status, "queued") == 0 || strcmp(status, "scheduled") == 0 || strcmp(status, "paused") == 0;
}

static bool make_composer(const struct work *work, struct delivery *delivery, struct error *err)
{
    const struct delivery_send_row *send = delivery->send;
    struct composer_design design = {
        .subject_code = send->subject_code,
        .html_code = send->html_code,
        .text_code = send->text_code,
        .from_address = send->from_address,
        .sender_name = send->sender_name,
        .reply_to = send->reply_to,
        .domain = send->domain,
        .brand_name = send->brand_name,
        .bulk = true,
    };
    return composer_new(work, &design, &delivery->composer, err);
}

static void skip(struct delivery_result *result, const char *reason)
{
    *result = (struct delivery_result){ DELIVERY_SKIPPED, reason };
}

/* Consent is what it is now, not what it was when the send began. */
static void skip_unsubscribed(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->count; i++) {
        const struct delivery_recipients_row *recipient = &delivery->recipients[i];
        if (recipient->was_contact && !recipient->contact_id.set)
            skip(&delivery->results[i], "contact deleted");
        else if (recipient->contact_id.set && !recipient->subscribed.value)
            skip(&delivery->results[i], "unsubscribed");
    }
}

static bool skip_suppressed(const struct work *work, struct delivery *delivery, struct error *err)
{
    if (!delivery->send->any_suppressed)
        return true;
    const char **hashes = arena_array(work->arena, delivery->count, sizeof(*hashes));
    for (size_t i = 0; i < delivery->count; i++) {
        unsigned char hash[SECRET_HASH_BYTES];
        char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
        address_hash(work->engine->address_key, delivery->recipients[i].email_key, hash);
        hex_encode(hash, sizeof(hash), hex);
        hashes[i] = hex;
    }
    struct delivery_suppressed_params params = { .brand_id = work->brand_id, .hashes = { hashes, delivery->count } };
    struct delivery_suppressed_row *rows;
    size_t row_count;
    if (!sql_delivery_suppressed(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; j < delivery->count; j++)
            if (strcmp(rows[i].hash, hashes[j]) == 0)
                skip(&delivery->results[j], "suppressed");
    return true;
}

bool delivery_fetch(const struct work *work, struct delivery *delivery, struct error *err)
{
    if (!make_composer(work, delivery, err))
        return false;
    struct delivery_recipients_params params = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .from_ordinal = delivery->range->next_ordinal,
        .to_ordinal = delivery->range->to_ordinal,
        .fields = composer_fields(delivery->composer),
    };
    struct delivery_recipients_row *recipients;
    if (!sql_delivery_recipients(work->conn, work->arena, &params, &recipients, &delivery->count, err))
        return false;
    delivery->recipients = recipients;
    delivery->results = arena_array(work->arena, delivery->count, sizeof(*delivery->results));
    skip_unsubscribed(delivery);
    return skip_suppressed(work, delivery, err);
}

char *delivery_message_name(const struct work *work, const struct delivery *delivery, size_t index, struct arena *arena)
{
    return arena_printf(arena, "%s.%lld", id_text(&work->engine->ids, arena, ID_SEND, delivery->send_id),
                        (long long)delivery->recipients[index].ordinal);
}

/* Carries brand, send and recipient under a keyed tag, so that a bounce can be traced and none can be forged. */
static char *message_token(const struct work *work, const struct delivery *delivery, int64_t ordinal)
{
    const int64_t payload[] = { work->brand_id, delivery->send_id, ordinal };
    return token_seal(work->arena, work->engine->token_key, "message", payload, sizeof(payload));
}

bool delivery_compose(const struct work *work, struct delivery *delivery, size_t index, struct bytes *ret_message,
                      struct error *err)
{
    const struct delivery_recipients_row *row = &delivery->recipients[index];
    struct composer_recipient recipient = {
        .email = row->email,
        .email_key = row->email_key,
        .first_name = row->first_name,
        .last_name = row->last_name,
        .user_id = row->user_id,
        .fields = row->fields,
    };
    /* The date of the range, not of this attempt: composing again gives the same bytes. */
    return composer_write(delivery->composer, &recipient, message_token(work, delivery, row->ordinal), delivery->range->started_at,
                          ret_message, err);
}

/* ---- Beginning ---- */

/* The allowance is measured under a lock, so that two sends do not both take what is left. */
static bool has_room(const struct work *work, const struct delivery *delivery, bool *ret_has_room, struct error *err)
{
    struct opt_int room;
    *ret_has_room = true;
    if (!send_room(work, &room, err))
        return false;
    if (!room.set)
        return true;

    struct delivery_allowance_lock_params lock = { .organization_id = work->organization_id };
    struct send_all_count_params all = { .brand_id = work->brand_id };
    struct send_all_count_row *counted;
    if (!sql_delivery_allowance_lock(work->conn, work->arena, &lock, NULL, err) || !send_room(work, &room, err) ||
        !sql_send_all_count(work->conn, work->arena, &all, &counted, err))
        return false;
    bool is_inline = delivery->send->inline_keys.items != NULL;
    *ret_has_room = (is_inline ? (int64_t)delivery->send->inline_keys.count : counted->count) <= room.value;
    return true;
}

static bool expand(const struct work *work, const struct delivery *delivery, const struct delivery_begin_row *begun,
                   int64_t *ret_count, struct error *err)
{
    if (begun->inline_to.items == NULL) {
        struct delivery_expand_all_params params = {
            .brand_id = work->brand_id,
            .send_id = delivery->send_id,
            .range_size = DELIVERY_RANGE_SIZE,
        };
        struct delivery_expand_all_row *row;
        if (!sql_delivery_take_time(work->conn, work->arena, NULL, err) ||
            !sql_delivery_expand_all(work->conn, work->arena, &params, &row, err))
            return false;
        *ret_count = row->count;
        return true;
    }
    struct delivery_expand_inline_params params = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .range_size = DELIVERY_RANGE_SIZE,
        .emails = begun->inline_to,
        .keys = begun->inline_keys,
    };
    struct delivery_expand_inline_row *row;
    if (!sql_delivery_expand_inline(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_count = row->count;
    return true;
}

static bool complete_when_done(const struct work *work, int64_t send_id, struct error *err)
{
    struct delivery_complete_params params = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct delivery_complete_row *ignored;
    return sql_delivery_complete(work->conn, work->arena, &params, &ignored, err);
}

bool delivery_begin(const struct work *work, const struct delivery *delivery, enum delivery_next *ret_next, int64_t *ret_ranges,
                    struct error *err)
{
    *ret_next = DELIVERY_ENDED;
    *ret_ranges = 0;
    bool room;
    if (!has_room(work, delivery, &room, err))
        return false;
    if (!room) {
        struct delivery_pause_for_plan_params pause = { .brand_id = work->brand_id, .id = delivery->send_id, .now = work->now_us };
        *ret_next = DELIVERY_WAITS;
        return sql_delivery_pause_for_plan(work->conn, work->arena, &pause, NULL, err);
    }

    struct delivery_begin_params begin = { .brand_id = work->brand_id, .id = delivery->send_id, .now = work->now_us };
    struct delivery_begin_row *begun;
    if (!sql_delivery_begin(work->conn, work->arena, &begin, &begun, err))
        return false;
    if (begun == NULL) /* canceled meanwhile */
        return true;
    int64_t count;
    if (!expand(work, delivery, begun, &count, err))
        return false;
    if (count == 0)
        return complete_when_done(work, delivery->send_id, err);
    *ret_next = DELIVERY_GOES_ON;
    *ret_ranges = (count + DELIVERY_RANGE_SIZE - 1) / DELIVERY_RANGE_SIZE;
    struct delivery_count_usage_params usage = { .organization_id = work->organization_id, .at = work->now_us, .count = count };
    return sql_delivery_count_usage(work->conn, work->arena, &usage, NULL, err);
}

/* ---- Settling a range ---- */

static bool advance(const struct work *work, const struct delivery *delivery, bool *ret_advanced, struct error *err)
{
    struct delivery_advance_params params = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .from_ordinal = delivery->range->from_ordinal,
        .job_id = delivery->job_id,
        .next_ordinal = delivery->range->next_ordinal,
        .new_next_ordinal = delivery->range->to_ordinal + 1,
    };
    struct delivery_advance_row *row;
    if (!sql_delivery_advance(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_advanced = row != NULL;
    return true;
}

/* The columns of send_results and events, gathered from the round. */
struct gathered {
    int64_t *ordinals;
    const char **outcomes;
    const char **reasons;
    const char **emails;
    const char **keys;
    int64_t counts[ARRAY_COUNT(outcome_names)];
};

static struct gathered gather(const struct work *work, const struct delivery *delivery)
{
    size_t count = delivery->count;
    struct gathered all = {
        .ordinals = arena_array(work->arena, count, sizeof(*all.ordinals)),
        .outcomes = arena_array(work->arena, count, sizeof(*all.outcomes)),
        .reasons = arena_array(work->arena, count, sizeof(*all.reasons)),
        .emails = arena_array(work->arena, count, sizeof(*all.emails)),
        .keys = arena_array(work->arena, count, sizeof(*all.keys)),
    };
    for (size_t i = 0; i < count; i++) {
        const struct delivery_result *result = &delivery->results[i];
        const struct delivery_recipients_row *recipient = &delivery->recipients[i];
        all.ordinals[i] = recipient->ordinal;
        all.outcomes[i] = outcome_names[result->outcome];
        all.reasons[i] = result->reason;
        if (result->outcome == DELIVERY_DELIVERED) {
            all.emails[all.counts[DELIVERY_DELIVERED]] = recipient->email;
            all.keys[all.counts[DELIVERY_DELIVERED]] = recipient->email_key;
        }
        all.counts[result->outcome]++;
    }
    return all;
}

static void add_results(const struct work *work, const struct delivery *delivery, const struct gathered *all,
                        struct db_batch *batch)
{
    size_t delivered = (size_t)all->counts[DELIVERY_DELIVERED];
    struct delivery_results_params results = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .ordinals = { all->ordinals, delivery->count },
        .outcomes = { all->outcomes, delivery->count },
        .reasons = { all->reasons, delivery->count },
        .at = work->now_us,
    };
    struct delivery_events_params events = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .email_id = delivery->send->email_id,
        .emails = { all->emails, delivered },
        .keys = { all->keys, delivered },
        .at = work->now_us,
        .summary = captured,
    };
    struct delivery_count_params counts = {
        .brand_id = work->brand_id,
        .send_id = delivery->send_id,
        .delivered = all->counts[DELIVERY_DELIVERED],
        .skipped = all->counts[DELIVERY_SKIPPED],
        .failed = all->counts[DELIVERY_FAILED],
        .at = work->now_us,
    };
    db_batch_add(batch, &delivery_results_statement, &results);
    db_batch_add(batch, &delivery_events_statement, &events);
    db_batch_add(batch, &delivery_count_statement, &counts);
}

/* Whoever was not mailed costs no allowance. */
static void add_usage_back(const struct work *work, const struct delivery *delivery, const struct gathered *all,
                           struct db_batch *batch)
{
    int64_t unused = all->counts[DELIVERY_SKIPPED] + all->counts[DELIVERY_FAILED];
    if (unused == 0)
        return;
    struct delivery_count_usage_params usage = {
        .organization_id = work->organization_id,
        .at = delivery->send->started_at.value,
        .count = -unused,
    };
    db_batch_add(batch, &delivery_count_usage_statement, &usage);
}

bool delivery_settle(const struct work *work, const struct delivery *delivery, enum delivery_next *ret_next, struct error *err)
{
    *ret_next = DELIVERY_ENDED;
    if (delivery->send == NULL || strcmp(delivery->send->status, "running") != 0)
        return true;
    /* Other jobs may still work on their ranges; the last of them ends the send. */
    if (delivery->range == NULL)
        return complete_when_done(work, delivery->send_id, err);

    bool advanced;
    *ret_next = DELIVERY_GOES_ON;
    if (!advance(work, delivery, &advanced, err))
        return false;
    if (!advanced)
        return true;
    struct gathered all = gather(work, delivery);
    struct delivery_complete_params complete = { .brand_id = work->brand_id, .id = delivery->send_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    add_results(work, delivery, &all, batch);
    add_usage_back(work, delivery, &all, batch);
    size_t completed = db_batch_add(batch, &delivery_complete_statement, &complete);
    if (!db_batch_run(batch, err))
        return false;
    if (db_batch_rows(batch, completed)->count > 0)
        *ret_next = DELIVERY_ENDED;
    return true;
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
