#include "engine/domains/domains.h"

#include "base/text.h"
#include "engine/domains/records.h"
#include "mail/address.h"
#include "mail/header.h"

#include <string.h>

/* The names of DKIM records prefix the domain with "ph", a number, a letter and "._domainkey."; RFC 1035 §2.3.4 limits their size.
 */
enum { DKIM_PREFIX_MAX_BYTES = 2 + 19 + 1 + 12, DOMAIN_NAME_MAX_BYTES = ADDRESS_DOMAIN_MAX_BYTES - DKIM_PREFIX_MAX_BYTES };

static const char record_ttl[] = "3600"; /* seconds */

/* ---- Writing ---- */

bool domain_is_sandbox(const struct domain_row *domain)
{
    return strcmp(domain->kind, "sandbox") == 0;
}

bool domain_is_verified(const struct domain_row *domain)
{
    return strcmp(domain->status, "verified") == 0;
}

static void write_dns_record(const struct domain_record *record, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "record", record->purpose);
    json_member_text(json, "name", record->name);
    json_member_text(json, "type", record->type);
    json_member_text(json, "ttl", record_ttl);
    json_member_text(json, "status", record->is_published ? "verified" : "pending");
    json_member_text(json, "value", record->value);
    if (record->priority > 0)
        json_member_int(json, "priority", record->priority);
    json_object_end(json);
}

static void write_records(const struct work *work, const struct domain_row *domain, struct json_writer *json)
{
    struct domain_records records = domain_records_with_click(work, domain);
    json_key(json, "records");
    json_array_begin(json);
    for (size_t i = 0; i < records.count; i++)
        write_dns_record(&records.items[i], json);
    json_array_end(json);
}

static void write_domain(const struct work *work, const struct domain_row *domain, bool with_records, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "domainId", ID_DOMAIN, domain->id);
    json_member_text(json, "name", domain->name);
    json_member_text(json, "status", domain->status);
    json_member_bool(json, "sendable", domain_is_verified(domain));
    json_member_text(json, "sendingPurpose", domain->sending_purpose);
    if (with_records)
        write_records(work, domain, json);
    json_member_text_if(json, "defaultSenderName", domain->default_sender_name);
    json_member_text_if(json, "defaultFromEmail", domain->default_from_email);
    json_member_text_if(json, "defaultReplyToEmail", domain->default_reply_to);
    json_member_time(json, "createdAt", domain->created_at);
    json_member_time(json, "updatedAt", domain->updated_at);
    json_member_time_if(json, "verifiedAt", domain->verified_at);
    json_object_end(json);
}

void domain_write(const struct work *work, const struct domain_row *domain, struct json_writer *json)
{
    write_domain(work, domain, true, json);
}

void domain_write_summary(const struct work *work, const struct domain_row *domain, struct json_writer *json)
{
    write_domain(work, domain, false, json);
}

/* ---- Reading ---- */

/* Selects one domain. The id 0 is invalid and would select all; -1 never exists. */
static struct domain_page_params single_domain_params(const struct work *work, int64_t domain_id)
{
    return (struct domain_page_params){ .brand_id = work->brand_id, .only_id = domain_id != 0 ? domain_id : -1, .limit = 1 };
}

static bool take_domain_row(struct domain_row *domain, struct domain_row **ret_domain, struct error *err)
{
    *ret_domain = domain;
    return domain != NULL || fail(err, ERR_DOMAIN_NOT_FOUND, "domainId", "No domain with this id in this brand.");
}

static bool find_domain_row(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, struct error *err)
{
    struct domain_page_params params = single_domain_params(work, domain_id);
    struct domain_row *rows;
    struct db_page found;
    if (!sql_domain_page(work->conn, work->arena, &params, &rows, &found, err))
        return false;
    *ret_domain = found.count > 0 ? rows : NULL;
    return true;
}

bool domain_get(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, struct error *err)
{
    struct domain_row *domain;
    return find_domain_row(work, domain_id, &domain, err) && take_domain_row(domain, ret_domain, err);
}

/* ---- Connecting ---- */

bool domain_check_name(const struct work *work, const char *given, const char **ret_name, struct error *err)
{
    if (!address_domain_parse(work->arena, given, "name", ret_name, err))
        return false;
    if (strlen(*ret_name) > DOMAIN_NAME_MAX_BYTES)
        return fail(
            err, ERR_INVALID_REQUEST, "name",
            "The domain has more than %d bytes. The names of its DKIM records are up to %d bytes longer, and the DNS accepts %d.",
            DOMAIN_NAME_MAX_BYTES, DKIM_PREFIX_MAX_BYTES, ADDRESS_DOMAIN_MAX_BYTES);
    return strcmp(*ret_name, work->engine->sandbox_domain) != 0 ||
           fail(err, ERR_INVALID_REQUEST, "name", "%s is the sandbox domain, which every brand already has.", *ret_name);
}

