/*
 * Settling: writes the outcomes of a batch in two round trips, for any number
 * of recipients. The first locks the range or the retries and finds recipients
 * that another process has settled. The second writes and commits. Two more in
 * between lock the bounced recipients and find those that a report has counted.
 */
#include "engine/delivery/delivery.h"

#include "base/clock.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/suppressions/suppress.h"
#include "sql/payloads.h"
#include "sql/run_starts.h"
#include "sql/suppress.h"

#include <string.h>

/* The texts in send_results. DELIVERY_LATER has no result. */
static const char *const outcome_names[DELIVERY_LATER + 1] = {
    [DELIVERY_DELIVERED] = "delivered", [DELIVERY_BOUNCED] = "bounced", [DELIVERY_SKIPPED] = "skipped",
    [DELIVERY_FAILED] = "failed",       [DELIVERY_HELD] = "held",
};
static const char captured[] = "Captured in the outbox; simulated, nothing left this server.";

/* The columns of one kind of rows, as arrays for unnest. */
struct result_columns {
    size_t count;
    int64_t *ordinals;
    const char **emails;
    const char **keys;
    const char **sources;
    const char **outcomes;
    const char **reasons;
    const char **replies;
    const char **relays;
    const char **summaries;
    int64_t *attempts;
    int64_t *first_us;
    int64_t *due_us;
    bool *uncertain;
};

/* Address hashes in hexadecimal, each with its reply. */
struct bounce_columns {
    size_t count;
    const char **hashes;
    const char **replies;
};

struct settlement {
    struct result_columns decided; /* send_results */
    struct result_columns later;   /* send_retries */
    struct result_columns delivered;
    struct result_columns bounced;
    struct bounce_columns hard; /* addresses to suppress */
    struct bounce_columns full; /* addresses to suppress for a time */
    int64_t *doubled;           /* recipients of this batch whose result another process has written */
    size_t doubled_count;
    int64_t *message_ids; /* of a carrier: the messages with a result */
    size_t message_count;
    int64_t *payload_ids; /* that they do not read any more */
    size_t payload_count;
    int64_t counts[DELIVERY_LATER + 1];
    int64_t reported; /* of the bounced: a report has recorded and counted the bounce before */
    bool any_open;
};

static struct result_columns result_columns_new(struct arena *arena, size_t capacity)
{
    return (struct result_columns){
        .ordinals = arena_array(arena, capacity, sizeof(int64_t)),
        .emails = arena_array(arena, capacity, sizeof(char *)),
        .keys = arena_array(arena, capacity, sizeof(char *)),
        .sources = arena_array(arena, capacity, sizeof(char *)),
        .outcomes = arena_array(arena, capacity, sizeof(char *)),
        .reasons = arena_array(arena, capacity, sizeof(char *)),
        .replies = arena_array(arena, capacity, sizeof(char *)),
        .relays = arena_array(arena, capacity, sizeof(char *)),
        .summaries = arena_array(arena, capacity, sizeof(char *)),
        .attempts = arena_array(arena, capacity, sizeof(int64_t)),
        .first_us = arena_array(arena, capacity, sizeof(int64_t)),
        .due_us = arena_array(arena, capacity, sizeof(int64_t)),
        .uncertain = arena_array(arena, capacity, sizeof(bool)),
    };
}

static void result_columns_add(struct result_columns *columns, const struct work *work,
                               const struct delivery_recipients_row *recipient, const struct delivery_result *result,
                               const char *summary)
{
    size_t at = columns->count++;
    columns->ordinals[at] = recipient->ordinal;
    columns->emails[at] = recipient->email;
    columns->keys[at] = recipient->email_key;
    columns->sources[at] = recipient->source;
    columns->outcomes[at] = outcome_names[result->outcome];
    columns->reasons[at] = result->reason;
    columns->replies[at] = result->reply;
    columns->relays[at] = result->relay;
    columns->summaries[at] = summary;
    columns->attempts[at] = result->attempts;
    columns->first_us[at] = recipient->first_at.set ? recipient->first_at.value : work->now_us;
    columns->due_us[at] = result->due_us;
    columns->uncertain[at] = result->uncertain;
}

static struct bounce_columns bounce_columns_new(struct arena *arena, size_t capacity)
{
    return (struct bounce_columns){ 0, arena_array(arena, capacity, sizeof(char *)), arena_array(arena, capacity, sizeof(char *)) };
}

