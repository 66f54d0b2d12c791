/*
 * The pages behind an unsubscribe link: whole HTML documents without scripts,
 * images or anything from elsewhere, readable in light and dark, at any width
 * and by screen readers. No state; any thread.
 */
#pragma once

#include "base/buf.h"

enum unsubscribe_page {
    UNSUBSCRIBE_ASK,   /* with the button */
    UNSUBSCRIBE_LEFT,  /* it is done */
    UNSUBSCRIBE_TEST,  /* the link of a test message */
    UNSUBSCRIBE_WRONG, /* no such link */
    UNSUBSCRIBE_FORM,  /* a POST that does not say what it must */
    UNSUBSCRIBE_LATER, /* cannot be done now */
};

/* What the button posts, as mailboxes do (RFC 8058 §3.1). */
#define UNSUBSCRIBE_FIELD "List-Unsubscribe"
#define UNSUBSCRIBE_VALUE "One-Click"

/* The Content-Security-Policy of all pages: our own style, by its hash, and nothing else; not in frames. */
extern const char unsubscribe_policy[];

/* Appends the document. `brand` is UTF-8 and escaped here; "" when it is not known. */
void unsubscribe_page_write(struct buf *out, enum unsubscribe_page page, const char *brand) NONNULL(1, 3);
