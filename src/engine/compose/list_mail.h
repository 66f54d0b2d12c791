/*
 * What only mail to many carries: the headers by which mailboxes file it, tell
 * of complaints and let people leave (RFC 2919, RFC 2369, RFC 8058, and Gmail's
 * Feedback-ID), and, where a design shows no way to leave, a last line that
 * does. Transactional mail has none of it.
 *
 * Made once a send by its composer, in whose arena it lives; read-only then.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/header.h"

enum { LIST_MAIL_MAX_HEADERS = 4, LIST_MAIL_FOOTER_MAX_BYTES = 16 * 1024 };

struct list_mail {
    struct header headers[LIST_MAIL_MAX_HEADERS]; /* the same for all recipients */
    size_t header_count;
    bool offers_link;        /* in List-Unsubscribe: the link leads to a page of ours */
    const char *html_before; /* the footer, up to the link */
    const char *html_behind;
    const char *text_before;
};

/* What is said of a send. */
struct list_mail_names {
    int64_t send_id;           /* 0: a test message */
    const char *class_name;    /* marketing */
    const char *domain;        /* of the sender */
    const char *brand_name;    /* NULL: not shown */
    const char *brand_address; /* postal, in lines; NULL: not shown */
};

struct list_mail list_mail_new(const struct work *work, const struct list_mail_names *names) NONNULL(1, 2);

/* Adds the way out to a text that shows none; in HTML where its body ends. */
void list_mail_add_to_html(const struct list_mail *list, const char *link, struct buf *html) NONNULL(1, 2, 3);
void list_mail_add_to_text(const struct list_mail *list, const char *link, struct buf *text) NONNULL(1, 2, 3);
