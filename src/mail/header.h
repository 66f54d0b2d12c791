/*
 * Header: writes single header fields (RFC 5322 §2.2), folded and 7-bit. It
 * prevents header injection: a value with a line break or another control
 * character is an error and is never repaired silently.
 *
 * After an error the caller must discard the buffer.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

enum { HEADER_NAME_MAX_BYTES = 64, HEADER_TEXT_MAX_BYTES = 2048, HEADER_VALUE_MAX_BYTES = 8192 };

struct mailbox {
    const char *name;    /* display name in UTF-8; NULL or "" for none */
    const char *address; /* local@domain from address_parse */
};

struct header {
    const char *name;
    const char *value;
};

/* Checks a text for use in a field, as a display name or a subject. Errors: as header_add_text. */
MUST_CHECK bool header_check_text(const char *value, const char *param, struct error *err) NONNULL(1, 3);

/* Adds an unstructured field such as Subject, in UTF-8. Text that is not ASCII or that folding would change becomes
 * encoded words. Errors: INVALID_REQUEST naming `param` (controls, not UTF-8, longer than HEADER_TEXT_MAX_BYTES). */
MUST_CHECK bool header_add_text(struct buf *out, const char *name, const char *value, const char *param, struct error *err)
    NONNULL(1, 2, 3, 5);

/* Adds a field of one mailbox (RFC 5322 §3.4). The address is ASCII; its local part may be UTF-8 in a message for
 * SMTPUTF8 (RFC 6532 §3.2).
 * Errors: INVALID_REQUEST naming `name_param` or `address_param`. */
MUST_CHECK bool header_add_mailbox(struct buf *out, const char *name, const struct mailbox *mailbox, const char *name_param,
                                   const char *address_param, struct error *err) NONNULL(1, 2, 3, 6);

/* Adds a structured field with an ASCII value, folded at its blanks only.
 * Errors: INVALID_REQUEST naming the field (name, controls, not ASCII, a word that is too long for a line). */
MUST_CHECK bool header_add_structured(struct buf *out, const struct header *header, struct error *err) NONNULL(1, 2, 3);
