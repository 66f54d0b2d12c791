/*
 * The engine of the spam checks: asks the spam filter of the operator about the
 * composed message, and reports its verdict and its rules.
 */
#pragma once

#include "engine/quality/check_report.h"
#include "engine/samples/sample_mail.h"
#include "jobs/jobs.h"

struct spam_verdict;

/* False only when the caller has cancelled. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool check_spam(struct job *job, const struct sample_mail *mail, struct check_report *report, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Adds what a verdict says. `filter` is the name of the spam filter. */
void spam_judge(struct check_report *report, struct arena *arena, const char *filter, const struct spam_verdict *verdict)
    NONNULL(1, 2, 3, 4);
