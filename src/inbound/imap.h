/*
 * IMAP poller: fetches reports of other mail systems from mailboxes that receive nothing else, with libcurl.
 *
 *     imaps://user:password@host[:port]/MAILBOX[?every=60]
 *     imap://…[?tls=none]        TLS is required (STARTTLS) unless tls=none
 *
 * A message is marked as deleted after its report is committed, and then expunged. One that cannot be read is flagged and stays.
 * One of more than 10 MB stays too. One thread polls all mailboxes. Passwords are never logged.
 */
#pragma once

#include "api/service.h"

enum { IMAP_MAX_MAILBOXES = 8, IMAP_MESSAGES_A_ROUND = 100, IMAP_EVERY_S = 60 };

struct imap_poller;

/* `urls` is NULL-terminated and read in this call. Errors: INVALID_REQUEST (param --imap), without the address itself. */
MUST_CHECK bool imap_poller_start(struct api *api, const char *const *urls, struct imap_poller **ret_poller, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Ends after the message in progress. NULL is allowed. */
void imap_poller_stop(struct imap_poller *poller);