static void bounce_columns_add(struct bounce_columns *bounces, const struct work *work, const char *email_key, const char *reply)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char *hex = arena_alloc(work->arena, 2 * sizeof(hash) + 1);
    address_hash(work->engine->address_key, email_key, hash);
    hex_encode(hash, sizeof(hash), hex);
    bounces->hashes[bounces->count] = hex;
    bounces->replies[bounces->count++] = reply;
}

static void gather_message(struct settlement *all, const struct delivery_batch *batch, size_t index)
{
    const struct carrier_messages_row *message = batch->messages != NULL ? &batch->messages[index] : NULL;
    if (message != NULL && message->id.set)
        all->message_ids[all->message_count++] = message->id.value;
    if (message != NULL && message->payload_id.set)
        all->payload_ids[all->payload_count++] = message->payload_id.value;
}

static void gather_result(struct settlement *all, const struct work *work, const struct delivery_batch *batch, size_t index,
                          bool is_reported)
{
    const struct delivery_recipients_row *recipient = &batch->recipients[index];
    const struct delivery_result *result = &batch->results[index];
    all->counts[result->outcome]++;
    if (result->outcome == DELIVERY_LATER) {
        result_columns_add(&all->later, work, recipient, result, NULL);
        return;
    }
    result_columns_add(&all->decided, work, recipient, result, NULL);
    gather_message(all, batch, index);
    if (result->outcome == DELIVERY_DELIVERED)
        result_columns_add(&all->delivered, work, recipient, result, batch->send->is_sandbox ? captured : NULL);
    if (result->outcome != DELIVERY_BOUNCED)
        return;
    if (is_reported)
        all->reported++;
    else
        result_columns_add(&all->bounced, work, recipient, result, result->reply);
    if (text_equal(result->reason, "hard"))
        bounce_columns_add(&all->hard, work, recipient->email_key, result->reply);
    else if (result->mailbox_full)
        bounce_columns_add(&all->full, work, recipient->email_key, result->reply);
}

/* ---- Ownership ---- */

static int64_t last_ordinal(const struct delivery_batch *batch)
{
    return batch->ordinals[batch->ordinal_count - 1];
}

/* Marks recipients that another process has settled, or whose retry is leased to another process. They are not written. */
static bool find_foreign(const struct work *work, const struct delivery_batch *batch, bool *ret_foreign, struct error *err)
{
    struct int_list ordinals = { batch->ordinals, batch->ordinal_count };
    if (batch->from_ordinal > 0) {
        struct delivery_hold_ranges_params hold = { batch->brand_id, batch->send_id, batch->from_ordinal, last_ordinal(batch) };
        struct delivery_hold_ranges_row *held;
        size_t held_count;
        if (!sql_delivery_hold_ranges(work->conn, work->arena, &hold, &held, &held_count, err))
            return false;
        if (held_count == 1 && text_equal(held->lease_owner, batch->owner) && !batch->is_unsure)
            return true;
        struct delivery_foreign_results_params known = { batch->brand_id, batch->send_id, ordinals };
        struct delivery_foreign_results_row *rows;
        size_t count;
        if (!sql_delivery_foreign_results(work->conn, work->arena, &known, &rows, &count, err))
            return false;
        for (size_t i = 0; i < batch->count; i++)
            for (size_t j = 0; j < count; j++)
                ret_foreign[i] |= rows[j].ordinal == batch->recipients[i].ordinal;
        return true;
    }
    struct delivery_hold_retries_params hold = { batch->brand_id, batch->send_id, ordinals, batch->owner };
    struct delivery_hold_retries_row *rows;
    size_t count;
    if (!sql_delivery_hold_retries(work->conn, work->arena, &hold, &rows, &count, err))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        ret_foreign[i] = true;
        for (size_t j = 0; j < count; j++)
            ret_foreign[i] &= rows[j].ordinal != batch->recipients[i].ordinal || rows[j].attempts != batch->recipients[i].attempts;
    }
    return true;
}

