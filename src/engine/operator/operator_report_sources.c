#include "engine/operator/operator_report_sources.h"

#include "engine/operator/operator_audit.h"

bool operator_add_report_source(const struct work *work, const struct report_connection *connection, struct json_writer *json,
                                struct error *err)
{
    int64_t id;
    const char *credential;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !report_connection_add(work, connection, &id, &credential, err) ||
        !operator_commit(work, &tx, "admin.report-source.add", work_id(work, ID_REPORT_SOURCE, id), err))
        return false;
    const char *path = report_connection_path(work, connection->provider, id);
    json_object_begin(json);
    json_member_id(json, work, "connectionId", ID_REPORT_SOURCE, id);
    json_member_text(json, "provider", connection->provider);
    json_member_text(json, "path", path);
    if (work->engine->public_url != NULL)
        json_member_text(json, "url", arena_printf(work->arena, "%s%s", work->engine->public_url, path));
    json_member_text_if(json, "credential", credential);
    json_member_text(json, "message",
                     credential != NULL
                         ? "Give the provider this path behind the address of the server, with the user and password "
                           "credential; it is not shown again."
                         : "Give the provider this path behind the address of the server.");
    json_object_end(json);
    return true;
}

bool operator_remove_report_source(const struct work *work, const char *wire_id, struct json_writer *json, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !report_connection_remove(work, wire_id, err) ||
        !operator_commit(work, &tx, "admin.report-source.remove", wire_id, err))
        return false;
    json_object_begin(json);
    json_member_text(json, "connectionId", wire_id);
    json_member_bool(json, "removed", true);
    json_object_end(json);
    return true;
}
