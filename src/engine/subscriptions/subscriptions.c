#include "engine/subscriptions/subscriptions.h"

#include "base/text.h"
#include "engine/events/recipient_events.h"
#include "sql/subscriptions.h"
#include "sql/suppress.h"

static struct bytes link_address_hash(const struct unsubscribe_link *link)
{
    return (struct bytes){ link->address_hash, sizeof(link->address_hash) };
}

bool subscription_find(const struct work *work, const struct unsubscribe_link *link, struct subscription *ret_subscription,
                       struct error *err)
{
    struct subscription_find_params params = {
        .brand_id = link->brand_id,
        .address_hash = link_address_hash(link),
        .now = work->now_us,
    };
    struct subscription_find_row *row;
    if (!sql_subscription_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_NOT_FOUND, "token", "The sender of this message no longer exists.");
    *ret_subscription = (struct subscription){
        .organization_id = row->organization_id,
        .brand_name = row->brand_name,
        .has_left = row->has_left,
    };
    return true;
}

bool subscription_leave_for(const struct work *work, const struct unsubscribe_link *link, const struct leave_reason *reason,
                            bool *ret_new, struct error *err)
{
    *ret_new = false;
    if (unsubscribe_link_is_test(link))
        return true;
    struct subscription_end_params end = {
        .brand_id = link->brand_id,
        .send_id = link->send_id,
        .ordinal = link->ordinal,
        .contact_id = link->contact_id,
        .now = work->now_us,
    };
    char hash[2 * SECRET_HASH_BYTES + 1];
    const char *hashes[] = { hash };
    const char *evidences[] = { reason->evidence };
    hex_encode(link->address_hash, sizeof(link->address_hash), hash);
    struct suppressions_add_params suppress = {
        .brand_id = link->brand_id,
        .address_hashes = { hashes, ARRAY_COUNT(hashes) },
        .reason = "unsubscribe",
        .source = reason->source,
        .evidences = { evidences, ARRAY_COUNT(evidences) },
        .now = work->now_us,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &subscription_end_statement, &end);
    db_batch_add(batch, &suppressions_add_statement, &suppress);
    struct recipient_event event = {
        .send_id = link->send_id,
        .ordinal = link->ordinal,
        .type = "unsubscribed",
        .at_us = reason->at_us,
        .summary = reason->summary,
    };
    struct work own = *work;
    own.brand_id = link->brand_id;
    if (!db_batch_run(batch, err))
        return false;
    return link->send_id == 0 || recipient_events_record(&own, &event, 1, ret_new, err);
}

bool subscription_leave(const struct work *work, const struct unsubscribe_link *link, struct error *err)
{
    const struct leave_reason reason = { .source = "link", .summary = "By the link in the message.", .at_us = work->now_us };
    bool is_new;
    return subscription_leave_for(work, link, &reason, &is_new, err);
}
