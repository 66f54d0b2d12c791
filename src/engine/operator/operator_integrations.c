#include "engine/operator/operator_integrations.h"

#include "engine/operator/operator_audit.h"

bool operator_add_integration(const struct work *work, const struct integration_connection *connection, struct json_writer *json,
                              struct error *err)
{
    int64_t id;
    const char *secret;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !integration_add(work, connection, &id, &secret, err) ||
        !operator_commit(work, &tx, "admin.integration.add", work_id(work, ID_INTEGRATION, id), err))
        return false;
    json_object_begin(json);
    json_member_id(json, work, "connectionId", ID_INTEGRATION, id);
    json_member_text(json, "provider", connection->provider);
    json_member_text(json, "path", integration_path(work, connection->provider, id));
    json_member_text_if(json, "secret", secret);
    json_key(json, "triggers");
    if (!integration_triggers_write(work, id, json, err))
        return false;
    json_member_text(json, "message",
                     secret != NULL
                         ? "Give the provider this path behind the address of the server. Give it the secret too, which is "
                           "not shown again, or give the connection the provider's secret with integration rotate."
                         : "Give the provider this path behind the address of the server.");
    json_object_end(json);
    return true;
}

bool operator_rotate_integration(const struct work *work, const char *wire_id, const char *secret, struct json_writer *json,
                                 struct error *err)
{
    const char *new_secret;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !integration_rotate(work, wire_id, secret, &new_secret, err) ||
        !operator_commit(work, &tx, "admin.integration.rotate", wire_id, err))
        return false;
    json_object_begin(json);
    json_member_text(json, "connectionId", wire_id);
    json_member_bool(json, "rotated", true);
    json_member_text_if(json, "secret", new_secret);
    json_object_end(json);
    return true;
}

bool operator_revoke_integration(const struct work *work, const char *wire_id, struct json_writer *json, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !integration_revoke(work, wire_id, err) ||
        !operator_commit(work, &tx, "admin.integration.revoke", wire_id, err))
        return false;
    json_object_begin(json);
    json_member_text(json, "connectionId", wire_id);
    json_member_bool(json, "revoked", true);
    json_object_end(json);
    return true;
}
