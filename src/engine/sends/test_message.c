#include "engine/sends/test_message.h"

#include "base/text.h"
#include "catalogue/plans.h"
#include "engine/compose/composer.h"
#include "engine/payloads/payloads.h"
#include "engine/sends/send_request.h"
#include "mail/address.h"
#include "sql/compose.h"

/* ---- Checks ---- */

static bool refuse_suppressed(const struct address *to, const struct send_test_suppression_row *suppression, struct error *err)
{
    if (suppression == NULL)
        return true;
    return fail(err, ERR_NO_ELIGIBLE_RECIPIENTS, "to",
                "%s is suppressed in this brand (%s), so it gets no mail, not even a test. Send the test to another address.",
                to->mailbox, suppression->reason);
}

/* Tests are not counted against the plan, so each brand has a bound of its own. */
static bool count_test(const struct work *work, struct error *err)
{
    struct send_test_count_params params = { .brand_id = work->brand_id, .bound = DAILY_TEST_SENDS, .now = work->now_us };
    struct send_test_count_row *counted;
    if (!sql_send_test_count(work->conn, work->arena, &params, &counted, err))
        return false;
    return counted != NULL ||
           fail(err, ERR_SEND_QUOTA_EXCEEDED, NULL,
                "This brand has sent its %d test messages of today. The next day begins at 00:00 UTC.", DAILY_TEST_SENDS);
}

/* The rows that a test needs. */
struct test_lookup {
    const struct send_email_row *email;
    const struct send_domain_row *domain;
    const struct send_test_suppression_row *suppression;
};

static bool look_up_test(const struct work *work, const struct send_request *request, const struct address *to,
                         struct test_lookup *ret_found, struct error *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    struct send_email_find_params email = { .brand_id = work->brand_id, .id = request->email_id };
    struct send_domain_for_test_params domain = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .id = request->domain_id,
    };
    struct send_test_suppression_params suppression = { .brand_id = work->brand_id,
                                                        .address_hash = { hash, sizeof(hash) },
                                                        .now = work->now_us };
    address_hash(work->engine->address_key, to->key, hash);

    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t emails = db_batch_add(batch, &send_email_find_statement, &email);
    size_t domains = db_batch_add(batch, &send_domain_for_test_statement, &domain);
    size_t suppressions = db_batch_add(batch, &send_test_suppression_statement, &suppression);
    if (!db_batch_run(batch, err))
        return false;
    *ret_found = (struct test_lookup){
        .email = db_batch_rows(batch, emails)->rows,
        .domain = db_batch_rows(batch, domains)->rows,
        .suppression = db_batch_rows(batch, suppressions)->rows,
    };
    return true;
}

static bool check_test_sender(const struct work *work, const struct send_request *request, struct checked_request *checked,
                              struct error *err)
{
    /* without a domain in the request, the default sender is forced. */
    struct send_request sender = *request;
    if (request->domain_id == 0)
        sender.from_email = sender.from_name = NULL;
    return send_request_choose_sender(work, &sender, checked, err);
}

bool send_check_test(const struct work *work, const struct send_request *request, struct test_send_payload *ret_test,
                     struct error *err)
{
    struct checked_request checked = { .target = "inline" };
    struct test_lookup found;
    struct address to;
    if (request->to.count != 1)
        return fail(err, ERR_INVALID_REQUEST, "to", "to must contain exactly one address for a test message.");
    if (!send_request_parse_address(work, request->to.items[0], "to", &to, err) ||
        !send_request_compile_subject(work, request->subject, &checked.subject_code, err) ||
        !send_request_check_preview(work, request->preview_text, err) || !look_up_test(work, request, &to, &found, err))
        return false;
    if (found.email == NULL)
        return send_request_no_email(err);
    checked.domain = found.domain;
    if (!send_request_check_email(found.email->status, found.email->version_id, err) ||
        !send_request_check_domain(checked.domain, NULL, err) || !check_test_sender(work, request, &checked, err) ||
        !refuse_suppressed(&to, found.suppression, err) || !send_request_check_relay(checked.domain, err) || !count_test(work, err))
        return false;
    *ret_test = (struct test_send_payload){
        .email_version_id = found.email->version_id.value,
        .to = to.mailbox,
        .to_key = to.key,
        .subject = request->subject,
        .preview_text = request->preview_text,
        .from_address = checked.from_address,
        .sender_name = checked.sender_name,
        .reply_to = checked.reply_to,
        .domain = checked.domain->name,
        .domain_id = checked.domain->id,
        .domain_brand_id = checked.domain->brand_id,
        .is_sandbox = checked.domain->is_sandbox,
        .is_marketing = text_equal(checked.domain->sending_purpose, "marketing"),
    };
    return true;
}

