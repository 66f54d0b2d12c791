#include "engine/ledger/plans.h"
#include "engine/sends/approval.h"
#include "engine/sends/confirm.h"
#include "engine/sends/gradual.h"
#include "engine/sends/send_request.h"
#include "engine/sends/target.h"

#include <string.h>

/* the contract does not define when a design was already sent. Here: a campaign exists with the same design and the same
 * target that was neither canceled nor failed. Another target, a test or an automation does not count. */
static bool refuse_repeat(const struct work *work, const struct send_same_target_row *earlier, struct error *err)
{
    if (earlier == NULL)
        return true;
    return fail(err, ERR_EMAIL_ALREADY_SENT, "emailId", "This design has already been sent to this target.") ||
           error_with_details(err, send_state_details(work, earlier));
}

static struct send_target request_target(const struct checked_request *checked)
{
    return (struct send_target){ .is_all = strcmp(checked->target, "all") == 0, .audience_id = checked->audience_id };
}

/* ---- The allowance ---- */

static struct opt_int allowance_left(const struct send_allowance_row *allowance)
{
    int64_t limit = plan_find(allowance->plan)->email_sends;
    return (struct opt_int){ .set = limit >= 0, .value = limit > allowance->sent ? limit - allowance->sent : 0 };
}

bool send_allowance_left(const struct work *work, struct opt_int *ret_left, struct error *err)
{
    struct send_allowance_params params = { .organization_id = work->organization_id, .now = work->now_us };
    struct send_allowance_row *row;
    if (!sql_send_allowance(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The organization of this brand no longer exists.");
    *ret_left = allowance_left(row);
    return true;
}

/* `count`: the recipients of the send as the plan counts them. */
static bool check_allowance_left(const struct send_allowance_row *allowance, int64_t count, struct error *err)
{
    struct opt_int left = allowance_left(allowance);
    return !left.set || count <= left.value ||
           fail(err, ERR_SEND_QUOTA_EXCEEDED, NULL,
                "This send has %lld recipients, and the plan has %lld sends left in this period.", (long long)count,
                (long long)left.value);
}

/* ---- Lookup in one round trip ---- */

struct lookup {
    const struct send_email_row *email;
    const struct send_domain_row *domain;
    const struct send_same_target_row *earlier;
    const struct send_allowance_row *allowance;
    const struct db_rows *special; /* of an inline list: addresses that are refused or unknown */
    struct opt_int count;          /* recipients of another target now; unset when it was only looked whether it has any */
    bool any_eligible;
};

/* The target of a scheduled send is expanded later, so it only has to have a recipient. A confirmation is for a number of them. */
static bool is_counted(const struct send_request *request)
{
    return !request->scheduled_at_us.set || request->confirmation != NULL;
}

/* Queries the addresses of an inline list that must not be mailed or are no contact. For another target, counts its recipients, or
 * queries if it has any. */
static bool add_eligible(const struct work *work, const struct send_request *request, const struct checked_request *checked,
                         struct db_batch *batch, size_t *ret_at, struct error *err)
{
    if (checked->list.count == 0 && !is_counted(request))
        return send_target_add_any(work, request_target(checked), batch, ret_at, err);
    if (checked->list.count == 0)
        return send_target_add_count(work, request_target(checked), batch, ret_at, err);
    struct send_inline_special_params listed = {
        .brand_id = work->brand_id,
        .keys = { checked->list.keys, checked->list.count },
        .hashes = { checked->list.hashes, checked->list.count },
        .now = work->now_us,
    };
    *ret_at = db_batch_add(batch, &send_inline_special_statement, &listed);
    return true;
}

static bool is_unknown(const struct send_inline_special_row *row)
{
    return strcmp(row->reason, "unknown") == 0;
}

static void read_eligible(const struct send_request *request, const struct checked_request *checked, const struct db_rows *rows,
                          struct lookup *found)
{
    if (checked->list.count > 0) {
        const struct send_inline_special_row *special = rows->rows;
        size_t refused = 0;
        for (size_t i = 0; i < rows->count; i++)
            refused += !is_unknown(&special[i]);
        found->special = rows;
        found->any_eligible = refused < checked->list.count;
    } else if (!is_counted(request)) {
        found->any_eligible = send_target_is_any(rows);
    } else {
        found->count = (struct opt_int){ .set = true, .value = send_target_counted(rows) };
        found->any_eligible = found->count.value > 0;
    }
}

/* A preview writes nothing, and makes no other send of the design wait. */
static bool may_be_previewed(const struct send_request *request)
{
    return request->confirmation == NULL && request->confirm_above.set;
}

static size_t add_design(const struct work *work, const struct send_request *request, struct db_batch *batch)
{
    struct send_email_find_params find = { .brand_id = work->brand_id, .id = request->email_id };
    struct send_email_lock_params lock = { .brand_id = work->brand_id, .id = request->email_id };
    return may_be_previewed(request) ? db_batch_add(batch, &send_email_find_statement, &find)
                                     : db_batch_add(batch, &send_email_lock_statement, &lock);
}

static size_t add_earlier(const struct work *work, const struct send_request *request, const struct checked_request *checked,
                          struct db_batch *batch)
{
    struct send_same_target_params earlier = {
        .brand_id = work->brand_id,
        .email_id = request->email_id,
        .target_hash = { checked->target_hash, sizeof(checked->target_hash) },
    };
    return db_batch_add(batch, &send_same_target_statement, &earlier);
}

/* The recipients come before the lock of the design: counting them may take long, and other sends of the design wait for the lock.
 */
static bool look_up_request(const struct work *work, const struct send_request *request, const struct checked_request *checked,
                            struct lookup *ret_found, struct error *err)
{
    struct send_domain_find_params domain = { .brand_id = work->brand_id, .id = request->domain_id };
    struct send_allowance_params allowance = { .organization_id = work->organization_id, .now = work->now_us };

    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t eligible;
    if (!add_eligible(work, request, checked, batch, &eligible, err))
        return false;
    size_t emails = add_design(work, request, batch);
    size_t domains = db_batch_add(batch, &send_domain_find_statement, &domain);
    size_t earliers = add_earlier(work, request, checked, batch);
    size_t allowances = db_batch_add(batch, &send_allowance_statement, &allowance);
    if (!db_batch_run(batch, err))
        return false;
    *ret_found = (struct lookup){
        .email = db_batch_rows(batch, emails)->rows,
        .domain = db_batch_rows(batch, domains)->rows,
        .earlier = db_batch_rows(batch, earliers)->rows,
        .allowance = db_batch_rows(batch, allowances)->rows,
    };
    read_eligible(request, checked, db_batch_rows(batch, eligible), ret_found);
    return true;
}

/* Locks the design of a send that needed no preview, and looks for an earlier send once more. */
static bool lock_design(const struct work *work, const struct send_request *request, const struct checked_request *checked,
                        struct error *err)
{
    struct send_email_lock_params lock = { .brand_id = work->brand_id, .id = request->email_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t emails = db_batch_add(batch, &send_email_lock_statement, &lock);
    size_t earliers = add_earlier(work, request, checked, batch);
    if (!db_batch_run(batch, err))
        return false;
    if (db_batch_rows(batch, emails)->rows == NULL)
        return send_request_no_email(err);
    return refuse_repeat(work, db_batch_rows(batch, earliers)->rows, err);
}

/* ---- A campaign ---- */

static bool insert_send(const struct work *work, const struct send_request *request, const struct checked_request *checked,
                        int64_t *ret_id, struct error *err)
{
    bool is_inline = checked->list.count > 0;
    struct send_insert_params params = {
        .brand_id = work->brand_id,
        .email_id = request->email_id,
        .email_version_id = checked->version_id,
        .status = request->scheduled_at_us.set ? "scheduled" : "queued",
        .subject = request->subject,
        .subject_code = checked->subject_code,
        .preview_text = request->preview_text,
        .html_code = checked->html_code,
        .from_address = checked->from_address,
        .sender_name = checked->sender_name,
        .reply_to = checked->reply_to,
        .domain_id = checked->domain->id,
        .target = checked->target,
        .audience_id = { .set = strcmp(checked->target, "audience") == 0, .value = checked->audience_id },
        .inline_to = { is_inline ? checked->list.mailboxes : NULL, checked->list.count },
        .inline_keys = { is_inline ? checked->list.keys : NULL, checked->list.count },
        .target_hash = { checked->target_hash, sizeof(checked->target_hash) },
        .recipient_count = { .set = is_inline, .value = (int64_t)checked->list.count },
        .scheduled_at = request->scheduled_at_us,
        .approval_state = checked->needs_approval ? "pending" : "approved",
        .now = work->now_us,
    };
    struct send_insert_row *row;
    if (!sql_send_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return request->gradual == NULL || gradual_insert(work, row->id, request->gradual, err);
}

/* The recipients of a send that begins now. */
static struct opt_int count_now(const struct send_request *request, const struct lookup *found)
{
    return request->scheduled_at_us.set ? (struct opt_int){ .set = false } : found->count;
}

static bool check_lookup(const struct work *work, const struct send_request *request, struct checked_request *checked,
                         const struct lookup *found, struct error *err)
{
    if (found->email == NULL)
        return send_request_no_email(err);
    if (!send_request_check_email(found->email->status, found->email->version_id, err) ||
        !send_request_check_domain(found->domain, "marketing", err))
        return false;
    checked->version_id = found->email->version_id.value;
    checked->domain = found->domain;
    if (!send_request_choose_sender(work, request, checked, err) || !refuse_repeat(work, found->earlier, err))
        return false;
    if (!found->any_eligible)
        return fail(err, ERR_NO_ELIGIBLE_RECIPIENTS, request->audience != NULL ? "audienceId" : "to",
                    "The target has no recipient that is subscribed and not suppressed.");
    checked->needs_approval = approval_is_needed(found->allowance->approvals_above, checked, count_now(request, found));
    /* A send that begins later is checked against the allowance then, and is paused if the allowance is too small. A gradual send
     * is checked with each tranche. */
    int64_t count = found->count.set ? found->count.value : (int64_t)checked->list.count;
    if (request->gradual != NULL)
        count = gradual_tranche_end(request->gradual, count, 1);
    return request->scheduled_at_us.set || checked->needs_approval || check_allowance_left(found->allowance, count, err);
}

/* The row of an address of an inline list that gets no mail or is no contact; NULL for any other. */
static const struct send_inline_special_row *special_of(const char *key, const struct db_rows *special)
{
    const struct send_inline_special_row *rows = special->rows;
    for (size_t i = 0; i < special->count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    return NULL;
}

/* Divides an inline list into the keys that can be mailed and the addresses that are skipped. */
static struct text_list divide_list(const struct work *work, const struct inline_list *list, const struct db_rows *special,
                                    struct send_accepted *accepted)
{
    if (list->count == 0)
        return (struct text_list){ .items = NULL };
    const char **keys = arena_array(work->arena, list->count, sizeof(*keys));
    struct send_skipped *skipped = arena_array(work->arena, list->count, sizeof(*skipped));
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct send_inline_special_row *row = special_of(list->keys[i], special);
        accepted->unknown_count += row != NULL && is_unknown(row);
        if (row == NULL || is_unknown(row))
            keys[count++] = list->keys[i];
        else
            skipped[accepted->skipped_count++] = (struct send_skipped){ list->mailboxes[i], row->reason };
    }
    accepted->skipped = skipped;
    accepted->duplicate_count = (int64_t)list->duplicate_count;
    accepted->recipient_count = (struct opt_int){ .set = true, .value = (int64_t)count };
    return (struct text_list){ keys, count };
}

bool send_create(const struct work *work, const struct send_request *request, struct send_accepted *ret_accepted, struct error *err)
{
    struct checked_request checked = { .audience_id = 0 };
    struct lookup found;
    if (!send_request_check_target(work, request, &checked, err) ||
        !send_request_check_schedule(work, request->scheduled_at_us, err) ||
        !send_request_compile_subject(work, request->subject, &checked.subject_code, err) ||
        !look_up_request(work, request, &checked, &found, err) || !check_lookup(work, request, &checked, &found, err))
        return false;
    if (request->preview_text != NULL &&
        !send_request_replace_preview(work, checked.version_id, request->preview_text, &checked.html_code, err))
        return false;
    *ret_accepted = (struct send_accepted){
        .status = checked.needs_approval         ? "pending_approval"
                  : request->scheduled_at_us.set ? "scheduled"
                                                 : "queued",
        .needs_approval = checked.needs_approval,
        .scheduled_at_us = request->scheduled_at_us,
        .recipient_count = count_now(request, &found),
        .is_captured = checked.domain->is_sandbox,
    };
    struct text_list keys = divide_list(work, &checked.list, found.special, ret_accepted);
    struct confirmable asked = {
        .request = request,
        .checked = &checked,
        .keys = keys,
        .accepted = ret_accepted,
        .target_count = found.count,
    };
    bool confirm_first;
    if (!confirm_check(work, &asked, &confirm_first, err) || !send_request_check_relay(checked.domain, err))
        return false;
    if (confirm_first)
        return confirm_preview(work, &asked, &ret_accepted->preview, err);
    return (!may_be_previewed(request) || lock_design(work, request, &checked, err)) &&
           insert_send(work, request, &checked, &ret_accepted->id, err) &&
           (request->confirmation == NULL || confirm_use(work, request->confirmation, ret_accepted->id, err));
}
