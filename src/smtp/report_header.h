/*
 * Report header: the header field by which a mail provider gives back our
 * Message-ID in its reports, because some replace the Message-ID of a message.
 * It stands before the signatures, so DKIM does not cover it, and the provider
 * may remove it.
 *
 * No state; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/values.h"

enum smtp_reports { SMTP_REPORTS_NONE, SMTP_REPORTS_SES, SMTP_REPORTS_SENDGRID, SMTP_REPORTS_POSTMARK };

/* ses, sendgrid or postmark. */
bool smtp_reports_from_name(const char *name, enum smtp_reports *ret_reports) NONNULL(1, 2);

/* Appends the field of a message: nothing for SMTP_REPORTS_NONE, or for a message without a Message-ID of this installation's form.
 */
void smtp_report_header_add(enum smtp_reports reports, struct bytes message, struct buf *out) NONNULL(3);
