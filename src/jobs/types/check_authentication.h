/*
 * The engine of the authentication checks: the DNS records of the sending domain
 * as receivers see them now, and the headers of the composed message. It changes
 * nothing about the domain.
 */
#pragma once

#include "engine/quality/check_report.h"
#include "engine/samples/sample_mail.h"
#include "jobs/jobs.h"

/* False only when the caller has cancelled or the database fails. Errors: those of the database; SERVICE_UNAVAILABLE. */
MUST_CHECK bool check_authentication(struct job *job, const struct sample_mail *mail, struct check_report *report,
                                     struct error *err) NONNULL(1, 2, 3, 4);
