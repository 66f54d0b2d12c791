#include "engine/reports/mailboxes.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/secrets/mailbox_passwords.h"
#include "sql/mailboxes.h"

#include <string.h>

/* ---- Passwords ---- */

static struct mailbox_secret secret_of(int64_t id, const char *address)
{
    return (struct mailbox_secret){ .purpose = "mailbox", .id = id, .address = address };
}

static bool seal_password(const struct work *work, int64_t id, const char *address, const char *password, struct bytes *ret_sealed,
                          struct error *err)
{
    const struct mailbox_secret secret = secret_of(id, address);
    return mailbox_password_seal(work, &secret, password, ret_sealed, err);
}

bool mailbox_password(const struct work *work, struct arena *secrets, const struct mailbox_claim *claim, const char **ret_password,
                      struct error *err)
{
    const struct mailbox_secret secret = secret_of(claim->id, claim->address);
    return mailbox_password_open(work, secrets, &secret, claim->sealed, ret_password, err);
}

/* ---- Changes ---- */

bool mailbox_add(const struct work *work, const char *address, const char *password, int64_t *ret_id, struct error *err)
{
    struct report_mailbox_next_row *next;
    struct report_mailbox_insert_row *row;
    struct report_mailbox_insert_params params = { .address = address, .now = work->now_us, .most = MAILBOXES_MAX };
    if (!utf8_is_valid(address, strlen(address)) || utf8_length(address) > MAILBOX_ADDRESS_MAX_CHARS)
        return fail(err, ERR_INVALID_REQUEST, "address", "The address has at most %d characters.", MAILBOX_ADDRESS_MAX_CHARS);
    if (!sql_report_mailbox_next(work->conn, work->arena, &next, err) ||
        !seal_password(work, next->id, address, password, &params.password, err))
        return false;
    params.id = next->id;
    if (!sql_report_mailbox_insert(work->conn, work->arena, &params, &row, err))
        return false;
    if (row->same_id.set)
        return fail(err, ERR_INVALID_REQUEST, "address",
                    "Mailbox %lld has this address; give it another password with mailbox rotate.", (long long)row->same_id.value);
    if (!row->id.set)
        return fail(err, ERR_INVALID_REQUEST, "address", "There are %d mailboxes; remove one first.", MAILBOXES_MAX);
    *ret_id = row->id.value;
    return true;
}

static bool fail_unknown(struct error *err)
{
    return fail(err, ERR_NOT_FOUND, "mailbox", "No mailbox with this number.");
}

bool mailbox_rotate(const struct work *work, int64_t id, const char *password, struct error *err)
{
    struct report_mailbox_lock_params lock = { id };
    struct report_mailbox_seal_params params = { .id = id };
    struct report_mailbox_due_params due = { id };
    struct report_mailbox_lock_row *row;
    if (!sql_report_mailbox_lock(work->conn, work->arena, &lock, &row, err))
        return false;
    if (row == NULL)
        return fail_unknown(err);
    return seal_password(work, id, row->address, password, &params.password, err) &&
           sql_report_mailbox_seal(work->conn, work->arena, &params, NULL, err) &&
           sql_report_mailbox_due(work->conn, work->arena, &due, NULL, err);
}

bool mailbox_remove(const struct work *work, int64_t id, struct error *err)
{
    struct report_mailbox_delete_params params = { id };
    struct report_mailbox_delete_row *row;
    if (!sql_report_mailbox_delete(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail_unknown(err);
}

bool mailboxes_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct report_mailboxes_list_row *rows;
    size_t count;
    if (!sql_report_mailboxes_list(work->conn, work->arena, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_int(json, "mailboxId", rows[i].id);
        json_member_text(json, "address", rows[i].address);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_member_time_if(json, "polledAt", rows[i].polled_at);
        json_member_text_if(json, "problem", rows[i].problem);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

/* ---- Polls ---- */

bool mailbox_claim(const struct work *work, struct mailbox_claim **ret_claim, struct error *err)
{
    struct report_mailbox_claim_params params = { MAILBOX_LEASE_S };
    struct report_mailbox_claim_row *row;
    *ret_claim = NULL;
    if (!sql_report_mailbox_claim(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    *ret_claim = arena_alloc(work->arena, sizeof(**ret_claim));
    **ret_claim = (struct mailbox_claim){ .id = row->id, .address = row->address, .sealed = row->password };
    return true;
}

bool mailbox_polled(const struct work *work, int64_t id, const char *problem, int64_t every_us, struct error *err)
{
    struct report_mailbox_polled_params params = {
        .id = id,
        .problem = problem,
        .every_s = (double)every_us / (double)US_PER_S,
        .pause_max_s = MAILBOX_PAUSE_MAX_S,
    };
    return sql_report_mailbox_polled(work->conn, work->arena, &params, NULL, err);
}

/* ---- Resealing ---- */

static bool reseal_password(const struct reseal *reseal, const struct report_mailboxes_to_reseal_row *row, struct error *err)
{
    const struct mailbox_secret secret = secret_of(row->id, row->address);
    struct report_mailbox_seal_params params = { .id = row->id };
    if (!mailbox_password_reseal(reseal, &secret, row->password, &params.password, err))
        return false;
    db_batch_add(reseal->updates, &report_mailbox_seal_statement, &params);
    return true;
}

static bool reseal_next_passwords(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct report_mailboxes_to_reseal_params *at = position;
    struct report_mailboxes_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_report_mailboxes_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        if (!reseal_password(reseal, &rows[i], err))
            return false;
        at->after_id = rows[i].id;
    }
    return true;
}

bool mailboxes_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct report_mailboxes_to_reseal_params from = { .after_id = 0 };
    return reseal_table(work, reseal_next_passwords, &from, ret_count, err);
}
