#include "engine/domains/check.h"

#include "db/advisory_locks.h"
#include "mail/dns_auth_records.h"

#include <string.h>
#include <strings.h>

enum { RETRY_AFTER_S = 30 };

bool domain_check_wanted(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, bool *ret_wanted,
                         struct error *err)
{
    if (!domain_get(work, domain_id, ret_domain, err))
        return false;
    const struct domain_row *domain = *ret_domain;
    *ret_wanted = !domain_is_sandbox(domain);
    return domain_is_verified(domain) || domain_check_unclaimed(work, domain->name, err);
}

bool domain_check_begin(const struct work *work, int64_t domain_id, struct domain_check *ret_check, struct error *err)
{
    struct domain_row *domain;
    if (!domain_get(work, domain_id, &domain, err))
        return false;
    bool lacks_keys = domain->selectors.count == 0 && !domain_is_sandbox(domain);
    if (lacks_keys && (!domain_keys_ensure(work, domain_id, err) || !domain_get(work, domain_id, &domain, err)))
        return false;
    struct domain_records records = domain_records_with_click(work, domain);
    *ret_check = (struct domain_check){
        .domain_id = domain_id,
        .queries = arena_array(work->arena, records.count, sizeof(struct domain_query)),
        .count = records.count,
    };
    for (size_t i = 0; i < records.count; i++)
        ret_check->queries[i] = (struct domain_query){ .record = &records.items[i] };
    return true;
}

/* ---- Evaluating the answers ---- */

/* The answer for a current record. Keys that were made after the query have no answer. */
static const struct domain_query *find_answer(const struct domain_check *check, const struct domain_record *record)
{
    for (size_t i = 0; i < check->count; i++) {
        const struct domain_record *asked = check->queries[i].record;
        if (strcmp(asked->name, record->name) == 0 && strcmp(asked->type, record->type) == 0)
            return check->queries[i].answer == DOMAIN_ANSWER_GIVEN ? &check->queries[i] : NULL;
    }
    return NULL;
}

bool domain_record_is_found(const struct domain_record *record, struct text_list found)
{
    if (record->key_kind != NULL)
        return dns_auth_has_dkim_key(found, record->key_kind, record->public_key);
    if (strcmp(record->type, "MX") == 0)
        return found.count > 0;
    if (strcmp(record->type, "CNAME") == 0)
        return found.count > 0 && strcasecmp(found.items[found.count - 1], record->value) == 0;
    return strcmp(record->purpose, "dmarc") == 0 ? dns_auth_has_dmarc(found) : dns_auth_has_spf(found);
}

/* The result of a check. */
struct check_outcome {
    struct text_list published;
    bool used_are_published;    /* every key in use is published */
    bool waiting_are_published; /* there are waiting keys, and all are published */
};

static bool fail_unanswered(const struct domain_row *domain, struct error *err)
{
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The DNS did not answer for every DKIM record of %s, so nothing was changed.",
                domain->name);
}

/* A process without a public URL does not look for the record of the click host. What another process found stays. */
static size_t keep_click_record(const struct work *work, const struct domain_row *domain, const char **ret_published)
{
    const char *key = arena_printf(work->arena, "CNAME click.%s", domain->name);
    size_t count = 0;
    for (size_t i = 0; i < domain->published.count && count == 0; i++)
        if (strcmp(domain->published.items[i], key) == 0)
            ret_published[count++] = key;
    return count;
}

static bool evaluate_answers(const struct work *work, const struct domain_check *check, const struct domain_row *domain,
                             struct check_outcome *ret_outcome, struct error *err)
{
    struct domain_records records = domain_records_with_click(work, domain);
    const char **published = arena_array(work->arena, records.count + 1, sizeof(*published));
    size_t count = 0;
    if (records.count == 0 || strcmp(records.items[records.count - 1].type, "CNAME") != 0)
        count = keep_click_record(work, domain, published);
    size_t used[2] = { 0, 0 }; /* number of keys, number of published keys */
    size_t waiting[2] = { 0, 0 };
    for (size_t i = 0; i < records.count; i++) {
        const struct domain_record *record = &records.items[i];
        const struct domain_query *query = find_answer(check, record);
        if (query == NULL && record->state == DOMAIN_RECORD_USED)
            return fail_unanswered(domain, err);
        /* A record without an answer keeps its state. It does not count as found, so no key is activated by it. */
        bool is_found = query != NULL && domain_record_is_found(record, query->found);
        if (is_found || (query == NULL && record->is_published))
            published[count++] = domain_record_key(work->arena, record);
        size_t *group = record->state == DOMAIN_RECORD_USED ? used : waiting;
        if (record->state != DOMAIN_RECORD_SUGGESTED) {
            group[0]++;
            group[1] += is_found;
        }
    }
    *ret_outcome = (struct check_outcome){
        .published = { published, count },
        .used_are_published = used[0] > 0 && used[0] == used[1],
        .waiting_are_published = waiting[0] > 0 && waiting[0] == waiting[1],
    };
    return true;
}

/* Locks the name, then checks that no other brand has verified it meanwhile. */
static bool lock_unclaimed_name(const struct work *work, const char *name, struct error *err)
{
    struct domain_name_lock_params params = { .lock = ADVISORY_LOCK_DOMAIN_NAME, .name = name };
    return sql_domain_name_lock(work->conn, work->arena, &params, NULL, err) && domain_check_unclaimed(work, name, err);
}

bool domain_check_settle(const struct work *work, const struct domain_check *check, struct domain_row **ret_domain,
                         struct error *err)
{
    struct domain_key_counts ignored;
    struct domain_row *domain;
    struct check_outcome outcome;
    if (!domain_keys_lock(work, check->domain_id, &ignored, err) || !domain_get(work, check->domain_id, &domain, err) ||
        !evaluate_answers(work, check, domain, &outcome, err))
        return false;
    bool is_proven = outcome.used_are_published || outcome.waiting_are_published;
    bool was_verified = domain_is_verified(domain);
    if (is_proven && !was_verified && !lock_unclaimed_name(work, domain->name, err))
        return false;
    if (outcome.waiting_are_published && !domain_keys_exchange(work, check->domain_id, err))
        return false;
    struct domain_checked_params params = {
        .brand_id = work->brand_id,
        .id = check->domain_id,
        .status = is_proven || (was_verified && domain->trusted) ? "verified" : "pending",
        .published = outcome.published,
        .now = work->now_us,
    };
    return sql_domain_checked(work->conn, work->arena, &params, NULL, err) && domain_get(work, check->domain_id, ret_domain, err);
}
