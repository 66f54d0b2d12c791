#include "jobs/types/relay_message.h"

#include "base/text.h"
#include "engine/domains/signing.h"
#include "sender/sender.h"

enum { RELAY_WAIT_MS = 25 * 1000, SIGNATURES_MAX_BYTES = 16 * 1024 };

static bool sign(struct job *job, const struct relayed_message *message, struct bytes *ret_signatures, struct error *err)
{
    struct work work = job->work;
    work.brand_id = message->domain_brand_id;
    struct dkim_key_list keys;
    *ret_signatures = (struct bytes){ .size = 0 };
    if (!sender_signs(job->services->sender))
        return true;
    if (!domain_signing_keys(&work, message->domain_id, work.arena, &keys, err))
        return false;
    if (keys.count == 0)
        return true;
    struct buf *out = buf_in_arena(work.arena, SIGNATURES_MAX_BYTES);
    if (!dkim_sign(dkim_signer_new(work.arena, keys), message->message, work.now_us, out, err))
        return false;
    *ret_signatures = (struct bytes){ (const unsigned char *)buf_text(out), out->size };
    return true;
}

bool relay_message(struct job *job, const struct relayed_message *message, bool *ret_is_uncertain, struct error *err)
{
    struct single_message single = {
        .mail_from = message->from_address,
        .return_path = message->return_path,
        .rcpt_to = message->to,
        .needs_smtputf8 = !text_is_ascii(message->to) || !text_is_ascii(message->from_address) ||
                          (message->reply_to != NULL && !text_is_ascii(message->reply_to)),
        .message = message->message,
    };
    if (ret_is_uncertain != NULL)
        *ret_is_uncertain = false;
    return sign(job, message, &single.signatures, err) &&
           sender_deliver(job->services->sender, &single, RELAY_WAIT_MS, ret_is_uncertain, err);
}
