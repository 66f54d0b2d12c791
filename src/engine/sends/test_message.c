#include "engine/sends/test_message.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/compose/composer.h"
#include "engine/sends/send_request.h"
#include "mail/address.h"
#include "sql/compose.h"

/* ---- Checks ---- */

bool send_check_test(const struct work *work, const struct send_request *request, struct send_test *ret_test, struct error *err)
{
    struct checked_request checked = { .target = "inline" };
    struct address to;
    if (request->to.count != 1)
        return fail(err, ERR_INVALID_REQUEST, "to", "to must contain exactly one address for a test message.");
    if (!send_request_parse_address(work, request->to.items[0], "to", &to, err) ||
        !send_request_compile_subject(work, request->subject, &checked.subject_code, err))
        return false;

    struct send_email_find_params email = { .brand_id = work->brand_id, .id = request->email_id };
    struct send_domain_for_test_params domain = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .id = request->domain_id,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t emails = db_batch_add(batch, &send_email_find_statement, &email);
    size_t domains = db_batch_add(batch, &send_domain_for_test_statement, &domain);
    if (!db_batch_run(batch, err))
        return false;
    const struct send_email_find_row *found = db_batch_rows(batch, emails)->rows;
    checked.domain = db_batch_rows(batch, domains)->rows;
    if (found == NULL)
        return send_request_no_email(err);
    if (!send_request_check_email(found->status, found->version_id, err) || !send_request_check_domain(checked.domain, NULL, err))
        return false;

    /* without a domain in the request, the default sender is forced. */
    struct send_request sender = *request;
    if (request->domain_id == 0)
        sender.from_email = sender.from_name = NULL;
    if (!send_request_choose_sender(work, &sender, &checked, err))
        return false;
    *ret_test = (struct send_test){
        .email_version_id = found->version_id.value,
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

char *send_test_write(const struct work *work, const struct send_test *test)
{
    struct buf *out = buf_in_arena(work->arena, SEND_TEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_int(&json, "emailVersionId", test->email_version_id);
    json_member_text(&json, "to", test->to);
    json_member_text(&json, "toKey", test->to_key);
    json_member_text(&json, "subject", test->subject);
    json_member_text_if(&json, "previewText", test->preview_text);
    json_member_text(&json, "fromAddress", test->from_address);
    json_member_text_if(&json, "senderName", test->sender_name);
    json_member_text_if(&json, "replyTo", test->reply_to);
    json_member_text(&json, "domain", test->domain);
    json_member_int(&json, "domainId", test->domain_id);
    json_member_int(&json, "domainBrandId", test->domain_brand_id);
    json_member_bool(&json, "isSandbox", test->is_sandbox);
    json_member_bool(&json, "isMarketing", test->is_marketing);
    json_object_end(&json);
    return arena_dup(work->arena, buf_text(out));
}

void send_test_read(const json_t *payload, struct send_test *ret_test)
{
    *ret_test = (struct send_test){
        .email_version_id = json_get_int(payload, "emailVersionId", 0),
        .to = json_get_text(payload, "to"),
        .to_key = json_get_text(payload, "toKey"),
        .subject = json_get_text(payload, "subject"),
        .preview_text = json_get_text(payload, "previewText"),
        .from_address = json_get_text(payload, "fromAddress"),
        .sender_name = json_get_text(payload, "senderName"),
        .reply_to = json_get_text(payload, "replyTo"),
        .domain = json_get_text(payload, "domain"),
        .domain_id = json_get_int(payload, "domainId", 0),
        .domain_brand_id = json_get_int(payload, "domainBrandId", 0),
        .is_sandbox = json_get_bool(payload, "isSandbox", true),
        .is_marketing = json_get_bool(payload, "isMarketing", true),
    };
}

/* ---- Composing ---- */

static bool load_design(const struct work *work, const struct send_test *test, struct composer_design *ret_design,
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
static bool load_recipient(const struct work *work, const struct send_test *test, const struct composer *composer,
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
    if (contact == NULL)
        return true;
    ret_recipient->first_name = contact->first_name;
    ret_recipient->last_name = contact->last_name;
    ret_recipient->user_id = contact->user_id;
    ret_recipient->fields = contact->fields;
    return true;
}

bool send_test_compose(const struct work *work, const struct send_test *test, int64_t job_id, struct bytes *ret_message,
                       struct error *err)
{
    struct composer_design design;
    struct composer *composer;
    struct composer_recipient recipient;
    if (!load_design(work, test, &design, err) || !composer_new(work, &design, &composer, err) ||
        !load_recipient(work, test, composer, &recipient, err))
        return false;
    const int64_t payload[] = { work->brand_id, job_id };
    const char *token = token_seal(work->arena, work->engine->token_key, "test message", payload, sizeof(payload));
    return composer_write(composer, &recipient, token, work->now_us, ret_message, err);
}
