/*
 * Recovery: settles what a process had under way when it ended, from its
 * journal.
 *
 *     a reply record              the result is what the relay replied
 *     a dot record without reply  the message is uncertain: it may have arrived
 *     no record                   nothing was sent
 *
 * The first two get a result or a retry. Then the leases of that process are
 * released, and with them all other recipients are free to be sent again.
 */
#include "base/log.h"
#include "sender/delivery_queue.h"
#include "sender/journal_reader.h"

#include <stdlib.h>

static const struct smtp_outcome no_reply = {
    .end = SMTP_UNCERTAIN,
    .stage = SMTP_STAGE_FINAL,
    .text = "The process ended before the final reply.",
};

/* Journal entries of one range of one send. */
struct range_entries {
    const char *owner; /* the ended process */
    const struct journal_entry *entries;
    size_t count;
};

static int compare_ordinal(const void *ordinal, const void *entry)
{
    const int64_t *left = ordinal;
    const struct journal_entry *right = entry;
    return (*left > right->key.ordinal) - (*left < right->key.ordinal);
}

static const struct journal_entry *find_entry(const struct range_entries *range, int64_t ordinal)
{
    return bsearch(&ordinal, range->entries, range->count, sizeof(*range->entries), compare_ordinal);
}

/* ---- One range ---- */

static struct delivery_batch make_recovery_batch(const struct range_entries *range, int64_t from_ordinal, struct arena *arena)
{
    int64_t *ordinals = arena_array(arena, range->count, sizeof(*ordinals));
    for (size_t i = 0; i < range->count; i++)
        ordinals[i] = range->entries[i].key.ordinal;
    return (struct delivery_batch){
        .owner = range->owner,
        .brand_id = range->entries[0].key.brand_id,
        .send_id = range->entries[0].key.send_id,
        .from_ordinal = from_ordinal,
        .ordinals = ordinals,
        .ordinal_count = range->count,
        .is_part = true,
        .is_unsure = true,
        .is_for_results = true,
    };
}

/* Decides the recipients for whom the database has no result yet. */
static void decide_from_journal(const struct sender *sender, const struct range_entries *range, struct delivery_batch *batch,
                                int64_t now_us, struct arena *arena)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct journal_entry *entry = find_entry(range, batch->recipients[i].ordinal);
        const struct smtp_outcome *outcome = entry != NULL && entry->has_reply ? &entry->outcome : &no_reply;
        /* An entry of an earlier attempt proves nothing of this one. After SMTP_NOT_SENT the dot did not leave. */
        bool is_of_attempt = entry != NULL && entry->key.attempts == batch->recipients[i].attempts;
        if (is_of_attempt && outcome->end != SMTP_NOT_SENT)
            batch->results[i] = retry_policy_result(&sender->config.retry_policy, batch, i, outcome, now_us, 0.5, arena);
        else
            batch->results[i].outcome = DELIVERY_OPEN;
    }
}

/* `from_ordinal` as in a batch: the start of the range, or 0 for its recipients that were retries. */
static bool write_recovered(struct sender *sender, struct db_conn *conn, const struct range_entries *range, int64_t from_ordinal,
                            size_t *written, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(sender, arena, conn);
    struct delivery_batch batch = make_recovery_batch(range, from_ordinal, arena);
    if (!delivery_fetch(&work, &batch, err))
        return false;
    decide_from_journal(sender, range, &batch, work.now_us, arena);
    *written += batch.count;
    return batch.count == 0 || delivery_settle(&work, &batch, err);
}

/* The first ordinal of the range that has this one. */
static int64_t range_start(int64_t ordinal)
{
    return (ordinal - 1) / DELIVERY_RANGE_SIZE * DELIVERY_RANGE_SIZE + 1;
}

static bool recover_range(struct sender *sender, struct db_conn *conn, const struct range_entries *range, size_t *written,
                          struct error *err)
{
    struct error why = { .code = ERR_NONE };
    int64_t start = range_start(range->entries[0].key.ordinal);
    if (write_recovered(sender, conn, range, start, written, &why) && write_recovered(sender, conn, range, 0, written, &why))
        return true;
    /* A send whose design or brand was deleted ends by itself. Other sends must not wait for it. */
    bool is_skipped = !db_error_is_lost(&why) && !error_info(why.code)->retryable;
    if (is_skipped)
        sender_log("sender.recover", &why);
    else
        *err = why;
    return is_skipped;
}

/* ---- One journal ---- */

static bool is_stopping(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    bool stopping = sender->is_stopping;
    pthread_mutex_unlock(&sender->mutex);
    return stopping;
}

/* What was written stays written when this ends early: the next recovery finds the results in the database. */
static bool recover_ranges(struct sender *sender, struct db_conn *conn, const char *owner, struct journal_reader *reader,
                           size_t *written, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct range_entries range = { .owner = owner };
    while (journal_reader_next(reader, arena, &range.entries, &range.count)) {
        if (is_stopping(sender))
            return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The sender stopped before the journal was read.");
        if (!recover_range(sender, conn, &range, written, err))
            return false;
        arena_reset(arena);
    }
    return true;
}

bool recover_journal(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct stale_journal stale;
    *ret_found = journal_find_stale(&sender->journal_location, arena, &stale);
    if (!*ret_found)
        return true;
    size_t written = 0;
    JOURNAL_READER_SCOPE reader = journal_reader_new(&stale, DELIVERY_RANGE_SIZE, JOURNAL_INDEX_RECORDS);
    struct delivery_release_params release = { .owner = stale.owner };
    bool done =
        recover_ranges(sender, conn, stale.owner, reader, &written, err) && sql_delivery_release(conn, arena, &release, NULL, err);
    journal_close_stale(&stale, done);
    if (done)
        log_event(LOG_INFO, "sender.recovered", "The journal of %s was read: %zu records; %zu messages had no result.", stale.owner,
                  journal_reader_figures(reader).records, written);
    return done;
}
