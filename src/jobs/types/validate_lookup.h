/*
 * The lookup of the jobs that validate: it asks the DNS for the domains of a list
 * of addresses and gives each address its verdict.
 */
#pragma once

#include "jobs/jobs.h"
#include "mail/address_verdict.h"

/* The time for all domains of a list. It bounds the waiting time of a caller, and of a process that stops. */
enum { VALIDATE_MAX_MS = 10 * 1000 };

/* Looks up the domains and judges the addresses. Gives the number of domains that the DNS answered for. */
size_t validate_list(struct job *job, struct address_list *list) NONNULL(1, 2);

/* Fails with SERVICE_UNAVAILABLE, because the DNS did not answer. Returns false. */
bool validate_unavailable(struct error *err) NONNULL(1);
