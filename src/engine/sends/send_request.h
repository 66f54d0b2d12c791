/*
 * Order: the checks of what a caller asks for, shared by campaigns and test
 * messages. Part of the sends domain; not for others.
 */
#pragma once

#include "engine/sends/sends.h"
#include "mail/address.h"

/* A short list without doubles, as it is stored. */
struct inline_list {
    const char **mailboxes;
    const char **keys;   /* merge keys */
    const char **hashes; /* keyed hashes of the keys, hexadecimal */
    size_t count;
};

/* What checking an order gives, step by step. */
struct checked_request {
    const char *target; /* all, audience or inline */
    int64_t audience_id;
    struct inline_list list;
    unsigned char target_hash[SECRET_HASH_BYTES];
    struct bytes subject_code;
    struct bytes html_code; /* data NULL: that of the version */
    int64_t version_id;
    const struct send_domain_row *domain;
    const char *from_address;
    const char *sender_name;
    const char *reply_to;
};

/* Exactly one target, its addresses well formed. Errors: INVALID_REQUEST (audienceId, to). */
MUST_CHECK bool send_request_check_target(const struct work *work, const struct send_request *request,
                                          struct checked_request *checked, struct error *err) NONNULL(1, 2, 3, 4);

/* In the future, and not too far. Errors: INVALID_REQUEST (scheduledAt). */
MUST_CHECK bool send_request_check_schedule(const struct work *work, struct opt_int scheduled_at_us, struct error *err)
    NONNULL(1, 3);

/* Compiles the subject. Errors: INVALID_REQUEST (subject). */
MUST_CHECK bool send_request_compile_subject(const struct work *work, const char *subject, struct bytes *ret_code,
                                             struct error *err) NONNULL(1, 2, 3, 4);

/* An address, white space around it allowed. Errors: INVALID_REQUEST naming `param`. */
MUST_CHECK bool send_request_parse_address(const struct work *work, const char *text, const char *param,
                                           struct address *ret_address, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The sender named, or the default of the domain; needs checked->domain. Errors: INVALID_REQUEST (from.email, from.name,
 * replyTo). */
MUST_CHECK bool send_request_choose_sender(const struct work *work, const struct send_request *request,
                                           struct checked_request *checked, struct error *err) NONNULL(1, 2, 3, 4);

/* A design that can be sent. Errors: EMAIL_NOT_READY. */
MUST_CHECK bool send_request_check_email(const char *status, struct opt_int version_id, struct error *err) NONNULL(1, 3);

/* Always false. */
bool send_request_no_email(struct error *err) NONNULL(1);

/* A domain (NULL: not found) that can deliver; `purpose` NULL when any will do.
 * Errors: DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, DOMAIN_PURPOSE_NOT_ALLOWED, SERVICE_UNAVAILABLE. */
MUST_CHECK bool send_request_check_domain(const struct send_domain_row *domain, const char *purpose, struct error *err) NONNULL(3);

/* The HTML of a version with another preview text, compiled. Errors: EMAIL_NOT_FOUND, INVALID_REQUEST (previewText). */
MUST_CHECK bool send_request_replace_preview(const struct work *work, int64_t version_id, const char *preview_text,
                                             struct bytes *ret_code, struct error *err) NONNULL(1, 3, 4, 5);
