#include "engine/operator/operator_mailboxes.h"

#include "base/text.h"
#include "engine/operator/operator_audit.h"

static void write_done(struct json_writer *json, int64_t id, const char *what)
{
    json_object_begin(json);
    json_member_int(json, "mailboxId", id);
    json_member_bool(json, what, true);
    json_object_end(json);
}

static bool read_id(const char *id, int64_t *ret_id, struct error *err)
{
    return int64_parse(id, ret_id) ||
           fail(err, ERR_INVALID_REQUEST, "mailbox", "Name the mailbox by its number; posthorn admin mailbox list shows it.");
}

bool operator_add_mailbox(const struct work *work, const char *address, const char *password, struct json_writer *json,
                          struct error *err)
{
    int64_t id;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !mailbox_add(work, address, password, &id, err) ||
        !operator_commit(work, &tx, "admin.mailbox.add", arena_printf(work->arena, "%lld", (long long)id), err))
        return false;
    json_object_begin(json);
    json_member_int(json, "mailboxId", id);
    json_member_text(json, "address", address);
    json_object_end(json);
    return true;
}

bool operator_rotate_mailbox(const struct work *work, const char *id, const char *password, struct json_writer *json,
                             struct error *err)
{
    int64_t number;
    DB_TX tx = { .conn = NULL };
    if (!read_id(id, &number, err) || !db_tx_begin(work->conn, &tx, err) || !mailbox_rotate(work, number, password, err) ||
        !operator_commit(work, &tx, "admin.mailbox.rotate", id, err))
        return false;
    write_done(json, number, "rotated");
    return true;
}

bool operator_remove_mailbox(const struct work *work, const char *id, struct json_writer *json, struct error *err)
{
    int64_t number;
    DB_TX tx = { .conn = NULL };
    if (!read_id(id, &number, err) || !db_tx_begin(work->conn, &tx, err) || !mailbox_remove(work, number, err) ||
        !operator_commit(work, &tx, "admin.mailbox.remove", id, err))
        return false;
    write_done(json, number, "removed");
    return true;
}
