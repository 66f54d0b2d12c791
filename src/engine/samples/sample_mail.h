/*
 * Sample mail: the message that one contact of the brand would get, for checks
 * and pictures of a design. It is composed as a send composes it, with the values
 * of the oldest subscribed contact; a brand without contacts has those of an
 * invented one, as have pictures that strangers may see. Nothing is sent: its
 * unsubscribe link unsubscribes nobody, and its tracked links belong to no send.
 *
 * The texts live in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

struct sample_mail {
    int64_t email_id;
    int64_t version_id;
    bool is_marketing;

    /* The design, with its merge tags. */
    const char *design_html;
    const char *design_text;
    const char *subject;      /* "" when the design has none */
    const char *preview_text; /* NULL: none */

    /* As the contact gets it. */
    const char *shown_subject;
    const char *html;         /* with the footer; its links are those of the design */
    const char *tracked_html; /* with tracked links; the same as `html` where nothing is tracked */
    const char *text;
    struct bytes message; /* all of it (RFC 5322), without tracked links; it is not signed */

    /* The brand and its sender. */
    const char *recipient;
    const char *postal_address; /* of the brand; NULL: none */
    int64_t domain_id;
    const char *domain;
    bool is_sandbox; /* the brand has no verified domain: this one captures mail */
    const char *from_address;

    struct sample_empty_values {
        const char *path; /* a merge tag: firstName, plan */
        int64_t contacts; /* subscribed contacts of the brand */
        int64_t empty;    /* those without a value */
    } * empty_values;
    size_t empty_value_count; /* tags that a contact has no value for; the first ones */
};

struct sample_mail_request {
    int64_t email_id;
    int64_t version_id; /* 0: the latest */
    bool is_marketing;
    bool is_transactional;    /* neither: as the domain of the sender says */
    bool counts_empty_values; /* which takes a look at all contacts */

    bool has_invented_contact; /* the values of no contact are shown */
};

/* Errors: EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND, EMAIL_NOT_READY; INVALID_REQUEST when it cannot be composed. */
MUST_CHECK bool sample_mail_compose(const struct work *work, const struct sample_mail_request *request,
                                    struct sample_mail *ret_mail, struct error *err) NONNULL(1, 2, 3, 4);
