/*
 * Unsubscribe pages: complete HTML documents without scripts, images or
 * external resources. They are readable in light and dark mode, at any width
 * and with screen readers. No state; any thread.
 */
#pragma once

#include "base/buf.h"

enum unsubscribe_page {
    UNSUBSCRIBE_ASK,   /* with the button */
    UNSUBSCRIBE_LEFT,  /* the recipient is unsubscribed */
    UNSUBSCRIBE_TEST,  /* the link of a test message */
    UNSUBSCRIBE_WRONG, /* no such link */
    UNSUBSCRIBE_FORM,  /* a POST without the One-Click field */
    UNSUBSCRIBE_LATER, /* temporary failure */
};

/* The form field that the button and mailbox providers post (RFC 8058 §3.1). */
#define UNSUBSCRIBE_FIELD "List-Unsubscribe"
#define UNSUBSCRIBE_VALUE "One-Click"

/* The Content-Security-Policy of all pages: the page's own style, by its hash, and nothing else; not in frames. */
extern const char unsubscribe_policy[];

/* Appends the document. `brand` is UTF-8 and is escaped here; "" when it is unknown. */
void unsubscribe_page_write(struct buf *out, enum unsubscribe_page page, const char *brand) NONNULL(1, 3);
