#include "engine/operator/operator.h"

#include "engine/domains/check.h"
#include "engine/operator/operator_audit.h"
#include "mail/address.h"
#include "sql/operator.h"

#include <string.h>

enum { ZONE_LINE_MAX_BYTES = 4096 };

/* A copy of the work for another brand. */
static struct work work_for_brand(const struct work *work, int64_t brand_id)
{
    struct work brand_work = *work;
    brand_work.brand_id = brand_id;
    return brand_work;
}

static bool find_domain_by_name(const struct work *work, const char *name, struct operator_domain_find_row **ret_domain,
                                struct error *err)
{
    const char *domain;
    if (!address_domain_parse(work->arena, name, "name", &domain, err))
        return false;
    struct operator_domain_find_params params = { .brand_id = work->brand_id, .name = domain };
    if (!sql_operator_domain_find(work->conn, work->arena, &params, ret_domain, err))
        return false;
    return *ret_domain != NULL || fail(err, ERR_DOMAIN_NOT_FOUND, "name", "No sending domain with this name in this brand.");
}

/* ---- Connecting ---- */

bool operator_create_domain(const struct work *work, int64_t brand_id, int64_t organization_id, const char *name,
                            const char *purpose, int64_t *ret_id, struct error *err)
{
    if (strcmp(purpose, "marketing") != 0 && strcmp(purpose, "transactional") != 0)
        return fail(err, ERR_INVALID_REQUEST, "purpose", "purpose must be marketing or transactional.");
    struct work brand_work = work_for_brand(work, brand_id);
    brand_work.organization_id = organization_id;
    const char *domain;
    struct domain_key_pair *pair;
    DB_TX tx = { .conn = NULL };
    return domain_check_name(work, name, &domain, err) && domain_key_pair_new(work->arena, &pair, err) &&
           db_tx_begin(work->conn, &tx, err) && domain_insert(&brand_work, domain, purpose, pair, ret_id, err) &&
           operator_commit(work, &tx, "admin.domain.create", work_id(work, ID_DOMAIN, *ret_id), err);
}

bool operator_trust_domain(const struct work *work, int64_t brand_id, const char *name, int64_t *ret_id, struct error *err)
{
    const char *domain;
    if (!address_domain_parse(work->arena, name, "name", &domain, err))
        return false;
    struct operator_domain_trust_params params = { .brand_id = brand_id, .name = domain, .now = work->now_us };
    struct operator_domain_trust_row *row;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !sql_operator_domain_trust(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_DOMAIN_NOT_FOUND, "name", "No sending domain with this name in this brand.");
    *ret_id = row->id;
    return operator_commit(work, &tx, "admin.domain.verify", work_id(work, ID_DOMAIN, row->id), err);
}

bool operator_begin_check(const struct work *work, int64_t brand_id, const char *name, struct domain_check *ret_check,
                          struct error *err)
{
    struct work brand_work = work_for_brand(work, brand_id);
    struct operator_domain_find_row *domain;
    return find_domain_by_name(&brand_work, name, &domain, err) && domain_check_begin(&brand_work, domain->id, ret_check, err);
}

bool operator_settle_check(const struct work *work, int64_t brand_id, int64_t organization_id, const struct domain_check *check,
                           struct error *err)
{
    struct work brand_work = work_for_brand(work, brand_id);
    brand_work.organization_id = organization_id;
    struct domain_row *domain;
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && domain_check_settle(&brand_work, check, &domain, err) &&
           operator_commit(work, &tx, "admin.domain.verify", work_id(work, ID_DOMAIN, domain->id), err);
}

/* ---- Keys ---- */

static bool begin_rotation(const struct work *work, int64_t domain_id, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct domain_key_pair *pair;
    struct domain_key_counts counts;
    DB_TX tx = { .conn = NULL };
    if (!domain_key_pair_new(secrets, &pair, err) || !db_tx_begin(work->conn, &tx, err) ||
        !domain_keys_lock(work, domain_id, &counts, err))
        return false;
    if (counts.waiting > 0)
        return true;
    /* Without keys in use, the new pair is used at once. */
    if (!domain_key_pair_keep(work, domain_id, pair, counts.used == 0, err))
        return false;
    return operator_commit(work, &tx, "admin.domain.rotate", work_id(work, ID_DOMAIN, domain_id), err);
}

