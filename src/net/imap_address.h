/*
 * Addresses of mailboxes that are read by IMAP:
 *
 *     imaps://user[:password]@host[:port][/MAILBOX][?every=60]
 *     imap://…[?tls=none]        TLS is required (STARTTLS) unless tls=none
 *
 * A mailbox that is polled for reports names one folder (MAILBOX); a seed mailbox is searched as a whole and names none. Special
 * characters of user and password are written as %XX. The reader of an address frees its parts. Any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct imap_address {
    char *url; /* without credentials and parameters */
    char *user;
    char *password;  /* NULL: the address has none */
    bool is_plain;   /* without TLS */
    bool has_folder; /* the address names a folder */
    int64_t every_us;
};

/* Reads an address; false when it has another form. Either way imap_address_done frees what was read. */
MUST_CHECK bool imap_address_read(const char *text, struct imap_address *ret_address) NONNULL(1, 2);

/* Frees the parts and overwrites the password. */
void imap_address_done(struct imap_address *address) NONNULL(1);
