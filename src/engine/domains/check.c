#include "engine/domains/check.h"

#include "mail/dns_auth_records.h"

#include <string.h>

enum { RETRY_AFTER_S = 30 };

bool domain_check_wanted(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, bool *ret_wanted,
                         struct error *err)
{
    if (!domain_get(work, domain_id, ret_domain, err))
        return false;
    const struct domain_row *domain = *ret_domain;
    *ret_wanted = !domain_is_sandbox(domain);
    return domain_is_verified(domain) || domain_check_elsewhere(work, domain->name, err);
}

bool domain_check_begin(const struct work *work, int64_t domain_id, struct domain_check *ret_check, struct error *err)
{
    struct domain_row *domain;
    if (!domain_get(work, domain_id, &domain, err))
        return false;
    bool lacks_keys = domain->selectors.count == 0 && !domain_is_sandbox(domain);
    if (lacks_keys && (!domain_keys_ensure(work, domain_id, err) || !domain_get(work, domain_id, &domain, err)))
        return false;
    struct domain_records records = domain_records_of(work->arena, domain);
    *ret_check = (struct domain_check){
        .domain_id = domain_id,
        .looks = arena_array(work->arena, records.count, sizeof(struct domain_look)),
        .count = records.count,
    };
    for (size_t i = 0; i < records.count; i++)
        ret_check->looks[i] = (struct domain_look){ .record = &records.items[i] };
    return true;
}

/* ---- What the answers mean ---- */

/* Of a record as it is now. Keys may have come since the DNS was asked; about them it said nothing. */
static const struct domain_look *look_for(const struct domain_check *check, const struct domain_record *record)
{
    for (size_t i = 0; i < check->count; i++) {
        const struct domain_record *asked = check->looks[i].record;
        if (strcmp(asked->name, record->name) == 0 && strcmp(asked->type, record->type) == 0)
            return check->looks[i].answer == DOMAIN_ANSWER_GIVEN ? &check->looks[i] : NULL;
    }
    return NULL;
}

static bool is_there(const struct domain_record *record, struct text_list found)
{
    if (record->key_kind != NULL)
        return dns_auth_has_dkim_key(found, record->key_kind, record->public_key);
    if (strcmp(record->type, "MX") == 0)
        return found.count > 0;
    return strcmp(record->purpose, "dmarc") == 0 ? dns_auth_has_dmarc(found) : dns_auth_has_spf(found);
}

/* What is known of a domain after a look. */
struct outcome {
    struct text_list published;
    bool used_are_there;    /* every key in use */
    bool waiting_are_there; /* there are waiting keys, and all of them */
};

static bool unanswered(const struct domain_row *domain, struct error *err)
{
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The DNS did not tell of every DKIM record of %s, so nothing was changed.",
                domain->name);
}

static bool judge(const struct work *work, const struct domain_check *check, const struct domain_row *domain,
                  struct outcome *ret_outcome, struct error *err)
{
    struct domain_records records = domain_records_of(work->arena, domain);
    const char **published = arena_array(work->arena, records.count, sizeof(*published));
    size_t count = 0;
    size_t used[2] = { 0, 0 }; /* all of them, those that are there */
    size_t waiting[2] = { 0, 0 };
    for (size_t i = 0; i < records.count; i++) {
        const struct domain_record *record = &records.items[i];
        const struct domain_look *look = look_for(check, record);
        if (look == NULL && record->state == DOMAIN_RECORD_USED)
            return unanswered(domain, err);
        /* What the DNS said nothing about is as it was, but for that no key is taken into use. */
        bool is_found = look != NULL && is_there(record, look->found);
        if (is_found || (look == NULL && record->is_published))
            published[count++] = domain_record_place(work->arena, record);
        size_t *group = record->state == DOMAIN_RECORD_USED ? used : waiting;
        if (record->state != DOMAIN_RECORD_SUGGESTED) {
            group[0]++;
            group[1] += is_found;
        }
    }
    *ret_outcome = (struct outcome){
        .published = { published, count },
        .used_are_there = used[0] > 0 && used[0] == used[1],
        .waiting_are_there = waiting[0] > 0 && waiting[0] == waiting[1],
    };
    return true;
}

/* Whoever comes second learns whose the name is by now. */
static bool may_prove(const struct work *work, const char *name, struct error *err)
{
    struct domain_name_lock_params params = { .name = name };
    return sql_domain_name_lock(work->conn, work->arena, &params, NULL, err) && domain_check_elsewhere(work, name, err);
}

bool domain_check_settle(const struct work *work, const struct domain_check *check, struct domain_row **ret_domain,
                         struct error *err)
{
    struct domain_key_counts ignored;
    struct domain_row *domain;
    struct outcome outcome;
    if (!domain_keys_lock(work, check->domain_id, &ignored, err) || !domain_get(work, check->domain_id, &domain, err) ||
        !judge(work, check, domain, &outcome, err))
        return false;
    bool is_proven = outcome.used_are_there || outcome.waiting_are_there;
    bool was_verified = domain_is_verified(domain);
    if (is_proven && !was_verified && !may_prove(work, domain->name, err))
        return false;
    if (outcome.waiting_are_there && !domain_keys_exchange(work, check->domain_id, err))
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
