/*
 * Confirmation: before an assistant's send to more recipients than the operator
 * lets pass, it is shown what would go out to whom. Nothing is written then; the
 * preview brings a token that stands for exactly this request, asked for again
 * with it. The token is bound to the organization, the brand, the credential,
 * the order as it was checked (design version and sender included), and the
 * number of recipients; it holds for a quarter of an hour and for one send.
 *
 * Part of the sends domain, but for the preview, which doors show.
 */
#pragma once

#include "engine/sends/send_request.h"

enum {
    CONFIRM_LIFETIME_S = 15 * 60,
    CONFIRM_GROWTH = 10,        /* so many more recipients than were confirmed are let pass, */
    CONFIRM_GROWTH_PERCENT = 1, /* or so many percent, whichever is more */
    PREVIEW_TEXT_CHARS = 400,
    PREVIEW_WARNINGS_MAX = 16,
};

struct send_preview {
    const char *token;
    int64_t expires_at_us;
    int64_t recipient_count;   /* who may be mailed now */
    const char *audience_name; /* NULL for all and for a list */
    const char *target;        /* all, audience or inline */
    const char *from;          /* name and address */
    const char *reply_to;      /* NULL: none */
    struct opt_int scheduled_at_us;
    const char *sample_recipient;
    const char *subject; /* as the sample would see it, as is the text */
    const char *text;
    const char *warnings[PREVIEW_WARNINGS_MAX];
    size_t warning_count;
};

/* An order that passed its checks, and what was found of its target. */
struct confirmable {
    const struct send_request *request;
    const struct checked_request *checked;
    struct text_list keys; /* of a short list: those that may be mailed; items NULL: the target is no list */
};

/* Whether the order has to be confirmed before it may be accepted; one that brings a token has been, or is refused.
 * Errors: INVALID_REQUEST (confirmationToken). */
MUST_CHECK bool confirm_check(const struct work *work, const struct confirmable *asked, bool *ret_is_due, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Shows the order to whoever has to confirm it. */
MUST_CHECK bool confirm_preview(const struct work *work, const struct confirmable *asked, const struct send_preview **ret_preview,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* Uses the token of the request, which confirm_check has seen, for the send just written.
 * Errors: INVALID_REQUEST (confirmationToken) when it was used before. */
MUST_CHECK bool confirm_use(const struct work *work, const char *token, int64_t send_id, struct error *err) NONNULL(1, 2, 4);

/* A token for the request, good from now on. */
char *confirm_seal(const struct work *work, const struct confirmable *asked, int64_t recipient_count, int64_t *ret_expires_at_us)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* The resource "sendConfirmation" (confirm_json.c). */
void send_write_preview(const struct send_preview *preview, struct json_writer *json) NONNULL(1, 2);

/* The same as a question to a person. */
const char *send_preview_question(struct arena *arena, const struct send_preview *preview) NONNULL(1, 2) RETURNS_NONNULL;
