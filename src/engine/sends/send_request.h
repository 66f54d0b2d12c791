/*
 * Send request: validation of the caller's arguments, shared by campaigns, test
 * messages and the mail of automations (engine/delivery/carriers.h).
 */
#pragma once

#include "engine/sends/sends.h"
#include "mail/address.h"

/* An inline list of addresses without duplicates, as it is stored. */
struct inline_list {
    const char **mailboxes;
    const char **keys;   /* merge keys */
    const char **hashes; /* keyed hashes of the keys, hexadecimal */
    size_t count;
    size_t duplicate_count; /* addresses that were left out because their key is in the list */
};

/* The results of the checks; each check fills some members. */
struct checked_request {
    const char *target; /* all, audience or inline */
    int64_t audience_id;
    struct inline_list list;
    unsigned char target_hash[SECRET_HASH_BYTES];
    struct bytes subject_code;
    struct bytes html_code; /* data NULL: the version's own */
    int64_t version_id;
    const struct send_domain_row *domain;
    const char *from_address;
    const char *sender_name;
    const char *reply_to;
    bool needs_approval; /* approval.h */
};

/* Checks that there is exactly one target, with valid addresses. Errors: INVALID_REQUEST (audienceId, to). */
MUST_CHECK bool send_request_check_target(const struct work *work, const struct send_request *request,
                                          struct checked_request *checked, struct error *err) NONNULL(1, 2, 3, 4);

/* Checks that the time is in the future and at most SEND_SCHEDULE_MAX_DAYS ahead. Errors: INVALID_REQUEST (scheduledAt). */
MUST_CHECK bool send_request_check_schedule(const struct work *work, struct opt_int scheduled_at_us, struct error *err)
    NONNULL(1, 3);

/* Compiles the subject. Errors: INVALID_REQUEST (subject). */
MUST_CHECK bool send_request_compile_subject(const struct work *work, const char *subject, struct bytes *ret_code,
                                             struct error *err) NONNULL(1, 2, 3, 4);

/* Parses an address; white space around it is allowed. Errors: INVALID_REQUEST naming `param`. */
MUST_CHECK bool send_request_parse_address(const struct work *work, const char *text, const char *param,
                                           struct address *ret_address, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Chooses the sender of the request, or the domain's default; needs checked->domain. Errors: INVALID_REQUEST (from.email,
 * from.name, replyTo). */
MUST_CHECK bool send_request_choose_sender(const struct work *work, const struct send_request *request,
                                           struct checked_request *checked, struct error *err) NONNULL(1, 2, 3, 4);

/* Checks that the design is ready. Errors: EMAIL_NOT_READY. */
MUST_CHECK bool send_request_check_email(const char *status, struct opt_int version_id, struct error *err) NONNULL(1, 3);

/* Fails with EMAIL_NOT_FOUND. Always false. */
bool send_request_no_email(struct error *err) NONNULL(1);

/* Checks that the domain (NULL: not found) is verified. `purpose` NULL accepts any sending purpose.
 * Errors: DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, DOMAIN_PURPOSE_NOT_ALLOWED. */
MUST_CHECK bool send_request_check_domain(const struct send_domain_row *domain, const char *purpose, struct error *err) NONNULL(3);

/* Checks that a process can deliver mail of the domain. Comes after all checks of arguments, because the caller cannot mend it.
 * Errors: DOMAIN_NOT_READY, which no client retries. */
MUST_CHECK bool send_request_check_relay(const struct send_domain_row *domain, struct error *err) NONNULL(1, 2);

/* Checks a preview text (NULL: none) without its design. Errors: INVALID_REQUEST (previewText). */
MUST_CHECK bool send_request_check_preview(const struct work *work, const char *preview_text, struct error *err) NONNULL(1, 3);

/* Compiles the HTML of a version with another preview text. Errors: EMAIL_NOT_FOUND, INVALID_REQUEST (previewText). */
MUST_CHECK bool send_request_replace_preview(const struct work *work, int64_t version_id, const char *preview_text,
                                             struct bytes *ret_code, struct error *err) NONNULL(1, 3, 4, 5);
