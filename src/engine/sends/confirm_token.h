/*
 * Confirmation tokens: the seal on the preview of a send or a launch, and the
 * answers that both share. A token is bound to the organization, the brand, the
 * credential, the hash of the checked request, the previewed version, and the
 * number of recipients, which may grow a little. It expires, and is used once, or
 * declined. An assistant gets a short token in its place (short_tokens.h).
 *
 * Tokens are allocated in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

enum {
    CONFIRM_LIFETIME_S = 15 * 60,
    CONFIRM_GROWTH = 10,        /* allowed growth of the number of recipients since the preview, */
    CONFIRM_GROWTH_PERCENT = 1, /* or in percent; the larger one applies */
};

/* What is confirmed, with its words for messages. */
struct confirm_kind {
    const char *purpose; /* of the seal */
    const char *tool;
    const char *object;          /* what the version belongs to */
    const char *unconfirmed;     /* the message of the preview */
    const char *declined_status; /* answers to a user who has declined */
    const char *declined;
    const char *was_made; /* refuses to decline what was confirmed before */
};
extern const struct confirm_kind confirm_sends;
extern const struct confirm_kind confirm_launches;

/* The request that a token confirms. */
struct confirm_subject {
    const struct confirm_kind *kind;
    int64_t key_id;
    int64_t version_id;
    unsigned char request[SECRET_HASH_BYTES];
};

/* Makes the token of a request: a sealed one, or its short token for an assistant. */
const char *confirm_token_seal(const struct work *work, const struct confirm_subject *subject, int64_t recipient_count,
                               int64_t *ret_expires_at_us) NONNULL(1, 2, 4) RETURNS_NONNULL;

/* Checks the token of a request, and returns the number of recipients that it confirms.
 * Errors: INVALID_REQUEST (confirmationToken). */
MUST_CHECK bool confirm_token_check(const struct work *work, const struct confirm_subject *subject, const char *token,
                                    int64_t *ret_recipient_count, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Refuses more recipients than were confirmed, beyond the allowed growth. Errors: as above. */
MUST_CHECK bool confirm_token_check_growth(const struct confirm_kind *kind, int64_t confirmed, int64_t now, struct error *err)
    NONNULL(1, 4);

/* What a token was used for: one member is set. */
struct confirm_result {
    struct opt_int send_id;
    struct opt_int audience_run_id;
};

/* Marks the token as used. confirm_token_check has accepted it before. Errors: as above, when it was used or declined before. */
MUST_CHECK bool confirm_token_use(const struct work *work, const struct confirm_kind *kind, const char *token,
                                  struct confirm_result made, struct error *err) NONNULL(1, 2, 3, 5);

/* Uses up the token of a preview that the user has declined. Declining it once more is no error.
 * Errors: as above, when it was used already, or is not one of this caller. */
MUST_CHECK bool confirm_token_decline(const struct work *work, const struct confirm_kind *kind, const char *token, int64_t key_id,
                                      struct error *err) NONNULL(1, 2, 3, 5);

/* ---- Answers ---- */

/* The answer that asks for a confirmation. The caller writes the members of its preview between the two functions. */
void confirm_preview_begin(const struct confirm_kind *kind, const char *token, int64_t expires_at_us, struct json_writer *json)
    NONNULL(1, 2, 4);
void confirm_preview_end(struct json_writer *json) NONNULL(1);

/* The answer after confirm_token_decline. */
void confirm_write_declined(const struct confirm_kind *kind, struct json_writer *json) NONNULL(1, 2);
