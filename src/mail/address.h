/*
 * Address: the syntax of an email address and its merge key.
 *
 * Accepted are dot-atom local parts (RFC 5321 §4.1.2), also in UTF-8
 * (RFC 6531 §3.3), at a domain name of two labels or more; an internationalised
 * domain becomes A-labels (RFC 5891, by libidn2 with the UTS 46 mapping).
 * Quoted local parts, comments, display names and address literals are refused
 * with a reason: they are legal on paper, and in a contact list they are
 * mistakes or attacks. Controls, line breaks and invisible characters are
 * refused everywhere, so an accepted address is safe in a header and in SMTP.
 *
 * Results live in the arena. No state; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

/* RFC 5321 §4.5.3.1.1, and §4.5.3.1.3 less the angle brackets (RFC 3696 erratum 1690); RFC 1035 §2.3.4. */
enum {
    ADDRESS_MAX_BYTES = 254,
    ADDRESS_LOCAL_MAX_BYTES = 64,
    ADDRESS_DOMAIN_MAX_BYTES = 253,
    ADDRESS_LABEL_MAX_BYTES = 63,
};

struct address {
    const char *key;     /* merge key: equal for every spelling of one mailbox; lower case, NFC, A-labels */
    const char *mailbox; /* local@domain as it goes on the wire */
    const char *local;   /* exactly as given */
    const char *domain;  /* lower-case A-labels */
    bool needs_smtputf8; /* the local part is not ASCII (RFC 6531) */
};

/* Checks `text` as it stands: white space around it is refused, so trim first where that is wanted.
 * Errors: INVALID_REQUEST naming `param`, the message says what is wrong and never repeats the address. */
MUST_CHECK bool address_parse(struct arena *arena, const char *text, const char *param, struct address *ret_address,
                              struct error *err) NONNULL(1, 2, 4, 5);

/* A domain name as lower-case A-labels. Errors: INVALID_REQUEST naming `param`. */
MUST_CHECK bool address_domain_parse(struct arena *arena, const char *text, const char *param, const char **ret_domain,
                                     struct error *err) NONNULL(1, 2, 4, 5);