/* Marks recipients whose bounce a report has recorded before: it does not count again. */
static bool find_reported(const struct work *work, const struct delivery_batch *batch, bool *ret_reported, struct error *err)
{
    int64_t *ordinals = arena_array(work->arena, batch->count + 1, sizeof(*ordinals));
    struct delivery_reported_bounces_params bounced = { batch->brand_id, batch->send_id, { ordinals, 0 } };
    struct delivery_reported_bounces_row *rows;
    size_t count;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->results[i].outcome == DELIVERY_BOUNCED)
            ordinals[bounced.ordinals.count++] = batch->recipients[i].ordinal;
    if (bounced.ordinals.count == 0)
        return true;
    struct delivery_lock_bounced_params lock = { batch->brand_id, batch->send_id, bounced.ordinals };
    if (!sql_delivery_lock_bounced(work->conn, work->arena, &lock, NULL, err) ||
        !sql_delivery_reported_bounces(work->conn, work->arena, &bounced, &rows, &count, err))
        return false;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < count; j++)
            ret_reported[i] |= rows[j].ordinal == batch->recipients[i].ordinal;
    return true;
}

/* Whether a foreign result is of another copy: without an abandoned lease it is the result of this process, whose commit was not
 * confirmed. */
static bool may_be_doubled(const struct delivery_batch *batch, size_t index)
{
    enum delivery_outcome outcome = batch->results[index].outcome;
    return batch->is_abandoned && (outcome == DELIVERY_DELIVERED || outcome == DELIVERY_HELD || outcome == DELIVERY_LATER);
}

static struct settlement gather_results(const struct work *work, const struct delivery_batch *batch, const bool *foreign,
                                        const bool *reported)
{
    size_t capacity = batch->count + 1;
    struct settlement all = {
        .decided = result_columns_new(work->arena, capacity),
        .later = result_columns_new(work->arena, capacity),
        .delivered = result_columns_new(work->arena, capacity),
        .bounced = result_columns_new(work->arena, capacity),
        .hard = bounce_columns_new(work->arena, capacity),
        .full = bounce_columns_new(work->arena, capacity),
        .doubled = arena_array(work->arena, capacity, sizeof(int64_t)),
        .message_ids = arena_array(work->arena, capacity, sizeof(int64_t)),
        .payload_ids = arena_array(work->arena, capacity, sizeof(int64_t)),
    };
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->results[i].outcome == DELIVERY_OPEN)
            all.any_open = true;
        else if (!batch->results[i].is_settled && !foreign[i])
            gather_result(&all, work, batch, i, reported[i]);
        else if (!batch->results[i].is_settled && may_be_doubled(batch, i))
            all.doubled[all.doubled_count++] = batch->recipients[i].ordinal;
    }
    return all;
}

/* ---- Writing ---- */

static void add_results(const struct delivery_batch *batch, const struct work *work, const struct result_columns *rows,
                        struct db_batch *statements)
{
    struct delivery_results_params results = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .ordinals = { rows->ordinals, rows->count },
        .outcomes = { rows->outcomes, rows->count },
        .reasons = { rows->reasons, rows->count },
        .replies = { rows->replies, rows->count },
        .relays = { rows->relays, rows->count },
        .attempts = { rows->attempts, rows->count },
        .uncertain = { rows->uncertain, rows->count },
        .at = work->now_us,
    };
    if (rows->count > 0)
        db_batch_add(statements, &delivery_results_statement, &results);
}

static void add_retries(const struct delivery_batch *batch, const struct settlement *all, struct db_batch *statements)
{
    const struct result_columns *rows = &all->later;
    struct delivery_put_off_params later = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .ordinals = { rows->ordinals, rows->count },
        .attempts = { rows->attempts, rows->count },
        .first_ats = { rows->first_us, rows->count },
        .due_ats = { rows->due_us, rows->count },
        .replies = { rows->replies, rows->count },
        .relays = { rows->relays, rows->count },
        .uncertain = { rows->uncertain, rows->count },
        .is_carrier = batch->is_carrier,
    };
    struct delivery_delete_finished_retries_params retried = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .ordinals = { batch->ordinals, batch->ordinal_count },
    };
    if (rows->count > 0)
        db_batch_add(statements, &delivery_put_off_statement, &later);
    if (batch->from_ordinal == 0)
        db_batch_add(statements, &delivery_delete_finished_retries_statement, &retried);
}

/* The same events of a carrier: each names the message of the run. */
static void add_message_events(const struct delivery_events_params *events, const struct result_columns *rows,
                               struct db_batch *statements)
{
    struct carrier_events_params params = {
        .brand_id = events->brand_id,
        .carrier_id = events->send_id,
        .email_id = events->email_id,
        .types = events->types,
        .ordinals = { rows->ordinals, rows->count },
        .emails = events->emails,
        .keys = events->keys,
        .summaries = events->summaries,
        .at = events->at,
    };
    db_batch_add(statements, &carrier_events_statement, &params);
}

