/*
 * IMAP poller: fetches reports of other mail systems from mailboxes that receive nothing else, with libcurl. The mailboxes are
 * those of an option and those that are stored (engine/reports/mailboxes.h); imap_address.h describes their addresses.
 *
 * A message is marked as deleted after its report is committed, and then expunged. One that cannot be read is flagged and stays.
 * One of more than 10 MB stays too. One thread polls all mailboxes, one after the other. Passwords are never logged.
 */
#pragma once

#include "api/service.h"

enum { IMAP_MAX_MAILBOXES = 8, IMAP_MESSAGES_A_ROUND = 100 };

struct imap_poller;

struct imap_config {
    const char *const *urls; /* addresses with passwords, NULL-terminated, read by imap_poller_start; NULL: none */
    const char *cluster_dir; /* data folder of the private cluster, borrowed; NULL: another database */
};

/* Errors: INVALID_REQUEST (param --imap), without the address itself. */
MUST_CHECK bool imap_poller_start(struct api *api, const struct imap_config *config, struct imap_poller **ret_poller,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* Ends after the message in progress. NULL is allowed. */
void imap_poller_stop(struct imap_poller *poller);
