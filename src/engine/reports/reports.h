/*
 * Reports of other mail systems about our mail: bounces that come after the
 * delivery, complaints, unsubscribes by mail, delays and automatic answers. The
 * parsers of mail (LMTP, IMAP, a command) and of the notifications of providers
 * make a struct report; this file decides what it changes.
 */
#pragma once

#include "engine/compose/message_id.h"
#include "sql/reports.h"

enum report_kind {
    REPORT_BOUNCE,
    REPORT_DELAY, /* still tried */
    REPORT_COMPLAINT,
    REPORT_UNSUBSCRIBE,
    REPORT_AUTO_REPLY,
    REPORT_OTHER,
};

/* Only the first two suppress the address: hard for ever, mailbox full for a time. */
enum bounce_class { BOUNCE_HARD, BOUNCE_MAILBOX_FULL, BOUNCE_BLOCK, BOUNCE_REFUSED };

enum { REPORT_MAX_AGE_DAYS = 30 };

struct report {
    enum report_kind kind;
    enum bounce_class bounce; /* of a bounce; a bounce rule may replace it */
    bool is_matched;          /* the message is known: `origin` is set */
    struct message_origin origin;
    const char *source;     /* lmtp, imap, command, or a provider: ses, sendgrid, postmark */
    const char *diagnostic; /* the reply or reason it gives, at most REPORT_DIAGNOSTIC_MAX_BYTES; NULL: none */
    int64_t at_us;
};

enum { REPORT_DIAGNOSTIC_MAX_BYTES = 500 };

enum report_outcome {
    REPORT_APPLIED,
    REPORT_REPEATED, /* the same was recorded before */
    REPORT_NOTED,    /* a kind that changes nothing */
    REPORT_UNKNOWN,  /* about a test message, or about a message that this installation has not sent */
    REPORT_LATE,     /* older than REPORT_MAX_AGE_DAYS */
};

/* The recording of one report: the caller sets `report`, the functions below the rest. */
struct report_record {
    struct report report;
    int64_t organization_id; /* of the brand of the message; 0: the message is not known */
    enum report_outcome outcome;
    const struct report_recipients_row *recipient; /* NULL: the message is not known */
    size_t asked_at;                               /* private: the statement of a batch, and the place in its arrays */
    int64_t place;
    bool is_due; /* private: the report changes something */
};

/*
 * Recording reports in the open transaction: event, figures and suppression, and a row of report_counts for each. `records` are in
 * the order of their brands. `work` may have any brand; those of the reports are used.
 *
 * report_records_ask adds the statements that find and lock the recipients; after the batch has run, report_records_finish writes.
 * Locks are taken in the order of brands and recipients. An unsubscribe locks a contact, so it is recorded alone, or before all
 * reports of other kinds in the transaction. Of several reports of one kind about one recipient, which follow each other in
 * `records`, the first counts; the others are repetitions.
 */
void report_records_ask(const struct work *work, struct report_record *const *records, size_t count, struct db_batch *batch)
    NONNULL(1, 2, 4);
MUST_CHECK bool report_records_finish(const struct work *work, struct report_record *const *records, size_t count,
                                      const struct db_batch *batch, struct error *err) NONNULL(1, 2, 4, 5);

/* The part of report_records_finish without the rows of report_counts and the delays. Many records are recorded in several parts,
 * of RECIPIENT_EVENTS_MAX recipients at most, and are counted together at the end, because all reports share rows of report_counts.
 */
MUST_CHECK bool report_records_change(const struct work *work, struct report_record *const *records, size_t count,
                                      const struct db_batch *batch, struct error *err) NONNULL(1, 2, 4, 5);

/* Does all of it for one report. */
MUST_CHECK bool report_record(const struct work *work, const struct report *report, enum report_outcome *ret_outcome,
                              struct error *err) NONNULL(1, 2, 3, 4);

/* Keeps the newest delay of each message for `why`, beside its result. All messages are of one brand. Call it last in a
 * transaction: it locks results. Only report_counts_add may follow. */
struct reported_delay {
    struct message_origin origin;
    const char *diagnostic; /* NULL: none */
    int64_t at_us;
};
MUST_CHECK bool report_delays_keep(const struct work *work, const struct reported_delay *delays, size_t count, struct error *err)
    NONNULL(1, 4);

/* Counts reports by brand, day, source, kind and outcome. Those of unknown messages count for the brand 0. */
struct counted_report {
    int64_t brand_id;
    int64_t at_us;
    const char *source;
    enum report_kind kind;
    enum report_outcome outcome;
};
MUST_CHECK bool report_counts_add(const struct work *work, const struct counted_report *reports, size_t count, struct error *err)
    NONNULL(1, 4);
/* What a recorded report counts as. */
struct counted_report report_record_counted(const struct report_record *record) NONNULL(1);

/* The names used in data. */
const char *report_kind_name(enum report_kind kind) RETURNS_NONNULL;
const char *bounce_class_name(enum bounce_class bounce) RETURNS_NONNULL;
/* False for a name of no class. */
bool bounce_class_parse(const char *name, enum bounce_class *ret_bounce) NONNULL(1, 2);
const char *report_outcome_name(enum report_outcome outcome) RETURNS_NONNULL;
