#include "engine/operator/operator.h"

#include "base/text.h"
#include "engine/core/restore_holds.h"
#include "engine/operator/operator_audit.h"
#include "engine/sends/approval.h"
#include "sql/operator.h"

static bool no_send(struct error *err)
{
    return fail(err, ERR_SEND_NOT_FOUND, "send", "No send with this id.");
}

/* `ret_kind`: campaign, carrier or message. */
static bool find_any_send(const struct work *work, const char *wire_id, struct work *ret_own, int64_t *ret_id,
                          const char **ret_kind, struct error *err)
{
    *ret_id = id_decode(&work->engine->ids, ID_SEND, wire_id);
    struct operator_send_owner_params params = { .id = *ret_id };
    struct operator_send_owner_row *row;
    if (!sql_operator_send_owner(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return no_send(err);
    *ret_kind = row->kind;
    *ret_own = *work;
    ret_own->organization_id = row->organization_id;
    ret_own->brand_id = row->brand_id;
    return true;
}

/* A campaign. The sends of automations are stopped with their automation, so they are refused. */
static bool find_campaign(const struct work *work, const char *wire_id, struct work *ret_own, int64_t *ret_id, struct error *err)
{
    const char *kind;
    if (!find_any_send(work, wire_id, ret_own, ret_id, &kind, err))
        return false;
    return text_equal(kind, "campaign") ||
           fail(err, ERR_INVALID_REQUEST, "send", "This send has mail of an automation. Pause or stop the automation instead.");
}

bool operator_pause_send(const struct work *work, const char *wire_id, const char **ret_status, struct error *err)
{
    struct work own;
    int64_t id;
    if (!find_campaign(work, wire_id, &own, &id, err))
        return false;
    struct send_find_params find = { .brand_id = own.brand_id, .id = id };
    struct send_row *send;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(own.conn, &tx, err) || !send_pause_running(&own, id, err) ||
        !sql_send_find(own.conn, own.arena, &find, &send, err))
        return false;
    *ret_status = send->status;
    return operator_commit(&own, &tx, "admin.send.pause", wire_id, err);
}

static bool cancel_carrier(const struct work *own, int64_t id, struct operator_canceled *canceled, struct error *err)
{
    *canceled = (struct operator_canceled){ .status = "running", .messages = { .set = true } };
    return send_cancel_held(own, id, &canceled->messages.value, err);
}

static bool cancel_own(const struct work *own, int64_t id, struct operator_canceled *canceled, struct error *err)
{
    struct send_row *send;
    if (!send_pause_running(own, id, err) || !send_cancel(own, id, &send, err))
        return false;
    *canceled = (struct operator_canceled){ .status = send->status };
    return true;
}

bool operator_cancel_send(const struct work *work, const char *wire_id, struct operator_canceled *ret_canceled, struct error *err)
{
    struct work own;
    int64_t id;
    const char *kind;
    DB_TX tx = { .conn = NULL };
    if (!find_any_send(work, wire_id, &own, &id, &kind, err) || !db_tx_begin(own.conn, &tx, err))
        return false;
    bool done = text_equal(kind, "carrier") ? cancel_carrier(&own, id, ret_canceled, err) : cancel_own(&own, id, ret_canceled, err);
    if (!done)
        return false;
    return operator_commit(&own, &tx, "admin.send.cancel", wire_id, err);
}

bool operator_set_approvals(const struct work *work, struct opt_int above, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && approval_set(work, above, err) &&
           operator_commit(work, &tx, "admin.org.approvals", work_id(work, ID_ORG, work->organization_id), err);
}

bool operator_decide_send(const struct work *work, const char *wire_id, bool approves, const char *note, struct send_row **ret_send,
                          struct error *err)
{
    struct approval_decision decision = { .approves = approves, .note = note };
    struct work own;
    int64_t id;
    DB_TX tx = { .conn = NULL };
    return find_campaign(work, wire_id, &own, &id, err) && db_tx_begin(own.conn, &tx, err) &&
           send_decide(&own, id, &decision, ret_send, err) &&
           operator_commit(&own, &tx, approves ? "admin.send.approve" : "admin.send.reject", wire_id, err);
}

bool operator_release_holds(const struct work *work, const char *wire_id, int64_t *ret_count, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && restore_release_holds(work, wire_id, ret_count, err) &&
           operator_commit(work, &tx, "admin.restore.release", wire_id != NULL ? wire_id : "all", err);
}
