/*
 * Address: the syntax of an email address and its merge key.
 *
 * The parser accepts a dot-atom local part (RFC 5321 §4.1.2), also in UTF-8
 * (RFC 6531 §3.3), and a domain name of two labels or more. An internationalised
 * domain becomes A-labels (RFC 5891, by libidn2 with the UTS 46 mapping).
 * It refuses quoted local parts, comments, display names and address literals
 * with a reason: the standard allows them, but in a contact list they are
 * mistakes or attacks. It refuses controls, line breaks and invisible characters
 * everywhere, so an accepted address is safe in a header and in SMTP.
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
    const char *mailbox; /* local@domain for the message and for SMTP */
    const char *local;   /* exactly as given */
    const char *domain;  /* lower-case A-labels */
    bool needs_smtputf8; /* the local part is not ASCII (RFC 6531) */
};

/* Parses an address. White space around it is refused; the caller may trim it first.
 * Errors: INVALID_REQUEST naming `param`; the message gives the reason and never repeats the address. */
MUST_CHECK bool address_parse(struct arena *arena, const char *text, const char *param, struct address *ret_address,
                              struct error *err) NONNULL(1, 2, 4, 5);

/* A domain name as lower-case A-labels. Errors: INVALID_REQUEST naming `param`. */
MUST_CHECK bool address_domain_parse(struct arena *arena, const char *text, const char *param, const char **ret_domain,
                                     struct error *err) NONNULL(1, 2, 4, 5);
