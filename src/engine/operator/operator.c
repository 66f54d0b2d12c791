#include "engine/operator/operator.h"

#include "base/text.h"
#include "engine/brands/brands.h"
#include "engine/ledger/plans.h"
#include "engine/operator/operator_audit.h"
#include "sql/operator.h"
#include "sql/work.h"

#include <string.h>

enum { NAME_MAX_CHARS = 200 };
static const int64_t bonus_max_credits = INT64_C(1000000000);

static bool check_display_name(const char *name, const char *param, struct error *err)
{
    return utf8_has_length(name, 1, NAME_MAX_CHARS) ||
           fail(err, ERR_INVALID_REQUEST, param, "The name must have 1 to %d characters.", NAME_MAX_CHARS);
}

/* ---- Organizations and brands ---- */

bool operator_find_organization(const struct work *work, const char *wire_id, int64_t *ret_id, struct error *err)
{
    *ret_id = wire_id != NULL ? id_decode(&work->engine->ids, ID_ORG, wire_id) : work->engine->default_organization_id;
    struct operator_organization_params params = { .id = *ret_id };
    struct operator_organization_row *row;
    if (!sql_operator_organization(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "org", "No organization with this id.");
}

bool operator_find_brand(const struct work *work, const char *wire_id, int64_t *ret_id, int64_t *ret_organization_id,
                         struct error *err)
{
    *ret_id = wire_id != NULL ? id_decode(&work->engine->ids, ID_BRAND, wire_id) : work->engine->default_brand_id;
    struct operator_brand_owner_params params = { .brand_id = *ret_id };
    struct operator_brand_owner_row *row;
    if (!sql_operator_brand_owner(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_BRAND_NOT_FOUND, "brand", "No brand with this id.");
    *ret_organization_id = row->organization_id;
    return true;
}

bool operator_create_organization(const struct work *work, const char *name, int64_t *ret_id, struct error *err)
{
    struct organization_insert_params params = { .name = name, .now = work->now_us };
    struct organization_insert_row *row;
    DB_TX tx = { .conn = NULL };
    if (!check_display_name(name, "name", err) || !db_tx_begin(work->conn, &tx, err) ||
        !sql_organization_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return operator_commit(work, &tx, "admin.org.create", work_id(work, ID_ORG, row->id), err);
}

bool operator_create_brand(const struct work *work, int64_t organization_id, const char *name, int64_t *ret_id, struct error *err)
{
    if (!check_display_name(name, "name", err) || !brand_check_name(work, &name, "name", err))
        return false;
    struct brand_insert_params params = {
        .organization_id = organization_id,
        .name = name,
        .identity = "{}",
        .sandbox_domain = work->engine->sandbox_domain,
        .now = work->now_us,
    };
    struct brand_insert_row *row;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !sql_brand_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return operator_commit(work, &tx, "admin.brand.create", work_id(work, ID_BRAND, row->id), err);
}

/* ---- Keys ---- */

bool operator_create_key(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                         const char **ret_secret, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && api_key_create(work, fields, ret_key, ret_secret, err) &&
           operator_commit(work, &tx, "admin.key.create", work_id(work, ID_KEY, (*ret_key)->id), err);
}

bool operator_revoke_key(const struct work *work, const char *wire_id, bool *ret_revoked, struct error *err)
{
    struct opt_int revoked_at;
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && api_key_revoke(work, wire_id, true, ret_revoked, &revoked_at, err) &&
           operator_commit(work, &tx, "admin.key.revoke", wire_id, err);
}

/* ---- Plans ---- */

bool operator_set_plan(const struct work *work, int64_t organization_id, const char *plan, struct error *err)
{
    if (strcmp(plan_find(plan)->key, plan) != 0)
        return fail(err, ERR_INVALID_REQUEST, "plan", "%.60s is not a plan; use one of: %s.", plan, plan_keys(work->arena));
    struct operator_plan_set_params params = { .id = organization_id, .plan = plan };
    struct operator_paused_sends_wake_params wake = { .organization_id = organization_id, .now = work->now_us };
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && sql_operator_plan_set(work->conn, work->arena, &params, NULL, err) &&
           sql_operator_paused_sends_wake(work->conn, work->arena, &wake, NULL, err) &&
           operator_commit(work, &tx, "admin.org.plan", work_id(work, ID_ORG, organization_id), err);
}

bool operator_set_bonus(const struct work *work, int64_t organization_id, int64_t credits, struct error *err)
{
    if (credits < 0 || credits > bonus_max_credits)
        return fail(err, ERR_INVALID_REQUEST, "credits", "Bonus credits must be from 0 to %lld.", (long long)bonus_max_credits);
    struct operator_bonus_set_params params = { .id = organization_id, .credits = credits };
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && sql_operator_bonus_set(work->conn, work->arena, &params, NULL, err) &&
           operator_commit(work, &tx, "admin.org.credits", work_id(work, ID_ORG, organization_id), err);
}

/* ---- Tracking ---- */

bool operator_set_tracking(const struct work *work, const char *tracking, struct error *err)
{
    if (strcmp(tracking, "off") != 0 && strcmp(tracking, "marketing") != 0 && strcmp(tracking, "all") != 0)
        return fail(err, ERR_INVALID_REQUEST, "tracking", "tracking must be off, marketing or all.");
    struct operator_tracking_set_params params = { work->organization_id, work->brand_id, tracking };
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && sql_operator_tracking_set(work->conn, work->arena, &params, NULL, err) &&
           operator_commit(work, &tx, "admin.brand.tracking", work_id(work, ID_BRAND, work->brand_id), err);
}

bool operator_find_tracking(const struct work *work, const char **ret_tracking, struct error *err)
{
    struct operator_tracking_find_params params = { work->organization_id, work->brand_id };
    struct operator_tracking_find_row *row;
    if (!sql_operator_tracking_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_BRAND_NOT_FOUND, "brand", "No brand with this id.");
    *ret_tracking = row->tracking;
    return true;
}

/* ---- Lists ---- */

bool operator_write_organizations(const struct work *work, struct json_writer *json, struct error *err)
{
    struct operator_organizations_row *rows;
    size_t count;
    if (!sql_operator_organizations(work->conn, work->arena, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "orgId", ID_ORG, rows[i].id);
        json_member_text(json, "name", rows[i].name);
        json_member_text(json, "plan", rows[i].plan);
        json_member_int(json, "bonusCredits", rows[i].bonus_credits);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

bool operator_write_brands(const struct work *work, int64_t organization_id, struct json_writer *json, struct error *err)
{
    struct operator_brands_params params = { .organization_id = organization_id };
    struct operator_brands_row *rows;
    size_t count;
    if (!sql_operator_brands(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "brandId", ID_BRAND, rows[i].id);
        json_member_text(json, "name", rows[i].name);
        json_member_text(json, "domain", rows[i].domain);
        json_member_text(json, "status", rows[i].status);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

bool operator_write_keys(const struct work *work, int64_t organization_id, struct json_writer *json, struct error *err)
{
    struct api_key_all_params params = { .organization_id = organization_id };
    struct api_key_row *rows;
    size_t count;
    if (!sql_api_key_all(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        api_key_write_members(work, &rows[i], json);
        json_key(json, "rateMultiplier");
        json_number(json, rows[i].rate_multiplier);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}
