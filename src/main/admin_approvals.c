/*
 * posthorn admin org approvals, send approve and send reject: the demand that an
 * administrator approves sends, and the decision.
 */
#include "base/text.h"
#include "engine/sends/sends.h"
#include "main/admin.h"

#include <string.h>

/* `off`, or a number of recipients. */
static bool read_bound(const char *text, struct opt_int *ret_above, struct error *err)
{
    *ret_above = (struct opt_int){ .set = strcmp(text, "off") != 0 };
    bool is_read = !ret_above->set || (int64_parse(text, &ret_above->value) && ret_above->value >= 0);
    return is_read || fail(err, ERR_INVALID_REQUEST, "approvals", "approvals must be off, or a whole number of recipients from 0.");
}

bool admin_org_approvals(struct admin *admin, struct error *err)
{
    int64_t id;
    struct opt_int above;
    if (!need_argument(admin, "org", err) || !need_value(admin, "approvals", err) || !read_bound(admin->value, &above, err) ||
        !find_organization(admin, admin->argument, &id, err) || !operator_set_approvals(&admin->work, above, err))
        return false;
    json_object_begin(&admin->json);
    json_member_id(&admin->json, &admin->work, "orgId", ID_ORG, id);
    json_member_int_or_null(&admin->json, "approvalsAbove", above);
    json_object_end(&admin->json);
    return true;
}

static bool decide_send(struct admin *admin, bool approves, struct error *err)
{
    struct send_row *send;
    if (!need_argument(admin, "sendId", err) ||
        !operator_decide_send(&admin->work, admin->argument, approves, admin->options->note, &send, err))
        return false;
    json_object_begin(&admin->json);
    json_member_text(&admin->json, "sendId", admin->argument);
    json_member_text(&admin->json, "status", send->status);
    json_member_text(&admin->json, "approvalState", send->approval_state);
    json_object_end(&admin->json);
    return true;
}

bool admin_send_approve(struct admin *admin, struct error *err)
{
    return decide_send(admin, true, err);
}

bool admin_send_reject(struct admin *admin, struct error *err)
{
    return decide_send(admin, false, err);
}
