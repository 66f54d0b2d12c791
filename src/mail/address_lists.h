/*
 * Address lists: domains of disposable mailboxes, domains of the free mail
 * services, and role names such as postmaster. The build compiles them from npm
 * packages (src/mail/lists) into sorted tables.
 *
 * Read-only data; any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

/* Whether mailboxes at this domain, or at a parent domain, are disposable. Lower-case A-labels. */
bool address_domain_is_disposable(const char *domain) NONNULL(1) PURE;

/* Whether exactly this domain is one of a free mail service. Lower-case A-labels. */
bool address_domain_is_free(const char *domain) NONNULL(1) PURE;

/* Whether a local part, lower case, names a role (postmaster, sales) rather than a person. */
bool address_local_is_role(const char *local) NONNULL(1) PURE;
