#include "engine/sends/confirm.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/core/short_tokens.h"
#include "engine/sends/gradual.h"
#include "engine/sends/target.h"
#include "sql/confirm.h"

#include <assert.h>
#include <string.h>

static const char param[] = "confirmationToken";
static const char purpose[] = "send confirmation";

/* The payload of a confirmation token. */
struct confirmed {
    int64_t organization_id;
    int64_t brand_id;
    int64_t key_id;
    int64_t version_id;
    int64_t recipient_count;
    int64_t expires_at_us;
    unsigned char request[SECRET_HASH_BYTES];
    unsigned char nonce[16];
};

static_assert(sizeof(struct confirmed) == 6 * sizeof(int64_t) + SECRET_HASH_BYTES + 16, "a token holds no padding");

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

const char *confirm_seal(const struct work *work, const struct confirmable *asked, int64_t recipient_count,
                         int64_t *ret_expires_at_us)
{
    struct confirmed confirmed = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .key_id = asked->request->key_id,
        .version_id = asked->checked->version_id,
        .recipient_count = recipient_count,
        .expires_at_us = work->now_us + CONFIRM_LIFETIME_S * US_PER_S,
    };
    hash_previewed_request(work, asked, confirmed.request);
    random_bytes(confirmed.nonce, sizeof(confirmed.nonce));
    *ret_expires_at_us = confirmed.expires_at_us;
    const char *sealed = token_seal(work->arena, &work->engine->token_keys, purpose, &confirmed, sizeof(confirmed));
    return short_token_issue(work, SHORT_CONFIRMATION, &confirmed, sizeof(confirmed), sealed);
}

static bool open_token(const struct work *work, const char *token, struct confirmed *ret_confirmed)
{
    struct bytes payload;
    const char *sealed = short_token_sealed(work, token);
    if (sealed == NULL || !token_open(work->arena, &work->engine->token_keys, purpose, sealed, &payload) ||
        payload.size != sizeof(*ret_confirmed))
        return false;
    memcpy(ret_confirmed, payload.data, sizeof(*ret_confirmed));
    return true;
}

/* ---- Checking a token ---- */

static bool refuse_token(struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, param,
                "confirmationToken is not valid. Copy it from the preview, or call send_email without it for a new preview.");
}

static bool check_caller(const struct work *work, int64_t key_id, const struct confirmed *confirmed, struct error *err)
{
    bool is_callers =
        confirmed->organization_id == work->organization_id && confirmed->brand_id == work->brand_id && confirmed->key_id == key_id;
    return is_callers ||
           fail(err, ERR_INVALID_REQUEST, param,
                "This confirmationToken belongs to another caller or another brand. Call send_email without it for a new preview.");
}

static bool check_expiry(const struct work *work, const struct confirmed *confirmed, struct error *err)
{
    return confirmed->expires_at_us > work->now_us ||
           fail(err, ERR_INVALID_REQUEST, param,
                "This confirmation has expired. Call send_email without confirmationToken for a new preview.");
}

static bool check_arguments(const struct work *work, const struct confirmable *asked, const struct confirmed *confirmed,
                            struct error *err)
{
    unsigned char request[SECRET_HASH_BYTES];
    hash_previewed_request(work, asked, request);
    if (memcmp(request, confirmed->request, sizeof(request)) != 0)
        return fail(
            err, ERR_INVALID_REQUEST, param,
            "The arguments differ from the preview. Repeat the previewed arguments, or call send_email without confirmationToken.");
    return confirmed->version_id == asked->checked->version_id ||
           fail(err, ERR_INVALID_REQUEST, param,
                "The design was changed after the preview. Call send_email without confirmationToken for a new one.");
}

static bool count_now(const struct work *work, const struct confirmable *asked, int64_t *ret_count, struct error *err)
{
    const struct checked_request *checked = asked->checked;
    struct send_target target = { .is_all = strcmp(checked->target, "all") == 0, .audience_id = checked->audience_id };
    *ret_count = asked->accepted->recipient_count.value;
    return asked->accepted->recipient_count.set || send_target_count(work, target, ret_count, err);
}

