/*
 * Report class: the class of a reported bounce. The verdict is that of smtp_classify_reply, so a refusal means the same whether it
 * comes as a reply or as a report. Any thread.
 */
#pragma once

#include "engine/reports/reports.h"
#include "mail/mail_report.h"

/* The class of a report of the kind MAIL_REPORT_FAILED. A report without a code counts as a permanent failure. */
enum bounce_class report_class(const struct mail_report *report) NONNULL(1) PURE;
