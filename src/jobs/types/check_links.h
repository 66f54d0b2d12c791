/*
 * The engine of the link checks: requests the links of a design, with the client
 * that reaches the public internet only, and reports what it finds. At most
 * LINKS_MAX addresses are requested, one at a time of each host, and all of them
 * within LINK_ALL_MS.
 */
#pragma once

#include "engine/quality/check_report.h"
#include "engine/samples/sample_mail.h"
#include "jobs/jobs.h"

/* False only when the caller has cancelled or the database fails. Errors: those of the database; SERVICE_UNAVAILABLE. */
MUST_CHECK bool check_links(struct job *job, const struct sample_mail *mail, struct check_report *report, struct error *err)
    NONNULL(1, 2, 3, 4);
