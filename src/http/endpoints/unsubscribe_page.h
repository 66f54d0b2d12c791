/*
 * Unsubscribe pages: complete HTML documents without scripts, images or
 * external resources. They are readable in light and dark mode, at any width
 * and with screen readers. No state; any thread.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>

enum unsubscribe_page {
    UNSUBSCRIBE_ASK,   /* with the button */
    UNSUBSCRIBE_LEFT,  /* the recipient is unsubscribed */
    UNSUBSCRIBE_SAVED, /* the choice of groups was stored */
    UNSUBSCRIBE_TEST,  /* the link of a test message */
    UNSUBSCRIBE_WRONG, /* no such link */
    UNSUBSCRIBE_FORM,  /* a POST without the One-Click field */
    UNSUBSCRIBE_LATER, /* temporary failure */

    /* The form on which people ask for their link. */
    UNSUBSCRIBE_REQUEST,
    UNSUBSCRIBE_REQUESTED,   /* the same for every address */
    UNSUBSCRIBE_ADDRESS,     /* the text is not an address */
    UNSUBSCRIBE_UNAVAILABLE, /* the brand cannot send the link */
};

/* The form field that the button and mailbox providers post (RFC 8058 §3.1). */
#define UNSUBSCRIBE_FIELD "List-Unsubscribe"
#define UNSUBSCRIBE_VALUE "One-Click"

/* The fields of the form with the subscription groups. The names of the groups' fields begin with PREFERENCES_GROUP, their values
 * are the ids. */
#define PREFERENCES_FIELD     "preferences"
#define PREFERENCES_VALUE     "save"
#define PREFERENCES_GROUP     "group-"
#define PREFERENCES_SUBSCRIBE "subscribe"

/* The field of the form that asks for a link. */
#define UNSUBSCRIBE_EMAIL "email"

/* The Content-Security-Policy of all pages: the page's own style, by its hash, and nothing else; not in frames. */
extern const char unsubscribe_policy[];

struct unsubscribe_view {
    enum unsubscribe_page page;
    const char *brand;    /* UTF-8, escaped here; "" when it is unknown */
    const json_t *groups; /* the public groups, as in the resource "subscription"; NULL: none */
    bool has_left;        /* the recipient has unsubscribed, and can subscribe again where there are groups */
};

/* Appends the document. */
void unsubscribe_page_write(struct buf *out, const struct unsubscribe_view *view) NONNULL(1, 2);
