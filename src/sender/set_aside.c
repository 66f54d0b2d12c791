#include "sender/delivery_queue.h"

/* `from_ordinal` as in a batch: the first ordinal, or 0 for the recipients that are retries. */
static bool fail_recipients(struct sender *sender, struct db_conn *conn, const struct set_aside *aside, int64_t from_ordinal,
                            struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = sender_work(sender, arena, conn);
    struct delivery_batch batch = {
        .owner = aside->owner,
        .brand_id = aside->brand_id,
        .send_id = aside->send_id,
        .from_ordinal = from_ordinal,
        .ordinals = aside->ordinals.items,
        .ordinal_count = aside->ordinals.count,
        .is_part = true,
        .is_unsure = true,
        .is_for_results = true,
    };
    if (!delivery_fetch(&work, &batch, err))
        return false;
    for (size_t i = 0; i < batch.count; i++) {
        if (batch.results[i].outcome != DELIVERY_OPEN)
            continue;
        batch.results[i].outcome = DELIVERY_FAILED;
        batch.results[i].reason = aside->reason;
        batch.results[i].attempts++;
    }
    return batch.count == 0 || delivery_settle(&work, &batch, err);
}

bool set_aside_recipients(struct sender *sender, struct db_conn *conn, const struct set_aside *aside, struct error *err)
{
    return fail_recipients(sender, conn, aside, aside->ordinals.items[0], err) && fail_recipients(sender, conn, aside, 0, err);
}
