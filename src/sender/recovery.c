/*
 * Recovery: what a process that is gone had in hand, told by its journal. A
 * message with a reply is settled as it was; one whose final dot went out
 * without a reply may have arrived; of all others nothing has happened, and
 * with the leases they are free again.
 */
#include "base/clock.h"
#include "base/log.h"
#include "sender/delivery_queue.h"

#include <string.h>

static const struct smtp_outcome unanswered = {
    .end = SMTP_UNCERTAIN,
    .stage = SMTP_STAGE_FINAL,
    .text = "The process ended before the final reply.",
};

static const struct journal_entry *find_entry(const struct journal_entry *entries, size_t count, int64_t ordinal)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].key.ordinal == ordinal)
            return &entries[i];
    return NULL;
}

/* Those of one send whose fate the database does not know yet. `from_ordinal` 0: as retries. */
static bool settle_some(struct sender *sender, struct db_conn *conn, const char *owner, const struct journal_entry *entries,
                        size_t count, int64_t from_ordinal, size_t *settled, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(sender, arena, conn);
    int64_t *ordinals = arena_array(arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++)
        ordinals[i] = entries[i].key.ordinal;
    struct delivery_batch batch = {
        .owner = owner,
        .brand_id = entries[0].key.brand_id,
        .send_id = entries[0].key.send_id,
        .from_ordinal = from_ordinal,
        .ordinals = ordinals,
        .ordinal_count = count,
        .is_part = true,
        .is_unsure = true,
    };
    if (!delivery_fetch(&work, &batch, err))
        return false;
    for (size_t i = 0; i < batch.count; i++) {
        const struct journal_entry *entry = find_entry(entries, count, batch.recipients[i].ordinal);
        const struct smtp_outcome *outcome = entry != NULL && entry->has_reply ? &entry->outcome : &unanswered;
        /* Of an earlier attempt, or its dot did not leave after all: nothing has happened. */
        bool is_past = entry == NULL || entry->key.attempts != batch.recipients[i].attempts;
        if (is_past || outcome->end == SMTP_NOT_SENT) {
            batch.results[i].outcome = DELIVERY_OPEN;
            continue;
        }
        batch.results[i] = retry_policy_result(&sender->config.retry_policy, &batch, i, outcome, work.now_us, 0.5, arena);
    }
    *settled += batch.count;
    return batch.count == 0 || delivery_settle(&work, &batch, err);
}

/* Where the range of a recipient begins: its row is the lock of what is settled in it. */
static int64_t range_of(int64_t ordinal)
{
    return (ordinal - 1) / DELIVERY_RANGE_SIZE * DELIVERY_RANGE_SIZE + 1;
}

static bool is_same_range(const struct journal_key *a, const struct journal_key *b)
{
    return a->brand_id == b->brand_id && a->send_id == b->send_id && range_of(a->ordinal) == range_of(b->ordinal);
}

static bool settle_send(struct sender *sender, struct db_conn *conn, const char *owner, const struct journal_entry *entries,
                        size_t count, size_t *settled, struct error *err)
{
    struct error why = { .code = ERR_NONE };
    if (settle_some(sender, conn, owner, entries, count, range_of(entries[0].key.ordinal), settled, &why) &&
        settle_some(sender, conn, owner, entries, count, 0, settled, &why))
        return true;
    /* A send whose design or brand is gone ends by itself; the others must not wait for it. */
    bool passes = !db_error_is_lost(&why) && !error_info(why.code)->retryable;
    if (passes)
        sender_log("sender.recover", &why);
    else
        *err = why;
    return passes;
}

static bool settle_all(struct sender *sender, struct db_conn *conn, const struct journal_remains *remains, size_t *settled,
                       struct error *err)
{
    for (size_t from = 0, to; from < remains->count; from = to) {
        const struct journal_key *first = &remains->entries[from].key;
        for (to = from + 1; to < remains->count && to - from < DELIVERY_RANGE_SIZE; to++)
            if (!is_same_range(&remains->entries[to].key, first))
                break;
        if (!settle_send(sender, conn, remains->owner, &remains->entries[from], to - from, settled, err))
            return false;
    }
    return true;
}

bool recover_one(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct journal_remains remains;
    journal_find_remains(&sender->place, arena, &remains);
    *ret_found = remains.lock_fd >= 0;
    if (!*ret_found)
        return true;
    size_t settled = 0;
    struct delivery_release_params release = { .owner = remains.owner };
    bool done = settle_all(sender, conn, &remains, &settled, err) && sql_delivery_release(conn, arena, &release, NULL, err);
    journal_discard(&remains, done);
    if (done)
        log_event(LOG_INFO, "sender.recovered", "The journal of %s was read: %zu messages, of which %zu were not settled.",
                  remains.owner, remains.count, settled);
    return done;
}