static bool end_rotation(const struct work *work, int64_t domain_id, struct error *err)
{
    struct domain_key_counts counts;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !domain_keys_lock(work, domain_id, &counts, err))
        return false;
    if (counts.waiting == 0)
        return fail(err, ERR_INVALID_REQUEST, "trust", "This domain has no waiting keys; run rotate without --trust to make them.");
    return domain_keys_exchange(work, domain_id, err) &&
           operator_commit(work, &tx, "admin.domain.rotate.trust", work_id(work, ID_DOMAIN, domain_id), err);
}

bool operator_rotate_domain(const struct work *work, int64_t brand_id, const char *name, bool is_published, struct error *err)
{
    struct work brand_work = work_for_brand(work, brand_id);
    struct operator_domain_find_row *domain;
    if (!find_domain_by_name(&brand_work, name, &domain, err))
        return false;
    return is_published ? end_rotation(&brand_work, domain->id, err) : begin_rotation(&brand_work, domain->id, err);
}

/* ---- Records ---- */

/* Writes a record as a line of a zone file (RFC 1035 §5.1). */
static void write_zone_line(const struct work *work, const struct domain_record *record, const struct text_list *strings,
                            struct json_writer *json)
{
    struct buf *line = buf_in_arena(work->arena, (size_t)ZONE_LINE_MAX_BYTES);
    buf_printf(line, "%s. 3600 IN TXT (", record->name);
    for (size_t i = 0; i < strings->count; i++)
        buf_printf(line, " \"%s\"", strings->items[i]);
    buf_add_text(line, " )");
    json_member_text(json, "zone", buf_text(line));
}

static void write_record_with_zone(const struct work *work, const struct domain_record *record, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "record", record->purpose);
    json_member_text(json, "state", domain_record_state_name(record->state));
    json_member_bool(json, "published", record->is_published);
    json_member_text(json, "name", record->name);
    json_member_text(json, "type", record->type);
    json_member_text(json, "value", record->value);
    if (record->priority > 0)
        json_member_int(json, "priority", record->priority);
    if (strcmp(record->type, "TXT") == 0) {
        struct text_list strings = domain_txt_strings(work->arena, record->value);
        json_member_texts(json, "strings", strings);
        write_zone_line(work, record, &strings, json);
    }
    json_member_text_if(json, "note", record->note);
    json_object_end(json);
}

bool operator_write_domain(const struct work *work, int64_t brand_id, const char *name, struct json_writer *json, struct error *err)
{
    struct work brand_work = work_for_brand(work, brand_id);
    struct operator_domain_find_row *found;
    struct domain_row *domain;
    if (!find_domain_by_name(&brand_work, name, &found, err) ||
        (found->used_keys == 0 && !domain_keys_ensure(&brand_work, found->id, err)) ||
        !domain_get(&brand_work, found->id, &domain, err))
        return false;
    struct domain_records records = domain_records_with_click(work, domain);
    json_object_begin(json);
    json_member_id(json, work, "domainId", ID_DOMAIN, domain->id);
    json_member_text(json, "name", domain->name);
    json_member_text(json, "status", domain->status);
    json_key(json, "records");
    json_array_begin(json);
    for (size_t i = 0; i < records.count; i++)
        write_record_with_zone(work, &records.items[i], json);
    json_array_end(json);
    json_object_end(json);
    return true;
}

bool operator_write_domains(const struct work *work, int64_t brand_id, struct json_writer *json, struct error *err)
{
    struct operator_domains_params params = { .brand_id = brand_id };
    struct operator_domains_row *rows;
    size_t count;
    if (!sql_operator_domains(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "domainId", ID_DOMAIN, rows[i].id);
        json_member_text(json, "name", rows[i].name);
        json_member_text(json, "kind", rows[i].kind);
        json_member_text(json, "status", rows[i].status);
        json_member_bool(json, "trusted", rows[i].trusted);
        json_member_text(json, "sendingPurpose", rows[i].purpose);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}
