#include "engine/account/account.h"

#include "engine/brands/brands.h"
#include "engine/domains/domains.h"
#include "engine/ledger/plans.h"

enum { AUDIENCES_SHOWN = 20, DOMAINS_SHOWN = 20 };

bool account_usage(const struct work *work, struct usage_row **ret_usage, struct error *err)
{
    struct usage_read_params params = { .organization_id = work->organization_id, .now = work->now_us };
    if (!sql_usage_read(work->conn, work->arena, &params, ret_usage, err))
        return false;
    return *ret_usage != NULL || fail(err, ERR_INTERNAL_ERROR, NULL, "The organization of this credential no longer exists.");
}

/* Writes limit, used, remaining and, unless it is negative, reserved. A negative `limit` means unlimited; remaining is never
 * negative. */
static void write_balance(struct json_writer *json, const char *name, int64_t limit, int64_t used, struct opt_int remaining,
                          int64_t reserved)
{
    json_key(json, name);
    json_object_begin(json);
    json_key(json, "limit");
    if (limit >= 0)
        json_int(json, limit);
    else
        json_null_value(json);
    json_member_int(json, "used", used);
    json_key(json, "remaining");
    if (remaining.set)
        json_int(json, remaining.value > 0 ? remaining.value : 0);
    else
        json_null_value(json);
    if (reserved >= 0)
        json_member_int(json, "reserved", reserved);
    json_object_end(json);
}

void account_write_usage(const struct usage_row *usage, struct json_writer *json)
{
    const struct plan *plan = plan_find(usage->plan);
    struct opt_int sends_left = { .set = plan->email_sends >= 0, .value = plan->email_sends - usage->emails_sent };
    json_object_begin(json);
    json_key(json, "plan");
    json_object_begin(json);
    json_member_text(json, "key", plan->key);
    json_member_text(json, "name", plan->name);
    json_object_end(json);
    write_balance(json, "credits", plan->credits, usage->credits_used,
                  plan_credits_remaining(usage->plan, usage->bonus_credits, usage->credits_used + usage->credits_reserved),
                  usage->credits_reserved);
    write_balance(json, "emailSends", plan->email_sends, usage->emails_sent, sends_left, -1);
    json_key(json, "period");
    json_object_begin(json);
    json_member_time(json, "start", usage->period_start);
    json_member_time(json, "end", usage->period_end);
    json_object_end(json);
    json_object_end(json);
}

static void write_domains(const struct work *work, const struct db_rows *rows, struct json_writer *json)
{
    const struct domain_row *domains = rows->rows;
    json_key(json, "domains");
    json_array_begin(json);
    for (size_t i = 0; i < rows->count; i++)
        domain_write_summary(work, &domains[i], json);
    json_array_end(json);
}

static void write_audience_summaries(const struct work *work, const struct db_rows *rows, struct json_writer *json)
{
    const struct account_audiences_row *audiences = rows->rows;
    json_key(json, "audiences");
    json_array_begin(json);
    for (size_t i = 0; i < rows->count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "audienceId", ID_AUDIENCE, audiences[i].id);
        json_member_text(json, "name", audiences[i].name);
        json_member_raw(json, "filters", audiences[i].filters);
        json_member_time(json, "createdAt", audiences[i].created_at);
        json_member_time(json, "updatedAt", audiences[i].updated_at);
        json_object_end(json);
    }
    json_array_end(json);
}

bool account_write_facts(const struct work *work, struct json_writer *json, struct error *err)
{
    struct brand_find_params brand = { .organization_id = work->organization_id, .brand_id = work->brand_id };
    struct usage_read_params usage = { .organization_id = work->organization_id, .now = work->now_us };
    struct domain_page_params domains = { .brand_id = work->brand_id, .sendable_only = true, .limit = DOMAINS_SHOWN };
    struct account_audiences_params audiences = { .brand_id = work->brand_id, .limit = AUDIENCES_SHOWN };
    struct account_subscribed_params subscribed = { .brand_id = work->brand_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t brand_at = db_batch_add(batch, &brand_find_statement, &brand);
    size_t usage_at = db_batch_add(batch, &usage_read_statement, &usage);
    size_t domains_at = db_batch_add(batch, &domain_page_statement, &domains);
    size_t audiences_at = db_batch_add(batch, &account_audiences_statement, &audiences);
    size_t subscribed_at = db_batch_add(batch, &account_subscribed_statement, &subscribed);
    if (!db_batch_run(batch, err))
        return false;
    if (db_batch_rows(batch, brand_at)->count == 0 || db_batch_rows(batch, usage_at)->count == 0)
        return fail(err, ERR_BRAND_NOT_FOUND, NULL, "The brand of this connection no longer exists.");

    json_object_begin(json);
    json_member_text(json, "subject", "account");
    json_key(json, "brand");
    if (!brand_write(work, db_batch_rows(batch, brand_at)->rows, json, err))
        return false;
    json_key(json, "usage");
    account_write_usage(db_batch_rows(batch, usage_at)->rows, json);
    write_domains(work, db_batch_rows(batch, domains_at), json);
    write_audience_summaries(work, db_batch_rows(batch, audiences_at), json);
    const struct account_subscribed_row *count = db_batch_rows(batch, subscribed_at)->rows;
    json_member_int(json, "subscribedContacts", count->count);
    json_object_end(json);
    return true;
}

bool account_write_suppressions(const struct work *work, struct json_writer *json, struct error *err)
{
    struct account_suppressions_params params = { .brand_id = work->brand_id,
                                                  .most = SUPPRESSIONS_COUNTED + 1,
                                                  .now = work->now_us };
    struct account_suppressions_row *rows;
    size_t count;
    int64_t total = 0;
    if (!sql_account_suppressions(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_key(json, "data");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        total += rows[i].addresses;
        json_object_begin(json);
        json_member_text(json, "reason", rows[i].reason);
        json_member_int(json, "addresses", rows[i].addresses);
        if (rows[i].expiring > 0)
            json_member_int(json, "expiring", rows[i].expiring);
        json_object_end(json);
    }
    json_array_end(json);
    json_member_bool(json, "hasMore", total > SUPPRESSIONS_COUNTED);
    return true;
}
