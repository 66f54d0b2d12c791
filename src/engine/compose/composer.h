/*
 * Composer: makes the message of each recipient of a send. Everything that is
 * the same for all of them (templates, sender, fixed headers) is prepared once;
 * then a message costs three evaluations and one encoding, without a query.
 *
 * Marketing mail gets what mailboxes ask of it (list_mail.h), and a way out:
 * where a text of the design does not show {{ unsubscribeUrl }} to a recipient,
 * a last line does. It cannot be composed without one.
 *
 * The same recipient of the same send always gives the same bytes, so a message
 * composed again after a crash is the same message. A composer belongs to one
 * thread and lives in the arena it was made in.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/message.h"

struct composer;

enum message_class { MESSAGE_TRANSACTIONAL, MESSAGE_MARKETING };

/* What the messages of a send have in common. */
struct composer_design {
    struct bytes subject_code;
    struct bytes html_code;
    struct bytes text_code;
    const char *from_address;
    const char *sender_name; /* NULL: none */
    const char *reply_to;    /* NULL: none */
    const char *domain;      /* of the sender */
    const char *brand_json;  /* an object: the brand as templates see it */
    enum message_class message_class;
    int64_t send_id; /* 0: a test message, whose links unsubscribe nobody */
};

struct composer_recipient {
    const char *email;
    const char *email_key;
    int64_t ordinal;        /* in the send */
    const char *first_name; /* from here on NULL when not known */
    const char *last_name;
    const char *user_id;
    struct text_list fields; /* in the order of composer_fields */
};

/* Prepares the common part, for the brand and organization of `work`. Errors: INVALID_REQUEST naming fromAddress, senderName
 * or replyTo; INTERNAL_ERROR when a stored template is damaged. */
MUST_CHECK bool composer_new(const struct work *work, const struct composer_design *design, struct composer **ret_composer,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The custom fields that the templates name; possibly none. */
struct text_list composer_fields(const struct composer *composer) NONNULL(1);

/* The message, valid until the next one is composed. `token` is the local part of its Message-ID.
 * Errors: INVALID_REQUEST when it cannot be composed for this recipient. */
MUST_CHECK bool composer_write(struct composer *composer, const struct composer_recipient *recipient, const char *token,
                               int64_t date_us, struct bytes *ret_message, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* ---- A look before sending ---- */

/* Whether the design shows these to its recipients. */
bool composer_names_first_name(const struct composer *composer) NONNULL(1);
bool composer_names_last_name(const struct composer *composer) NONNULL(1);

/* What a recipient would see, valid until the next message or look. */
struct composer_sample {
    const char *subject;
    const char *text; /* without what is added to marketing mail */
    bool shows_link;  /* the design itself shows the unsubscribe link */
};

/* Errors: INVALID_REQUEST when it cannot be composed for this recipient. */
MUST_CHECK bool composer_look(struct composer *composer, const struct composer_recipient *recipient,
                              struct composer_sample *ret_sample, struct error *err) NONNULL(1, 2, 3, 4);
