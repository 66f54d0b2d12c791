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

/* A report and its recording (reports.h). */
struct receiving {
    struct received_report received;
    struct report_record record;
};

/* Finds the message of a report, without the database. */
void report_identify(const struct work *work, struct receiving *receiving) NONNULL(1, 2);

/* The row that is locked by the recording: the later of two reports about one recipient sees the earlier one. In the order of these
 * keys, reports are in the order of their brands. NULL: the report must be recorded alone. `number` distinguishes reports of
 * unknown messages. */
const char *report_lock_key(struct arena *arena, const struct receiving *receiving, const char *number) NONNULL(1, 2, 3);

/* Records identified reports in the open transaction, after report_records_ask and the run of its batch, and keeps those without a
 * known message. */
MUST_CHECK bool report_receive_all(const struct work *work, struct receiving *const *receiving, size_t count,
                                   const struct db_batch *batch, struct error *err) NONNULL(1, 2, 4, 5);

/* Writes {"counts":[…],"unmatched":[…]} for the operator: the counts of the last 30 days, and the reports without a known message,
 * newest first. `only_unmatched` leaves the counts out. */
MUST_CHECK bool report_write_all(const struct work *work, bool only_unmatched, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
