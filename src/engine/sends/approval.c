#include "engine/sends/approval.h"

#include "base/text.h"
#include "catalogue/jobs.h"
#include "engine/ledger/ledger.h"
#include "sql/approval.h"

#include <string.h>

bool approval_is_needed(struct opt_int above, const struct checked_request *checked, struct opt_int count)
{
    if (!above.set)
        return false;
    if (checked->list.count > 0)
        return (int64_t)checked->list.count > above.value;
    return !count.set || count.value > above.value;
}

/* ---- The decision ---- */

static struct opt_int session_or_null(const struct approval_decision *decision)
{
    return (struct opt_int){ .set = decision->session_id != 0, .value = decision->session_id };
}

/* The job and the approval commit together, so that a send is never approved without a job, or enqueued twice. */
static bool approve(const struct work *work, int64_t send_id, const struct approval_lock_row *send,
                    const struct approval_decision *decision, struct error *err)
{
    struct campaign_payload payload = { .send_id = send_id };
    bool is_later = send->scheduled_at.set && send->scheduled_at.value > work->now_us;
    int64_t begins_at_us = is_later ? send->scheduled_at.value : work->now_us;
    int64_t job_id;
    if (!ledger_enqueue(work, campaign_job(work->arena, &payload), begins_at_us, NULL, &job_id, err))
        return false;
    struct approval_approve_params params = {
        .brand_id = work->brand_id,
        .id = send_id,
        .job_id = job_id,
        .session_id = session_or_null(decision),
        .note = decision->note,
        .now = work->now_us,
    };
    return sql_approval_approve(work->conn, work->arena, &params, NULL, err) &&
           sql_approval_wake_workers(work->conn, work->arena, NULL, err);
}

static bool reject(const struct work *work, int64_t send_id, const struct approval_decision *decision, struct error *err)
{
    static const char rejected[] = "An administrator rejected this send";
    struct approval_reject_params params = {
        .brand_id = work->brand_id,
        .id = send_id,
        .session_id = session_or_null(decision),
        .note = decision->note,
        .error = decision->note != NULL ? arena_printf(work->arena, "%s: %s", rejected, decision->note)
                                        : arena_printf(work->arena, "%s.", rejected),
        .now = work->now_us,
    };
    return sql_approval_reject(work->conn, work->arena, &params, NULL, err);
}

static bool refuse(const struct approval_lock_row *send, struct error *err)
{
    const char *param = "sendId";
    if (!text_equal(send->approval_state, "pending") && send->decided_at.set)
        return fail(err, ERR_SEND_NOT_PENDING_APPROVAL, param, "This send is already %s; the decision is final.",
                    send->approval_state);
    if (!text_equal(send->approval_state, "pending"))
        return fail(err, ERR_SEND_NOT_PENDING_APPROVAL, param, "This send needs no approval.");
    return fail(err, ERR_SEND_NOT_PENDING_APPROVAL, param, "This send is %s; it does not wait for an approval any more.",
                send->status);
}

static bool decide(const struct work *work, int64_t send_id, const struct approval_decision *decision, struct error *err)
{
    struct approval_lock_params lock = { .brand_id = work->brand_id, .id = send_id };
    struct approval_lock_row *send;
    if (!sql_approval_lock(work->conn, work->arena, &lock, &send, err))
        return false;
    if (send == NULL)
        return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this organization.");
    bool waits = text_equal(send->status, "queued") || text_equal(send->status, "scheduled");
    if (text_equal(send->approval_state, "pending") && waits)
        return decision->approves ? approve(work, send_id, send, decision, err) : reject(work, send_id, decision, err);
    bool is_repeated = send->decided_at.set && text_equal(send->approval_state, decision->approves ? "approved" : "rejected");
    return is_repeated || refuse(send, err);
}

static bool check_note(const char *note, struct error *err)
{
    if (note == NULL || utf8_has_length(note, 0, APPROVAL_NOTE_MAX_CHARS))
        return true;
    return fail(err, ERR_INVALID_REQUEST, "note", "The note must have at most %d characters.", APPROVAL_NOTE_MAX_CHARS);
}

bool send_decide(const struct work *work, int64_t send_id, const struct approval_decision *decision, struct send_row **ret_send,
                 struct error *err)
{
    struct send_find_params find = { .brand_id = work->brand_id, .id = send_id };
    return check_note(decision->note, err) && decide(work, send_id, decision, err) &&
           sql_send_find(work->conn, work->arena, &find, ret_send, err);
}

bool send_find_brand(const struct work *work, int64_t send_id, int64_t *ret_brand_id, struct error *err)
{
    struct approval_send_brand_params params = { .organization_id = work->organization_id, .id = send_id };
    struct approval_send_brand_row *row;
    if (!sql_approval_send_brand(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this organization.");
    *ret_brand_id = row->brand_id;
    return true;
}

/* ---- The setting ---- */

bool approval_set(const struct work *work, struct opt_int above, struct error *err)
{
    struct approval_set_params params = { .organization_id = work->organization_id, .above = above };
    return sql_approval_set(work->conn, work->arena, &params, NULL, err);
}