static bool check_growth(int64_t confirmed, int64_t now, struct error *err)
{
    int64_t share = confirmed * CONFIRM_GROWTH_PERCENT / 100;
    int64_t growth = share > CONFIRM_GROWTH ? share : CONFIRM_GROWTH;
    return now - confirmed <= growth || fail(err, ERR_INVALID_REQUEST, param,
                                             "%lld recipients were confirmed and there are %lld now. Call send_email without "
                                             "confirmationToken for a new preview.",
                                             (long long)confirmed, (long long)now);
}

bool confirm_check(const struct work *work, const struct confirmable *asked, bool *ret_is_due, struct error *err)
{
    const struct send_request *request = asked->request;
    struct confirmed confirmed;
    int64_t count;
    *ret_is_due = false;
    if (request->confirmation == NULL && !request->confirm_above.set)
        return true;
    if (request->confirmation != NULL) {
        if (!open_token(work, request->confirmation, &confirmed))
            return refuse_token(err);
        return check_caller(work, request->key_id, &confirmed, err) && check_expiry(work, &confirmed, err) &&
               check_arguments(work, asked, &confirmed, err) && count_now(work, asked, &count, err) &&
               check_growth(confirmed.recipient_count, count, err);
    }
    if (!count_now(work, asked, &count, err))
        return false;
    /* The target of a scheduled send can still change until it begins. */
    bool is_target_open = request->scheduled_at_us.set && asked->keys.items == NULL;
    /* The caller may have meant other people. */
    bool is_surprising = asked->accepted->skipped_count > 0 || asked->accepted->unknown_count > 0;
    *ret_is_due = is_target_open || is_surprising || count > request->confirm_above.value;
    return true;
}

/* ---- Using up a token ---- */

/* Hashes the payload, not the token text: the same payload has more than one base64url encoding. */
static void hash_token(const struct confirmed *confirmed, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    sha256(confirmed, sizeof(*confirmed), ret_hash);
}

bool confirm_use(const struct work *work, const char *token, int64_t send_id, struct error *err)
{
    struct confirmed confirmed = { .expires_at_us = 0 };
    unsigned char hash[SECRET_HASH_BYTES];
    if (!open_token(work, token, &confirmed))
        return refuse_token(err);
    hash_token(&confirmed, hash);
    struct send_confirmation_use_params params = {
        .brand_id = work->brand_id,
        .token_hash = { hash, sizeof(hash) },
        .send_id = send_id,
        .expires_at = confirmed.expires_at_us,
        .now = work->now_us,
    };
    struct send_confirmation_use_row *row;
    if (!sql_send_confirmation_use(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_INVALID_REQUEST, param,
                               "This confirmationToken has already been used or declined. Call send_email without "
                               "confirmationToken for a new preview.");
}

bool confirm_decline(const struct work *work, const char *token, int64_t key_id, struct error *err)
{
    struct confirmed confirmed = { .expires_at_us = 0 };
    unsigned char hash[SECRET_HASH_BYTES];
    if (!open_token(work, token, &confirmed))
        return refuse_token(err);
    if (!check_caller(work, key_id, &confirmed, err))
        return false;
    hash_token(&confirmed, hash);
    struct send_confirmation_decline_params params = {
        .brand_id = work->brand_id,
        .token_hash = { hash, sizeof(hash) },
        .expires_at = confirmed.expires_at_us,
    };
    struct send_confirmation_decline_row *row;
    if (!sql_send_confirmation_decline(work->conn, work->arena, &params, &row, err))
        return false;
    return !row->was_sent || fail(err, ERR_INVALID_REQUEST, param,
                                  "The send was confirmed before, so it cannot be declined. Cancel the send instead.");
}
