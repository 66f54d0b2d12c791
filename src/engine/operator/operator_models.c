#include "engine/operator/operator_models.h"

#include "engine/operator/operator_audit.h"

static void write_done(struct json_writer *json, const char *server, const char *what)
{
    json_object_begin(json);
    json_member_text(json, "server", server);
    json_member_bool(json, what, true);
    json_object_end(json);
}

bool operator_set_model_key(const struct work *work, const char *server, const char *key, struct json_writer *json,
                            struct error *err)
{
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !model_key_set(work, server, key, err) ||
        !operator_commit(work, &tx, "admin.model.set", server, err))
        return false;
    write_done(json, server, "set");
    return true;
}

bool operator_remove_model_key(const struct work *work, const char *server, struct json_writer *json, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !model_key_remove(work, server, err) ||
        !operator_commit(work, &tx, "admin.model.remove", server, err))
        return false;
    write_done(json, server, "removed");
    return true;
}
