/*
 * Composer: writes the message of each recipient of a send (mail merge). The
 * common parts (templates, sender, fixed headers) are prepared once. Each
 * message then costs three template evaluations and one encoding, and no query.
 *
 * Marketing mail gets the headers of list_mail.h. It always has an unsubscribe
 * link: where the design does not show {{ unsubscribeUrl }} to a recipient, the
 * composer adds a footer with the link.
 *
 * Composing is deterministic: the same recipient of the same send gives the
 * same bytes, also after a crash. A composer belongs to one thread and is
 * allocated in the arena of the work passed to composer_new.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/message.h"

#include <jansson.h>

struct composer;

enum message_class { MESSAGE_TRANSACTIONAL, MESSAGE_MARKETING };

/* The parts that all messages of a send share. */
struct composer_design {
    struct bytes subject_code;
    struct bytes html_code;
    struct bytes text_code;
    const char *from_address;
    const char *sender_name; /* NULL: none */
    const char *reply_to;    /* NULL: none */
    const char *domain;      /* the sender's domain */
    const char *brand_json;  /* the object that templates read as `brand` */
    enum message_class message_class;
    int64_t send_id;          /* 0: a test message; its links unsubscribe nobody, and none is tracked */
    bool is_sample;           /* it has tracked links although it belongs to no send; nobody gets it */
    const char *tracking_url; /* base URL of tracked links and of the picture that reports opens; NULL: nothing is tracked */
    bool receives_reports;    /* of other mail systems at the domain of the sender (return_path.h) */
};

struct composer_recipient {
    const char *email;
    const char *email_key;
    int64_t ordinal;        /* in the send */
    const char *first_name; /* the three names are NULL when unknown */
    const char *last_name;
    const char *user_id;
    struct text_list fields; /* in the order of composer_fields */
    const json_t *payload;   /* of the event that caused the message; NULL: none */
};

/* Prepares the common parts for the brand and organization of `work`. Errors: INVALID_REQUEST naming fromAddress, senderName
 * or replyTo; INTERNAL_ERROR when a stored template is damaged. */
MUST_CHECK bool composer_new(const struct work *work, const struct composer_design *design, struct composer **ret_composer,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The custom fields that the templates use; the list may be empty. */
struct text_list composer_fields(const struct composer *composer) NONNULL(1);

/* Writes the message of one recipient. It is valid until the next call. `token` is the local part of its Message-ID.
 * Errors: INVALID_REQUEST when it cannot be composed for this recipient. */
MUST_CHECK bool composer_write(struct composer *composer, const struct composer_recipient *recipient, const char *token,
                               int64_t date_us, struct bytes *ret_message, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* The texts of the last message of composer_write, before its encoding; valid until the next message or preview. */
struct composer_texts {
    const char *subject;
    const char *html;
    const char *text;
};
struct composer_texts composer_last_texts(const struct composer *composer) NONNULL(1);

/* ---- Empty values ---- */

enum { COMPOSER_EMPTY_VALUES_MAX = 100 };

/* A placeholder without a value for a recipient. */
struct empty_value {
    const char *path;
    const char *fallback; /* the text that is shown in its place; NULL: nothing, or it depends on the place */
};
struct empty_values {
    struct empty_value items[COMPOSER_EMPTY_VALUES_MAX];
    size_t count;
    bool has_more;
};

/* Collects the placeholders of the design that have no value for this recipient; paths inside list items are not checked. The texts
 * live as long as the design's code. */
void composer_empty_values(struct composer *composer, const struct composer_recipient *recipient, struct empty_values *ret_values)
    NONNULL(1, 2, 3);

/* ---- Previews ---- */

/* True when the design uses the recipient's first name, or last name. */
bool composer_uses_first_name(const struct composer *composer) NONNULL(1);
bool composer_uses_last_name(const struct composer *composer) NONNULL(1);

/* The texts that a recipient would see, valid until the next message or preview. */
struct composer_sample {
    const char *subject;
    const char *text; /* without the footer of marketing mail */
    bool shows_link;  /* the design itself shows the unsubscribe link */
};

/* Composes a preview for one recipient, with the link of previews (UNSUBSCRIBE_PREVIEW_URL). Errors: INVALID_REQUEST when it cannot
 * be composed for this recipient. */
MUST_CHECK bool composer_preview(struct composer *composer, const struct composer_recipient *recipient,
                                 struct composer_sample *ret_sample, struct error *err) NONNULL(1, 2, 3, 4);
