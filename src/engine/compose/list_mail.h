/*
 * List mail: the headers and the unsubscribe footer of marketing mail. Mailbox
 * providers use the headers to sort it, to report complaints and to offer an
 * unsubscribe button (List-Id of RFC 2919, List-Unsubscribe of RFC 2369 and
 * RFC 8058, and Gmail's Feedback-ID). The footer is added where a design does
 * not show the unsubscribe link. Transactional mail has neither.
 *
 * The composer of a send makes it once, in its arena. It is read-only then.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/header.h"

enum { LIST_MAIL_MAX_HEADERS = 4, LIST_MAIL_FOOTER_MAX_BYTES = 16 * 1024 };

struct list_mail {
    struct header headers[LIST_MAIL_MAX_HEADERS]; /* the same for all recipients */
    size_t header_count;
    bool has_link_header;    /* List-Unsubscribe: there is a public URL for the link's page */
    const char *html_before; /* the footer before the link */
    const char *html_after;
    const char *text_before;
};

/* The names of the send and its sender for headers and footer. */
struct list_mail_names {
    int64_t send_id;           /* 0: a test message */
    const char *class_name;    /* marketing */
    const char *domain;        /* the sender's domain */
    const char *brand_name;    /* NULL: not shown */
    const char *brand_address; /* postal address of one or more lines; NULL: not shown */
};

struct list_mail list_mail_new(const struct work *work, const struct list_mail_names *names) NONNULL(1, 2);

/* Adds the footer with the unsubscribe link; in HTML before the end of the body. */
void list_mail_add_to_html(const struct list_mail *list, const char *link, struct buf *html) NONNULL(1, 2, 3);
void list_mail_add_to_text(const struct list_mail *list, const char *link, struct buf *text) NONNULL(1, 2, 3);

/* Inserts texts into HTML before the end of its body. */
void list_mail_insert_at_body_end(struct buf *html, const char *const *pieces, size_t count) NONNULL(1, 2);