/* ---- Composing ---- */

static bool load_design(const struct work *work, const struct test_send_payload *test, struct composer_design *ret_design,
                        struct error *err)
{
    struct compose_test_version_params params = { .brand_id = work->brand_id, .id = test->email_version_id };
    struct compose_test_version_row *version;
    if (!sql_compose_test_version(work->conn, work->arena, &params, &version, err))
        return false;
    if (version == NULL)
        return send_request_no_email(err);
    *ret_design = (struct composer_design){
        .html_code = version->html_code,
        .text_code = version->text_code,
        .from_address = test->from_address,
        .sender_name = test->sender_name,
        .reply_to = test->reply_to,
        .domain = test->domain,
        .brand_json = version->brand,
        .message_class = test->is_marketing ? MESSAGE_MARKETING : MESSAGE_TRANSACTIONAL,
    };
    if (test->preview_text != NULL &&
        !send_request_replace_preview(work, test->email_version_id, test->preview_text, &ret_design->html_code, err))
        return false;
    return send_request_compile_subject(work, test->subject, &ret_design->subject_code, err);
}

/* An address that belongs to a contact gets that contact's values. */
static bool load_recipient(const struct work *work, const struct test_send_payload *test, const struct composer *composer,
                           struct composer_recipient *ret_recipient, struct error *err)
{
    struct compose_test_recipient_params params = {
        .brand_id = work->brand_id,
        .email_key = test->to_key,
        .fields = composer_fields(composer),
    };
    struct compose_test_recipient_row *contact;
    if (!sql_compose_test_recipient(work->conn, work->arena, &params, &contact, err))
        return false;
    *ret_recipient = (struct composer_recipient){ .email = test->to, .email_key = test->to_key };
    if (test->event_payload_id != 0 && !payload_load_for_mail(work, test->event_payload_id, &ret_recipient->payload, err))
        return false;
    if (contact == NULL)
        return true;
    ret_recipient->first_name = contact->first_name;
    ret_recipient->last_name = contact->last_name;
    ret_recipient->user_id = contact->user_id;
    ret_recipient->fields = contact->fields;
    return true;
}

bool send_single_compose(const struct work *work, const struct test_send_payload *test, const struct message_origin *origin,
                         bool receives_reports, struct bytes *ret_message, struct empty_values *ret_empty, struct error *err)
{
    struct composer_design design;
    struct composer *composer;
    struct composer_recipient recipient;
    if (!load_design(work, test, &design, err))
        return false;
    design.receives_reports = receives_reports;
    if (!composer_new(work, &design, &composer, err) || !load_recipient(work, test, composer, &recipient, err))
        return false;
    if (ret_empty != NULL)
        composer_empty_values(composer, &recipient, ret_empty);
    const char *token = message_id_token(work->engine, work->arena, origin);
    return composer_write(composer, &recipient, token, work->now_us, ret_message, err);
}

bool send_test_compose(const struct work *work, const struct test_send_payload *test, int64_t job_id, struct bytes *ret_message,
                       struct empty_values *ret_empty, struct error *err)
{
    const struct message_origin origin = { .brand_id = work->brand_id, .ordinal = job_id };
    return send_single_compose(work, test, &origin, false, ret_message, ret_empty, err);
}

/* ---- The result ---- */

void send_test_write(const struct test_send_payload *test, const struct empty_values *empty, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "status", "completed");
    json_member_text(json, "recipient", test->to);
    if (test->is_sandbox)
        json_member_bool(json, "captured", true);
    json_key(json, "emptyValues");
    json_array_begin(json);
    for (size_t i = 0; i < empty->count; i++) {
        json_object_begin(json);
        json_member_text(json, "name", empty->items[i].path);
        json_member_text(json, "fallback", empty->items[i].fallback);
        json_object_end(json);
    }
    json_array_end(json);
    if (empty->has_more)
        json_member_bool(json, "emptyValuesHasMore", true);
    json_object_end(json);
}