static void add_events(const struct delivery_batch *batch, const struct work *work, const struct result_columns *rows,
                       struct text_list types, struct db_batch *statements)
{
    struct delivery_events_params events = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .email_id = batch->send->email_id,
        .types = types,
        .emails = { rows->emails, rows->count },
        .keys = { rows->keys, rows->count },
        .summaries = { rows->summaries, rows->count },
        .at = work->now_us,
    };
    struct delivery_activity_params activity = {
        .brand_id = batch->brand_id,
        .type = types.items[0],
        .keys = { rows->keys, rows->count },
        .at = work->now_us,
    };
    if (rows->count == 0)
        return;
    if (batch->is_carrier)
        add_message_events(&events, rows, statements);
    else
        db_batch_add(statements, &delivery_events_statement, &events);
    db_batch_add(statements, &delivery_activity_statement, &activity);
}

/* Adds the counts by receiving domain and source. */
static void add_rollups(const struct delivery_batch *batch, const struct work *work, const struct settlement *all,
                        struct db_batch *statements)
{
    size_t count = all->delivered.count + all->bounced.count;
    const char **types = arena_array(work->arena, count + 1, sizeof(*types));
    const char **keys = arena_array(work->arena, count + 1, sizeof(*keys));
    const char **sources = arena_array(work->arena, count + 1, sizeof(*sources));
    for (size_t i = 0; i < count; i++) {
        bool is_delivered = i < all->delivered.count;
        const struct result_columns *rows = is_delivered ? &all->delivered : &all->bounced;
        size_t at = is_delivered ? i : i - all->delivered.count;
        types[i] = rows->outcomes[at];
        keys[i] = rows->keys[at];
        sources[i] = rows->sources[at];
    }
    struct delivery_rollups_params rollups = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .node_id = batch->send->node_id,
        .types = { types, count },
        .keys = { keys, count },
        .sources = { sources, count },
        .at = work->now_us,
    };
    if (count > 0)
        db_batch_add(statements, &delivery_rollups_statement, &rollups);
}

static void add_suppressions(const struct delivery_batch *batch, const struct work *work, const struct bounce_columns *bounces,
                             struct opt_int expires_us, struct db_batch *statements)
{
    struct suppressions_add_params suppress = {
        .brand_id = batch->brand_id,
        .address_hashes = { bounces->hashes, bounces->count },
        .reason = "bounce",
        .source = "result",
        .evidences = { bounces->replies, bounces->count },
        .expires_at = expires_us,
        .now = work->now_us,
    };
    if (bounces->count > 0)
        db_batch_add(statements, &suppressions_add_statement, &suppress);
}

/* Wakes the runs that wait for these messages. The lock keeps steppers from letting a run begin to wait for one of them meanwhile.
 */
static void add_wakes(const struct work *work, const struct delivery_batch *batch, struct int_list message_ids,
                      struct db_batch *statements)
{
    struct run_lock_messages_params lock = { .lock = ADVISORY_LOCK_RUN_MESSAGES, .message_ids = message_ids };
    struct run_wake_by_messages_params wake = { .brand_id = batch->brand_id, .message_ids = message_ids, .now = work->now_us };
    db_batch_add(statements, &run_lock_messages_statement, &lock);
    db_batch_add(statements, &run_wake_by_messages_statement, &wake);
    struct run_notify_brand_params notify = { batch->brand_id };
    db_batch_add(statements, &run_notify_brand_statement, &notify);
}

/* Of a carrier: wakes the runs that wait for the messages with a result, and records the results with them. */
static void add_messages(const struct delivery_batch *batch, const struct work *work, const struct settlement *all,
                         struct db_batch *statements)
{
    const struct result_columns *rows = &all->decided;
    struct carrier_settle_params settle = {
        .brand_id = batch->brand_id,
        .carrier_id = batch->send_id,
        .ordinals = { rows->ordinals, rows->count },
        .outcomes = { rows->outcomes, rows->count },
    };
    if (all->message_count == 0)
        return;
    add_wakes(work, batch, (struct int_list){ all->message_ids, all->message_count }, statements);
    db_batch_add(statements, &carrier_settle_statement, &settle);
}

