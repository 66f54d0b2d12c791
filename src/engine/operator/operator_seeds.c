#include "engine/operator/operator_seeds.h"

#include "base/text.h"
#include "engine/operator/operator_audit.h"

bool operator_add_seed(const struct work *work, const struct seed_mailbox *seed, struct json_writer *json, struct error *err)
{
    int64_t id;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !seed_add(work, seed, &id, err) ||
        !operator_commit(work, &tx, "admin.seed.add", arena_printf(work->arena, "%lld", (long long)id), err))
        return false;
    json_object_begin(json);
    json_member_int(json, "seedId", id);
    json_member_text(json, "provider", seed->provider);
    json_member_text(json, "address", seed->address);
    json_member_text(json, "email", seed->email);
    json_object_end(json);
    return true;
}

bool operator_remove_seed(const struct work *work, const char *id, struct json_writer *json, struct error *err)
{
    int64_t number;
    DB_TX tx = { .conn = NULL };
    if (!int64_parse(id, &number))
        return fail(err, ERR_INVALID_REQUEST, "seed", "Name the seed mailbox by its number; posthorn admin seed list shows it.");
    if (!db_tx_begin(work->conn, &tx, err) || !seed_remove(work, number, err) ||
        !operator_commit(work, &tx, "admin.seed.remove", id, err))
        return false;
    json_object_begin(json);
    json_member_int(json, "seedId", number);
    json_member_bool(json, "removed", true);
    json_object_end(json);
    return true;
}
