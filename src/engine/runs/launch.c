#include "engine/runs/launch.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/runs/launch_plan.h"
#include "engine/runs/launch_target.h"
#include "engine/sends/confirm_token.h"
#include "engine/sends/gradual.h"
#include "engine/sends/send_request.h"
#include "sql/launch.h"

/* What is known about a launch that is asked for. */
struct asked {
    const struct launch_request *request;
    const struct launch_automation_row *automation;
    struct launch_plan plan;
    int64_t recipient_count;
};

/* ---- Checks ---- */

static bool check_automation(const struct asked *asked, struct error *err)
{
    static const char param[] = "automationId";
    const struct launch_automation_row *automation = asked->automation;
    if (automation == NULL)
        return fail(err, ERR_AUTOMATION_NOT_FOUND, param, "No automation with this id in this brand.");
    if (!automation->version_id.set)
        return fail(err, ERR_AUTOMATION_NOT_PUBLISHED, param, "This automation is a draft; only a published one can be launched.");
    if (!automation->audience_id.set)
        return fail(err, ERR_NO_ELIGIBLE_RECIPIENTS, param,
                    "This automation starts with an event, so there is no audience to launch it on. It runs when its trigger "
                    "fires.") ||
               error_suggest(err, "Fire its trigger, or launch an automation whose trigger has the mode manualAudience.");
    /* D-115: nobody could approve the mail of the runs one by one. */
    bool needs_administrator = automation->approvals_above.set && !asked->request->is_dry_run;
    return !needs_administrator || asked->request->is_administrator ||
           fail(err, ERR_INSUFFICIENT_ROLE, "org_admin",
                "This organization demands approvals; only a signed-in administrator may launch an automation.");
}

static bool find_automation(const struct work *work, struct asked *asked, struct error *err)
{
    struct launch_automation_params params = { .brand_id = work->brand_id, .id = asked->request->automation_id };
    struct launch_automation_row *row;
    if (!sql_launch_automation(work->conn, work->arena, &params, &row, err))
        return false;
    asked->automation = row;
    return check_automation(asked, err) && launch_plan_read(work, row->nodes, row->connections, &asked->plan, err);
}

static bool count_recipients(const struct work *work, struct asked *asked, struct error *err)
{
    struct launch_is_transactional_params params = { .brand_id = work->brand_id, .domain_ids = asked->plan.domain_ids };
    struct launch_is_transactional_row *row;
    if (!sql_launch_is_transactional(work->conn, work->arena, &params, &row, err))
        return false;
    struct launch_target target = {
        .audience_id = asked->automation->audience_id.value,
        .is_transactional = row->is_transactional,
    };
    return launch_target_count(work, target, &asked->recipient_count, err);
}

/* The least number of messages that the launch sends at once: each recipient gets those that no branch decides about, and at least
 * one. A launch that begins later pauses when its mail exceeds the allowance. */
static int64_t least_messages(const struct asked *asked)
{
    const struct launch_request *request = asked->request;
    int64_t recipients = asked->recipient_count;
    if (request->gradual != NULL)
        recipients = gradual_tranche_end(request->gradual, recipients, 1);
    int64_t each = asked->plan.certain_messages > 0 ? asked->plan.certain_messages : 1;
    return asked->plan.message_nodes == 0 ? 0 : recipients * each;
}

static bool check_allowance(const struct work *work, const struct asked *asked, struct error *err)
{
    struct opt_int left;
    int64_t messages = least_messages(asked);
    if (asked->request->scheduled_at_us.set)
        return true;
    if (!send_allowance_left(work, &left, err))
        return false;
    return !left.set || messages <= left.value ||
           fail(err, ERR_SEND_QUOTA_EXCEEDED, NULL,
                "This launch sends at least %lld messages, and the plan has %lld sends left in this period.", (long long)messages,
                (long long)left.value);
}

/* ---- The confirmation ---- */

static void write_request(const struct asked *asked, struct json_writer *json)
{
    const struct launch_request *request = asked->request;
    json_object_begin(json);
    json_member_int(json, "automation", request->automation_id);
    json_member_int(json, "audience", asked->automation->audience_id.value);
    json_member_time_if(json, "scheduledAt", request->scheduled_at_us);
    if (request->gradual != NULL)
        gradual_write_plan(request->gradual, json);
    json_object_end(json);
}

