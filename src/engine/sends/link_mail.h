/*
 * Link mail: a person types an address on the form of a brand and gets an
 * unsubscribe link by mail. The call answers the same for every address. The job
 * send_link finds out whether the brand knows the address, and sends one mail an
 * hour for an address and brand.
 *
 * The brand knows the addresses of its contacts and of its events. A mail goes to
 * the stored mailbox, not to the typed one. An address that is suppressed by a
 * bounce, a complaint or the operator gets none.
 *
 * Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

/* The brand of a form. */
struct link_form {
    int64_t organization_id;
    const char *brand_name;
    bool is_available; /* a verified domain, a relay and a public URL exist */
    int64_t domain_id;
    const char *domain;
    const char *from_address;
    const char *sender_name;
    const char *reply_to; /* NULL: none */
};

/* Finds the brand of a form. Errors: NOT_FOUND (brand). */
MUST_CHECK bool link_form_find(const struct work *work, int64_t brand_id, struct link_form *ret_form, struct error *err)
    NONNULL(1, 3, 4);

/* Reads a typed address. Errors: INVALID_REQUEST (email). */
MUST_CHECK bool link_mail_read_address(const struct work *work, const char *text, const char **ret_email_key, struct error *err)
    NONNULL(1, 2, 3, 4);

struct link_mail {
    struct link_form form;
    const char *to; /* NULL: nothing is to be sent */
    struct bytes message;
};

/* Finds the mailbox of an address of the brand of `work`, claims the mail of this hour for the job, and composes it. `public_url`
 * is the base of the link. A repetition by the same job composes it again. */
MUST_CHECK bool link_mail_compose(const struct work *work, const char *email_key, const char *public_url, int64_t job_id,
                                  struct link_mail *ret_mail, struct error *err) NONNULL(1, 2, 3, 5, 6);
