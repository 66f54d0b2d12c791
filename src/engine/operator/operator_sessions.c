#include "engine/operator/operator.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/operator/operator_audit.h"
#include "sql/operator.h"

#include <string.h>

enum { USER_NAME_MAX_CHARS = 200, BRANDS_MAX = 100, LASTS_MAX_DAYS = 366 };

static const struct {
    const char *name; /* on the command line */
    const char *role; /* in the contract */
} roles[] = { { "admin", "org:admin" }, { "member", "org:member" } };

static const char *role_from_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(roles); i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return NULL;
}

static bool check_session(const struct operator_session *session, struct error *err)
{
    if (!utf8_has_length(session->user_name, 1, USER_NAME_MAX_CHARS))
        return fail(err, ERR_INVALID_REQUEST, "name", "The name must have 1 to %d characters.", USER_NAME_MAX_CHARS);
    const char *role = role_from_name(session->role);
    if (role == NULL)
        return fail(err, ERR_INVALID_REQUEST, "role", "The role must be admin or member.");
    if (session->lasts_s < 1 || session->lasts_s > LASTS_MAX_DAYS * INT64_C(86400))
        return fail(err, ERR_INVALID_REQUEST, "expires", "A session must last from 1 second to %d days.", LASTS_MAX_DAYS);
    /* A list of brands restricts a session, but an administrator has access to all brands. */
    if (session->brand_ids != NULL && session->brand_ids[0] != NULL && strcmp(session->role, "member") != 0)
        return fail(err, ERR_INVALID_REQUEST, "brand",
                    "An administrator has access to every brand; pass brands only for a member.");
    return true;
}

static bool add_session_brands(const struct work *work, const struct operator_session *session, int64_t session_id,
                               struct error *err)
{
    int64_t ids[BRANDS_MAX];
    size_t count = 0;
    for (; session->brand_ids != NULL && session->brand_ids[count] != NULL; count++) {
        if (count == BRANDS_MAX)
            return fail(err, ERR_INVALID_REQUEST, "brand", "A session can have at most %d brands.", BRANDS_MAX);
        ids[count] = id_decode(&work->engine->ids, ID_BRAND, session->brand_ids[count]);
        for (size_t i = 0; i < count; i++)
            if (ids[i] == ids[count])
                return fail(err, ERR_INVALID_REQUEST, "brand", "A brand is listed twice.");
    }
    if (count == 0)
        return true;
    struct operator_session_brands_params params = {
        .session_id = session_id,
        .organization_id = session->organization_id,
        .brand_ids = { ids, count },
    };
    int64_t affected;
    if (!sql_operator_session_brands(work->conn, work->arena, &params, &affected, err))
        return false;
    return affected == (int64_t)count || fail(err, ERR_BRAND_NOT_FOUND, "brand", "No brand with this id in the organization.");
}

bool operator_create_session(const struct work *work, const struct operator_session *session, int64_t *ret_id,
                             const char **ret_token, struct error *err)
{
    if (!check_session(session, err))
        return false;
    const char *token = session_token_new(work->arena);
    unsigned char hash[SECRET_HASH_BYTES];
    secret_hash(token, hash);
    struct operator_session_insert_params params = {
        .organization_id = session->organization_id,
        .user_name = session->user_name,
        .role = role_from_name(session->role),
        .secret_hash = { hash, sizeof(hash) },
        .expires_at = work->now_us + session->lasts_s * US_PER_S,
        .now = work->now_us,
    };
    struct operator_session_insert_row *row;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !sql_operator_session_insert(work->conn, work->arena, &params, &row, err) ||
        !add_session_brands(work, session, row->id, err))
        return false;
    *ret_id = row->id;
    *ret_token = token;
    return operator_commit(work, &tx, "admin.session.create", work_id(work, ID_SESSION, row->id), err);
}

bool operator_end_session(const struct work *work, const char *wire_id, bool *ret_ended, struct error *err)
{
    struct operator_session_end_params params = {
        .id = id_decode(&work->engine->ids, ID_SESSION, wire_id),
        .now = work->now_us,
    };
    int64_t affected;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !sql_operator_session_end(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_ended = affected == 1;
    return operator_commit(work, &tx, "admin.session.end", wire_id, err);
}

bool operator_write_sessions(const struct work *work, int64_t organization_id, struct json_writer *json, struct error *err)
{
    struct operator_sessions_params params = { .organization_id = organization_id, .now = work->now_us };
    struct operator_sessions_row *rows;
    size_t count;
    if (!sql_operator_sessions(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "sessionId", ID_SESSION, rows[i].id);
        json_member_text(json, "name", rows[i].user_name);
        json_member_text(json, "role", rows[i].role);
        json_member_text(json, "status", rows[i].active ? "active" : "ended");
        json_key(json, "brandIds");
        json_array_begin(json);
        for (size_t at = 0; at < rows[i].brand_ids.count; at++)
            json_text(json, work_id(work, ID_BRAND, rows[i].brand_ids.items[at]));
        json_array_end(json);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_member_time(json, "expiresAt", rows[i].expires_at);
        json_member_time_if(json, "endedAt", rows[i].ended_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}
