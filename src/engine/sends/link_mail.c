#include "engine/sends/link_mail.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/compose/message_id.h"
#include "engine/sends/sends.h"
#include "engine/subscriptions/link.h"
#include "mail/address.h"
#include "mail/message.h"
#include "sql/link_mail.h"

#include <string.h>

enum { LINK_MAIL_MAX_BYTES = 64 * 1024 };
static const int64_t once_in_us = INT64_C(3600) * US_PER_S;

/* ---- The form ---- */

bool link_form_find(const struct work *work, int64_t brand_id, struct link_form *ret_form, struct error *err)
{
    struct link_form_find_params params = { .brand_id = brand_id };
    struct link_form_find_row *row;
    if (!sql_link_form_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_NOT_FOUND, "brand", "There is no brand with this id.");
    *ret_form = (struct link_form){
        .organization_id = row->organization_id,
        .brand_name = row->brand_name,
        .is_available = row->domain_id.set && row->has_relay && work->engine->public_url != NULL,
        .domain_id = row->domain_id.value,
        .domain = row->domain,
        .sender_name = row->sender_name,
        .reply_to = row->reply_to,
    };
    if (row->domain_id.set)
        ret_form->from_address = send_default_address(work->arena, row->from_email, row->domain);
    return true;
}

bool link_mail_read_address(const struct work *work, const char *text, const char **ret_email_key, struct error *err)
{
    struct address address;
    if (!address_parse(work->arena, text_trim(work->arena, text), "email", &address, err))
        return false;
    *ret_email_key = address.key;
    return true;
}

/* ---- The mail ---- */

static bool find_recipient(const struct work *work, const char *email_key, struct bytes hash, struct unsubscribe_link *link,
                           const char **ret_to, struct error *err)
{
    struct link_mail_recipient_params params = {
        .brand_id = work->brand_id,
        .email_key = email_key,
        .address_hash = hash,
        .now = work->now_us,
    };
    struct link_mail_recipient_row *row;
    *ret_to = NULL;
    if (!sql_link_mail_recipient(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    *ret_to = row->email;
    link->contact_id = row->contact_id;
    return true;
}

static bool claim(const struct work *work, struct bytes hash, int64_t job_id, bool *ret_claimed, struct error *err)
{
    struct link_mail_claim_params params = {
        .brand_id = work->brand_id,
        .address_hash = hash,
        .job_id = job_id,
        .expires_at = work->now_us + once_in_us,
        .now = work->now_us,
    };
    struct link_mail_claim_row *row;
    if (!sql_link_mail_claim(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_claimed = row != NULL;
    return true;
}

/* Text alone: the mail has one link and nothing to design. */
static bool compose(const struct work *work, const char *url, int64_t job_id, struct link_mail *mail, struct error *err)
{
    static const struct header headers[] = { { "Auto-Submitted", "auto-generated" } }; /* RFC 3834 §5 */
    const struct link_form *form = &mail->form;
    const struct message_common common = {
        .from = { .name = form->sender_name, .address = form->from_address },
        .reply_to = { .address = form->reply_to },
        .headers = headers,
        .header_count = ARRAY_COUNT(headers),
    };
    const struct message_origin origin = { .brand_id = work->brand_id, .ordinal = job_id };
    const char *token = message_id_token(work->engine, work->arena, &origin);
    const char *text = arena_printf(work->arena,
                                    "This link was asked for on a page of %s.\n\n"
                                    "Unsubscribe, or choose which mail you get:\n%s\n\n"
                                    "If you did not ask for it, you can ignore this mail. Nothing was changed.\n",
                                    form->brand_name, url);
    const struct message message = {
        .to = { .address = mail->to },
        .subject = arena_printf(work->arena, "Your subscription to mail from %s", form->brand_name),
        .text = text,
        .text_size = strlen(text),
        .date_us = work->now_us,
        .message_id = arena_printf(work->arena, "<%s@%s>", token, form->domain),
    };
    struct buf *out = buf_in_arena(work->arena, LINK_MAIL_MAX_BYTES);
    struct message_plan *plan;
    if (!message_plan_new(work->arena, &common, &plan, err) || !message_compose(plan, &message, work->arena, out, err))
        return false;
    mail->message = (struct bytes){ (const unsigned char *)buf_text(out), out->size };
    return true;
}

bool link_mail_compose(const struct work *work, const char *email_key, const char *public_url, int64_t job_id,
                       struct link_mail *ret_mail, struct error *err)
{
    struct unsubscribe_link link = { .brand_id = work->brand_id, .was_asked_for = true };
    const struct bytes hash = { link.address_hash, sizeof(link.address_hash) };
    const char *to;
    bool is_claimed = false;
    *ret_mail = (struct link_mail){ .to = NULL };
    address_hash(work->engine->address_key, email_key, link.address_hash);
    if (!link_form_find(work, work->brand_id, &ret_mail->form, err) || !find_recipient(work, email_key, hash, &link, &to, err))
        return false;
    if (to == NULL || ret_mail->form.domain == NULL)
        return true;
    if (!claim(work, hash, job_id, &is_claimed, err))
        return false;
    if (!is_claimed)
        return true;
    ret_mail->to = to;
    const char *token = unsubscribe_token(work->engine, work->arena, &link);
    return compose(work, arena_printf(work->arena, "%s/u/%s", public_url, token), job_id, ret_mail, err);
}
