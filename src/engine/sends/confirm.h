/*
 * Send confirmation: an assistant's send to more recipients than the operator's
 * limit needs a confirmation. So does a list with addresses that are no contact
 * or get no mail, and a scheduled send to all or an audience, because its
 * recipients can still change. The first call writes nothing; it returns a
 * preview and a token. The same call with the token sends. The token is bound to
 * the organization, the brand, the credential, the checked request (including
 * design version and sender), and the number of recipients, which may grow a
 * little (confirm_token.h). It expires after CONFIRM_LIFETIME_S. It confirms one
 * send, or none when the user has declined it.
 *
 * Private to the sends module, except the preview, which transports show.
 */
#pragma once

#include "engine/sends/send_request.h"

enum {
    PREVIEW_TEXT_CHARS = 400,
    PREVIEW_WARNINGS_MAX = 24, /* more than there can be */
};

struct send_preview {
    const char *token;
    int64_t expires_at_us;
    int64_t recipient_count;   /* recipients that can be mailed now */
    const char *audience_name; /* NULL for all and for an inline list */
    const char *target;        /* all, audience or inline */
    const char *from;          /* name and address */
    const char *reply_to;      /* NULL: none */
    struct opt_int scheduled_at_us;
    const struct gradual_plan *gradual; /* NULL: not gradual */
    int64_t first_tranche_us;
    const char *sample_recipient;
    const char *subject; /* subject and text as the sample recipient would see them */
    const char *text;
    const char *warnings[PREVIEW_WARNINGS_MAX];
    size_t warning_count;
};

/* A request that passed its checks, and its eligible recipients. */
struct confirmable {
    const struct send_request *request;
    const struct checked_request *checked;
    struct text_list keys; /* of an inline list: keys that can be mailed; items NULL: the target is not an inline list */
    const struct send_accepted *accepted; /* its figures: recipients, skipped and unknown addresses */
    struct opt_int target_count;          /* recipients of another target now; set when there is a token */
};

/* Decides whether a request needs a confirmation. A request with a token needs none: it is checked against the token instead.
 * Errors: INVALID_REQUEST (confirmationToken). */
MUST_CHECK bool confirm_check(const struct work *work, const struct confirmable *asked, bool *ret_is_due, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Makes the preview of a request that needs a confirmation, with its token. Writes nothing to the database. */
MUST_CHECK bool confirm_preview(const struct work *work, const struct confirmable *asked, const struct send_preview **ret_preview,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* Marks the token as used by the send. confirm_check has accepted it before.
 * Errors: INVALID_REQUEST (confirmationToken) when it was used before. */
MUST_CHECK bool confirm_use(const struct work *work, const char *token, int64_t send_id, struct error *err) NONNULL(1, 2, 4);

/* Makes the token of a request: a sealed one, or its short token for an assistant. */
const char *confirm_seal(const struct work *work, const struct confirmable *asked, int64_t recipient_count,
                         int64_t *ret_expires_at_us) NONNULL(1, 2, 4) RETURNS_NONNULL;

/* The resource "sendConfirmation" (confirm_json.c). */
void send_write_preview(const struct send_preview *preview, struct json_writer *json) NONNULL(1, 2);

/* The preview as a question for a person. */
const char *send_preview_question(struct arena *arena, const struct send_preview *preview) NONNULL(1, 2) RETURNS_NONNULL;
