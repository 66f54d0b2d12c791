/*
 * What every validating job does in the world: asks the DNS about the domains of
 * a list of addresses, and gives each its verdict.
 */
#pragma once

#include "jobs/jobs.h"
#include "mail/address_verdict.h"

/* For all domains of a list: bounds how long a caller waits, and a worker that is asked to stop. */
enum { VALIDATE_MAX_MS = 10 * 1000 };

/* Looks up and judges. Gives how many domains the DNS answered for. */
size_t validate_list(struct job *job, struct address_list *list) NONNULL(1, 2);

/* The refusal when the DNS did not answer: SERVICE_UNAVAILABLE. Returns false. */
bool validate_unavailable(struct error *err) NONNULL(1);