static struct confirm_subject subject_of(const struct work *work, const struct asked *asked)
{
    enum { LAUNCH_REQUEST_MAX_BYTES = 4096 };
    struct confirm_subject subject = {
        .kind = &confirm_launches,
        .key_id = asked->request->key_id,
        .version_id = asked->automation->version_id.value,
    };
    struct buf *text = buf_in_arena(work->arena, LAUNCH_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    write_request(asked, &json);
    sha256(buf_text(text), text->size, subject.request);
    return subject;
}

/* A launch needs a confirmation as a send does: above the limit, and when its audience can still change until it begins. */
static bool check_confirmation(const struct work *work, const struct asked *asked, bool *ret_is_due, struct error *err)
{
    const struct launch_request *request = asked->request;
    *ret_is_due = false;
    if (request->confirmation != NULL) {
        struct confirm_subject subject = subject_of(work, asked);
        int64_t confirmed;
        return confirm_token_check(work, &subject, request->confirmation, &confirmed, err) &&
               confirm_token_check_growth(&confirm_launches, confirmed, asked->recipient_count, err);
    }
    *ret_is_due =
        request->confirm_above.set && (request->scheduled_at_us.set || asked->recipient_count > request->confirm_above.value);
    return true;
}

static const struct launch_preview *make_preview(const struct work *work, const struct asked *asked)
{
    const struct launch_request *request = asked->request;
    struct confirm_subject subject = subject_of(work, asked);
    struct launch_preview *preview = arena_alloc(work->arena, sizeof(*preview));
    *preview = (struct launch_preview){
        .automation_name = asked->automation->name,
        .audience_name = asked->automation->audience_name,
        .recipient_count = asked->recipient_count,
        .message_nodes = asked->plan.message_nodes,
        .scheduled_at_us = request->scheduled_at_us,
        .gradual = request->gradual,
        .first_us = request->scheduled_at_us.set ? request->scheduled_at_us.value : work->now_us,
    };
    preview->token = confirm_token_seal(work, &subject, asked->recipient_count, &preview->expires_at_us);
    return preview;
}

/* ---- The row ---- */

/* The plan of a gradual launch, with a new key for the order of its recipients. */
static const char *gradual_json(const struct work *work, const struct gradual_plan *plan)
{
    enum { GRADUAL_MAX_BYTES = 2048 };
    if (plan == NULL)
        return NULL;
    unsigned char key[GRADUAL_SAMPLE_KEY_BYTES];
    char hex[2 * sizeof(key) + 1];
    random_bytes(key, sizeof(key));
    hex_encode(key, sizeof(key), hex);
    struct buf *text = buf_in_arena(work->arena, GRADUAL_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    json_object_begin(&json);
    gradual_write_plan(plan, &json);
    json_member_text(&json, "orderKey", hex);
    json_object_end(&json);
    return buf_text(text);
}

static bool insert(const struct work *work, const struct asked *asked, int64_t *ret_id, struct error *err)
{
    const struct launch_request *request = asked->request;
    struct launch_insert_params params = {
        .brand_id = work->brand_id,
        .automation_id = request->automation_id,
        .version_id = asked->automation->version_id.value,
        .audience_id = asked->automation->audience_id.value,
        .status = request->scheduled_at_us.set ? "scheduled" : "queued",
        .scheduled_at = request->scheduled_at_us,
        .gradual = gradual_json(work, request->gradual),
        .now = work->now_us,
    };
    struct launch_insert_row *row;
    if (!sql_launch_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    struct confirm_result made = { .audience_run_id = { .set = true, .value = row->id } };
    return request->confirmation == NULL || confirm_token_use(work, &confirm_launches, request->confirmation, made, err);
}

static bool confirm_or_insert(const struct work *work, const struct asked *asked, struct launch_accepted *accepted,
                              struct error *err)
{
    bool confirm_first;
    if (asked->recipient_count == 0)
        return fail(err, ERR_NO_ELIGIBLE_RECIPIENTS, "automationId", "The audience of this automation has no subscribed contact.");
    if (!check_allowance(work, asked, err) || !check_confirmation(work, asked, &confirm_first, err))
        return false;
    if (!confirm_first)
        return insert(work, asked, &accepted->id, err);
    accepted->preview = make_preview(work, asked);
    return true;
}

bool launch_create(const struct work *work, const struct launch_request *request, struct launch_accepted *ret_accepted,
                   struct error *err)
{
    struct asked asked = { .request = request };
    if (!send_request_check_schedule(work, request->scheduled_at_us, err) || !find_automation(work, &asked, err) ||
        !count_recipients(work, &asked, err))
        return false;
    *ret_accepted = (struct launch_accepted){
        .automation_id = request->automation_id,
        .audience_id = asked.automation->audience_id.value,
        .recipient_count = asked.recipient_count,
        .message_nodes = asked.plan.message_nodes,
        .scheduled_at_us = request->scheduled_at_us,
    };
    return request->is_dry_run || confirm_or_insert(work, &asked, ret_accepted, err);
}

bool launch_set_job(const struct work *work, int64_t id, int64_t job_id, struct error *err)
{
    struct launch_set_job_params params = { .brand_id = work->brand_id, .id = id, .job_id = job_id };
    return sql_launch_set_job(work->conn, work->arena, &params, NULL, err);
}
