#include "engine/sends/confirm.h"

#include "base/text.h"
#include "engine/sends/confirm_token.h"
#include "engine/sends/gradual.h"

/* ---- The token ---- */

/* Hashes everything that the recipients would see, and the target, so that the token confirms only this request. */
static void hash_previewed_request(const struct work *work, const struct confirmable *asked,
                                   unsigned char ret_hash[SECRET_HASH_BYTES])
{
    enum { SEND_REQUEST_MAX_BYTES = 64 * 1024 };
    const struct send_request *request = asked->request;
    const struct checked_request *checked = asked->checked;
    char target[2 * SECRET_HASH_BYTES + 1];
    hex_encode(checked->target_hash, sizeof(checked->target_hash), target);

    struct buf *text = buf_in_arena(work->arena, SEND_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    json_object_begin(&json);
    json_member_int(&json, "email", request->email_id);
    json_member_int(&json, "domain", checked->domain->id);
    json_member_text(&json, "target", target);
    json_member_text(&json, "subject", request->subject);
    json_member_text_if(&json, "previewText", request->preview_text);
    json_member_text(&json, "from", checked->from_address);
    json_member_text_if(&json, "name", checked->sender_name);
    json_member_text_if(&json, "replyTo", checked->reply_to);
    json_member_time_if(&json, "scheduledAt", request->scheduled_at_us);
    if (request->gradual != NULL)
        gradual_write_plan(request->gradual, &json);
    json_object_end(&json);
    sha256(buf_text(text), text->size, ret_hash);
}

static struct confirm_subject subject_of(const struct work *work, const struct confirmable *asked)
{
    struct confirm_subject subject = {
        .kind = &confirm_sends,
        .key_id = asked->request->key_id,
        .version_id = asked->checked->version_id,
    };
    hash_previewed_request(work, asked, subject.request);
    return subject;
}

const char *confirm_seal(const struct work *work, const struct confirmable *asked, int64_t recipient_count,
                         int64_t *ret_expires_at_us)
{
    struct confirm_subject subject = subject_of(work, asked);
    return confirm_token_seal(work, &subject, recipient_count, ret_expires_at_us);
}

/* ---- Checking a token ---- */

static int64_t recipients_of(const struct confirmable *asked)
{
    return asked->keys.items != NULL ? asked->accepted->recipient_count.value : asked->target_count.value;
}

bool confirm_check(const struct work *work, const struct confirmable *asked, bool *ret_is_due, struct error *err)
{
    const struct send_request *request = asked->request;
    struct confirm_subject subject;
    *ret_is_due = false;
    if (request->confirmation == NULL && !request->confirm_above.set)
        return true;
    if (request->confirmation != NULL) {
        int64_t confirmed;
        subject = subject_of(work, asked);
        return confirm_token_check(work, &subject, request->confirmation, &confirmed, err) &&
               confirm_token_check_growth(&confirm_sends, confirmed, recipients_of(asked), err);
    }
    /* The target of a scheduled send can still change until it begins. */
    bool is_target_open = request->scheduled_at_us.set && asked->keys.items == NULL;
    /* The caller may have meant other people. */
    bool is_surprising = asked->accepted->skipped_count > 0 || asked->accepted->unknown_count > 0;
    *ret_is_due = is_target_open || is_surprising || recipients_of(asked) > request->confirm_above.value;
    return true;
}

/* ---- Using up a token ---- */

bool confirm_use(const struct work *work, const char *token, int64_t send_id, struct error *err)
{
    struct confirm_result made = { .send_id = { .set = true, .value = send_id } };
    return confirm_token_use(work, &confirm_sends, token, made, err);
}