/* The payloads are erased in the end: steppers lock them behind the usage, too. */
static void add_erasure(const struct delivery_batch *batch, const struct settlement *all, struct db_batch *statements)
{
    struct payload_erase_params erase = { .brand_id = batch->brand_id, .ids = { all->payload_ids, all->payload_count } };
    if (all->payload_count > 0)
        db_batch_add(statements, &payload_erase_statement, &erase);
}

/* Adds the statistics, the rollups, the messages and the allowance. */
static void add_counts(const struct delivery_batch *batch, const struct work *work, const struct settlement *all,
                       struct db_batch *statements)
{
    struct delivery_count_params counts = {
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .delivered = all->counts[DELIVERY_DELIVERED],
        .bounced = all->counts[DELIVERY_BOUNCED] - all->reported,
        .reported = all->reported,
        .skipped = all->counts[DELIVERY_SKIPPED],
        .failed = all->counts[DELIVERY_FAILED],
        .held = all->counts[DELIVERY_HELD],
        .at = work->now_us,
    };
    struct delivery_correct_usage_params usage = {
        .organization_id = batch->organization_id,
        .brand_id = batch->brand_id,
        .send_id = batch->send_id,
        .mailed = counts.delivered + counts.bounced + counts.reported + counts.held,
        .unmailed = counts.skipped + counts.failed,
        .at = work->now_us,
    };
    /* Locks the statistics row until the commit, so that the last of several processes sees that no recipient is open. */
    db_batch_add(statements, &delivery_count_statement, &counts);
    add_rollups(batch, work, all, statements);
    add_messages(batch, work, all, statements);
    if (usage.mailed + usage.unmailed > 0)
        db_batch_add(statements, &delivery_correct_usage_statement, &usage);
    add_erasure(batch, all, statements);
}

static bool write_results_and_commit(const struct work *work, struct delivery_batch *batch, const struct settlement *all,
                                     struct db_tx *tx, struct error *err)
{
    static const char *const delivered[] = { "sent", "delivered" };
    static const char *const bounced[] = { "bounced" };
    struct db_batch *statements = db_batch_new(work->conn, work->arena);
    add_results(batch, work, &all->decided, statements);
    add_retries(batch, all, statements);
    /* Before the activity of contacts, as a report writes them. */
    add_suppressions(batch, work, &all->hard, (struct opt_int){ 0 }, statements);
    add_suppressions(batch, work, &all->full, suppression_mailbox_full_end(work->now_us), statements);
    add_events(batch, work, &all->delivered, (struct text_list){ delivered, ARRAY_COUNT(delivered) }, statements);
    add_events(batch, work, &all->bounced, (struct text_list){ bounced, ARRAY_COUNT(bounced) }, statements);
    struct delivery_mark_doubled_params doubled = { batch->brand_id, batch->send_id, { all->doubled, all->doubled_count } };
    if (all->doubled_count > 0)
        db_batch_add(statements, &delivery_mark_doubled_statement, &doubled);
    if (!all->any_open && !batch->is_part && batch->from_ordinal > 0) {
        struct delivery_close_range_params close = { batch->brand_id, batch->send_id, batch->from_ordinal, batch->owner };
        db_batch_add(statements, &delivery_close_range_statement, &close);
    }
    add_counts(batch, work, all, statements);
    struct delivery_complete_params complete = { .brand_id = batch->brand_id, .id = batch->send_id, .now = work->now_us };
    if (!all->any_open)
        db_batch_add(statements, &delivery_complete_statement, &complete);
    return db_batch_run_commit(statements, tx, err);
}

bool delivery_settle(const struct work *work, struct delivery_batch *batch, struct error *err)
{
    bool *foreign = arena_array(work->arena, batch->count + 1, sizeof(*foreign));
    bool *reported = arena_array(work->arena, batch->count + 1, sizeof(*reported));
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !find_foreign(work, batch, foreign, err) ||
        !find_reported(work, batch, reported, err))
        return false;
    struct settlement all = gather_results(work, batch, foreign, reported);
    if (!write_results_and_commit(work, batch, &all, &tx, err)) {
        batch->is_unsure = true; /* the commit may have succeeded */
        return false;
    }
    for (size_t i = 0; i < batch->count; i++)
        batch->results[i].is_settled |= batch->results[i].outcome != DELIVERY_OPEN;
    return true;
}
