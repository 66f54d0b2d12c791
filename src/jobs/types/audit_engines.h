/*
 * Engines of audits: runs every engine that an audit needs on a sample mail. An
 * engine that does not answer leaves its checks unavailable, with the reason.
 */
#pragma once

#include "engine/quality/audits.h"
#include "engine/samples/sample_mail.h"
#include "jobs/jobs.h"

/* Fills the report. Errors: SERVICE_UNAVAILABLE when the caller has cancelled; those of the database. */
MUST_CHECK bool audit_engines_run(struct job *job, const struct sample_mail *mail, enum audit_kind kind,
                                  struct check_report *report, struct error *err) NONNULL(1, 2, 4, 5);