bool domain_check_unclaimed(const struct work *work, const char *name, struct error *err)
{
    struct domain_claim_find_params params = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .name = name,
    };
    struct domain_claim_find_row *row;
    if (!sql_domain_claim_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    if (row->in_organization)
        return fail(err, ERR_DOMAIN_OTHER_BRAND, "name", "Another brand of this organization has verified %s.", name);
    return fail(err, ERR_DOMAIN_VERIFIED_ELSEWHERE, "name", "Another organization has verified %s.", name);
}

bool domain_insert(const struct work *work, const char *name, const char *purpose, const struct domain_key_pair *pair,
                   int64_t *ret_id, struct error *err)
{
    struct domain_insert_params params = {
        .brand_id = work->brand_id,
        .organization_id = work->organization_id,
        .name = name,
        .purpose = purpose,
        .now = work->now_us,
    };
    struct domain_insert_row *row;
    if (!sql_domain_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return domain_key_pair_keep(work, row->id, pair, true, err);
}

bool domain_connect(const struct work *work, const char *name, const char *purpose, struct domain_row **ret_domain,
                    struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct domain_key_pair *pair;
    const char *domain;
    int64_t id;
    return domain_check_name(work, name, &domain, err) && domain_key_pair_new(secrets, &pair, err) &&
           domain_check_unclaimed(work, domain, err) && domain_insert(work, domain, purpose, pair, &id, err) &&
           domain_get(work, id, ret_domain, err);
}

/* ---- Changing ---- */

static bool check_default_address(const struct work *work, struct opt_text *address, const char *param, const char *domain,
                                  struct error *err)
{
    struct address parsed;
    if (address->value == NULL)
        return true;
    if (!address_parse(work->arena, text_trim(work->arena, address->value), param, &parsed, err))
        return false;
    address->value = parsed.mailbox;
    return domain == NULL || strcmp(parsed.domain, domain) == 0 ||
           fail(err, ERR_INVALID_REQUEST, param, "The address must be at %s.", domain);
}

static bool check_sender_name(const struct work *work, struct opt_text *name, struct error *err)
{
    if (name->value == NULL)
        return true;
    name->value = text_trim(work->arena, name->value);
    if (name->value[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "defaultSenderName", "defaultSenderName must not be blank; pass null to clear it.");
    return header_check_text(name->value, "defaultSenderName", err);
}

bool domain_change(const struct work *work, int64_t domain_id, const struct domain_change *wanted, struct domain_row **ret_domain,
                   struct error *err)
{
    struct domain_change change = *wanted;
    struct domain_row *domain;
    if (!change.sender_name.set && !change.from_email.set && !change.reply_to.set && change.purpose == NULL)
        return fail(err, ERR_INVALID_REQUEST, "defaultFromEmail",
                    "Pass at least one of defaultSenderName, defaultFromEmail, defaultReplyToEmail and sendingPurpose.");
    if (!domain_get(work, domain_id, &domain, err) || !check_sender_name(work, &change.sender_name, err) ||
        !check_default_address(work, &change.from_email, "defaultFromEmail", domain->name, err) ||
        !check_default_address(work, &change.reply_to, "defaultReplyToEmail", NULL, err))
        return false;
    struct domain_update_params update = {
        .brand_id = work->brand_id,
        .id = domain_id,
        .sets_sender_name = change.sender_name.set,
        .sender_name = change.sender_name.value,
        .sets_from_email = change.from_email.set,
        .from_email = change.from_email.value,
        .sets_reply_to = change.reply_to.set,
        .reply_to = change.reply_to.value,
        .purpose = change.purpose,
        .now = work->now_us,
    };
    struct domain_page_params again = single_domain_params(work, domain_id);
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &domain_update_statement, &update);
    size_t at = db_batch_add(batch, &domain_page_statement, &again);
    if (!db_batch_run(batch, err))
        return false;
    return take_domain_row(db_batch_rows(batch, at)->count > 0 ? db_batch_rows(batch, at)->rows : NULL, ret_domain, err);
}

/* ---- Deleting ---- */

bool domain_delete(const struct work *work, int64_t domain_id, bool *ret_deleted, struct error *err)
{
    struct domain_delete_params params = { .brand_id = work->brand_id, .id = domain_id, .now = work->now_us };
    struct domain_row *domain;
    int64_t affected;
    *ret_deleted = false;
    if (!find_domain_row(work, domain_id, &domain, err))
        return false;
    if (domain == NULL)
        return true;
    if (domain_is_sandbox(domain))
        return fail(err, ERR_INVALID_REQUEST, "domainId", "The sandbox domain cannot be deleted.");
    if (!sql_domain_delete(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_deleted = affected > 0;
    return true;
}
