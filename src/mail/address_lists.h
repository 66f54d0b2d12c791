/*
 * Lists about addresses: domains of throw-away mailboxes, domains of the free
 * mail services, and names of mailboxes that stand for a role. They are taken
 * from npm packages (src/mail/lists) and compiled into sorted tables at build.
 *
 * Read-only data; any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

/* Whether mailboxes at this domain, or at a domain above it, are thrown away after use. Lower-case A-labels. */
bool address_domain_is_disposable(const char *domain) NONNULL(1) PURE;

/* Whether anybody may have a mailbox at exactly this domain. Lower-case A-labels. */
bool address_domain_is_free(const char *domain) NONNULL(1) PURE;

/* Whether a local part, lower case, names a role (postmaster, sales) rather than a person. */
bool address_local_is_role(const char *local) NONNULL(1) PURE;
