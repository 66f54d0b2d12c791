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
 *
 * The crash slots of that process count a crash for what it worked on. Work with
 * CRASHES_MAX crashes is set aside.
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

/* Journal entries of one part of one send: at most DELIVERY_RANGE_SIZE ordinals, which may belong to several ranges. */
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

/* `from_ordinal` as in a batch: the first ordinal, or 0 for the recipients that were retries. */
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

/* A send whose design or brand was deleted ends by itself. Other sends must not wait for it. */
static bool is_skipped_range(const struct error *why, struct error *err)
{
    bool is_skipped = !db_error_is_lost(why) && !error_info(why->code)->retryable;
    if (is_skipped)
        sender_log("sender.recover", why);
    else
        *err = *why;
    return is_skipped;
}

static bool recover_range(struct sender *sender, struct db_conn *conn, const struct range_entries *range, size_t *written,
                          struct error *err)
{
    struct error why = { .code = ERR_NONE };
    int64_t start = range->entries[0].key.ordinal;
    return (write_recovered(sender, conn, range, start, written, &why) && write_recovered(sender, conn, range, 0, written, &why)) ||
           is_skipped_range(&why, err);
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

/* ---- Crashes ---- */

static struct delivery_count_crashes_params crash_params(const struct crash_slot *slots, size_t count, struct arena *arena)
{
    int64_t *brands = arena_array(arena, count, sizeof(*brands));
    int64_t *sends = arena_array(arena, count, sizeof(*sends));
    int64_t *ordinals = arena_array(arena, count, sizeof(*ordinals));
    bool *ranges = arena_array(arena, count, sizeof(*ranges));
    for (size_t i = 0; i < count; i++) {
        brands[i] = slots[i].brand_id;
        sends[i] = slots[i].send_id;
        ordinals[i] = slots[i].ordinal;
        ranges[i] = slots[i].kind == CRASH_SLOT_RANGE;
    }
    return (struct delivery_count_crashes_params){
        .brand_ids = { brands, count },
        .send_ids = { sends, count },
        .ordinals = { ordinals, count },
        .are_ranges = { ranges, count },
        .now = clock_now_us(),
    };
}

static bool set_aside_crash(struct sender *sender, struct db_conn *conn, const char *owner,
                            const struct delivery_count_crashes_row *crash, struct error *err)
{
    int64_t ordinals[DELIVERY_RANGE_SIZE];
    int64_t last = crash->is_range ? crash->to_ordinal : crash->ordinal;
    size_t count = 0;
    for (int64_t ordinal = crash->ordinal; ordinal <= last && count < DELIVERY_RANGE_SIZE; ordinal++)
        ordinals[count++] = ordinal;
    struct set_aside aside = {
        .owner = owner,
        .brand_id = crash->brand_id,
        .send_id = crash->send_id,
        .ordinals = { ordinals, count },
        .reason = crash->is_range ? "the sender ended three times while it read the recipients of this range"
                                  : "the sender ended three times while it composed this message",
    };
    struct error why = { .code = ERR_NONE };
    log_event(LOG_ERROR, "sender.set_aside", "Send %lld, recipient %lld: %s.", (long long)crash->send_id, (long long)crash->ordinal,
              aside.reason);
    return set_aside_recipients(sender, conn, &aside, &why) || is_skipped_range(&why, err);
}

/* Counts a crash for everything in the slots of the ended process. */
static bool count_crashes(struct sender *sender, struct db_conn *conn, const char *owner, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    const struct crash_slot *slots;
    size_t count = crash_slots_read(sender->journal_location.data_dir, owner, arena, &slots);
    struct delivery_count_crashes_params params = crash_params(slots, count, arena);
    struct delivery_count_crashes_row *rows;
    size_t row_count = 0;
    if (count > 0 && !sql_delivery_count_crashes(conn, arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].crashes >= CRASHES_MAX && !set_aside_crash(sender, conn, owner, &rows[i], err))
            return false;
    return true;
}

/* An owner of a stale journal that has no database session any more; NULL without one. Its leases are all there now. The journal of
 * the others stays, so that their work is left to recovery meanwhile. */
static bool find_ended_owner(struct sender *sender, struct db_conn *conn, struct arena *arena, const char **ret_owner,
                             struct error *err)
{
    struct delivery_end_sessions_params params = { journal_stale_owners(&sender->journal_location, arena) };
    struct delivery_end_sessions_row *rows;
    size_t count = 0;
    if (params.owners.count > 0 && !sql_delivery_end_sessions(conn, arena, &params, &rows, &count, err))
        return false;
    *ret_owner = count > 0 ? rows[0].owner : NULL;
    return true;
}

bool recover_journal(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct stale_journal stale;
    const char *owner;
    *ret_found = false;
    if (!find_ended_owner(sender, conn, arena, &owner, err))
        return false;
    *ret_found = owner != NULL && journal_open_stale(&sender->journal_location, owner, arena, &stale);
    if (!*ret_found)
        return true;
    size_t written = 0;
    JOURNAL_READER_SCOPE reader = journal_reader_new(&stale, DELIVERY_RANGE_SIZE, JOURNAL_INDEX_RECORDS);
    struct delivery_release_params release = { .owner = stale.owner };
    bool done = recover_ranges(sender, conn, stale.owner, reader, &written, err) && count_crashes(sender, conn, stale.owner, err) &&
                sql_delivery_release(conn, arena, &release, NULL, err);
    if (done)
        crash_slots_remove(sender->journal_location.data_dir, stale.owner);
    journal_close_stale(&stale, done);
    if (done)
        log_event(LOG_INFO, "sender.recovered", "The journal of %s was read: %zu records; %zu messages had no result.", stale.owner,
                  journal_reader_figures(reader).records, written);
    return done;
}
