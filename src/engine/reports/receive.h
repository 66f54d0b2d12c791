/*
 * Receiving reports that came as mail: finds the message that a report is about, records the report (reports.h), and keeps the
 * newest reports without a known message for the operator.
 *
 * The message is found by the return path, else by the Message-ID or the unsubscribe link of the returned part. All of them are
 * sealed by this installation, so a report without one changes nothing. Feedback-ID is not enough: every recipient of a campaign
 * has the same.
 */
#pragma once

#include "engine/reports/reports.h"

enum { UNMATCHED_REPORTS_MAX = 1000, UNMATCHED_EXCERPT_MAX_BYTES = 16 * 1024 };

/* What a report says. Everything in it can be forged. Texts may be NULL. */
struct received_report {
    enum report_kind kind;
    enum bounce_class bounce; /* of a bounce */
    const char *source;       /* lmtp, imap, command */
    const char *return_path;  /* the address that it was sent to */
    struct text_list message_ids;
    const char *list_unsubscribe; /* the field of the returned part */
    const char *recipient;        /* as the report names it */
    const char *diagnostic;
    const char *excerpt; /* the start of the report */
};

struct received_outcome {
    enum report_kind kind;
    enum report_outcome outcome;
    struct message_origin origin; /* zero: the message is not known */
    int64_t organization_id;      /* of its brand; 0: the message is not known */
};

/* Records a report in the open transaction. */
MUST_CHECK bool report_receive(const struct work *work, const struct received_report *received,
                               struct received_outcome *ret_outcome, struct error *err) NONNULL(1, 2, 3, 4);

/* Writes {"counts":[…],"unmatched":[…]} for the operator: the counts of the last 30 days, and the reports without a known message,
 * newest first. `only_unmatched` leaves the counts out. */
MUST_CHECK bool report_write_all(const struct work *work, bool only_unmatched, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
