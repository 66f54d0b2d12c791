/*
 * Inbox placement tests: one message of a design to each seed mailbox (seeds.h),
 * and the folder in which it arrived. A call makes a test and enqueues its job.
 * The job sends the messages, looks for them, and ends the test.
 *
 * A message is marked before its relay gets it, and never sent twice: when its
 * worker ends meanwhile, it is uncertain. An uncertain message that is found is a
 * result like any other; one that is not found tells nothing.
 *
 * The messages belong to no send. They are not tracked, count in no figure and
 * use no allowance. Rows live in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/placement.h"

enum {
    PLACEMENT_FIRST_LOOK_S = 15,       /* after the message was sent; the time until the next look doubles */
    PLACEMENT_WINDOW_S = 30 * 60,      /* the last look */
    PLACEMENT_SEND_WINDOW_S = 10 * 60, /* a message that no relay takes is given up */
    PLACEMENT_FOLDER_MAX_CHARS = 120,
    PLACEMENT_REASON_MAX_CHARS = 200,
};

/* The arguments of the caller. Optional texts are NULL when not given. */
struct placement_request {
    int64_t email_id;
    int64_t version_id; /* 0: the newest one */
    int64_t domain_id;  /* 0: the only domain that can send */
    const char *subject;
    const char *preview_text;
    struct text_list providers; /* empty: all */
};

/* Checks a request and inserts the test. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND, EMAIL_NOT_READY,
 * DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, SERVICE_UNAVAILABLE (there is no seed mailbox). */
MUST_CHECK bool placement_create(const struct work *work, const struct placement_request *request, int64_t *ret_id,
                                 struct error *err) NONNULL(1, 2, 3, 4);

/* Stores the job of a test, and writes the test for the answer of the call. */
MUST_CHECK bool placement_set_job(const struct work *work, int64_t email_id, int64_t test_id, int64_t job_id,
                                  struct json_writer *json, struct error *err) NONNULL(1, 5, 6);

/* Writes one test. Errors: EMAIL_NOT_FOUND, also when the design has no such test. */
MUST_CHECK bool placement_write(const struct work *work, int64_t email_id, int64_t test_id, struct json_writer *json,
                                struct error *err) NONNULL(1, 4, 5);

/* Writes a page of the tests of a design, newest first. Errors: EMAIL_NOT_FOUND, INVALID_REQUEST (cursor). */
MUST_CHECK bool placement_list(const struct work *work, int64_t email_id, int64_t limit, const char *cursor,
                               struct json_writer *json, struct error *err) NONNULL(1, 5, 6);

/* ---- The job ---- */

/* Reads the mail of a test. *ret_mail is NULL when the test, its design or its domain does not exist. */
MUST_CHECK bool placement_read_mail(const struct work *work, int64_t test_id, struct placement_mail_row **ret_mail,
                                    struct error *err) NONNULL(1, 3, 4);

/* Makes the messages uncertain whose worker ended while it sent them, and reads at most `limit` messages that are due. */
MUST_CHECK bool placement_read_due(const struct work *work, int64_t test_id, int64_t limit, struct placement_due_row **ret_due,
                                   size_t *ret_count, struct error *err) NONNULL(1, 4, 5, 6);

/* Marks a message before it is given to a relay. *ret_is_claimed is false when it was sent before. */
MUST_CHECK bool placement_claim(const struct work *work, int64_t test_id, int64_t id, bool *ret_is_claimed, struct error *err)
    NONNULL(1, 4, 5);

/* Composes the message of an observation. `ret_return_path` is NULL while the domain receives no reports. */
MUST_CHECK bool placement_compose(const struct work *work, const struct placement_mail_row *mail,
                                  const struct placement_due_row *observation, struct bytes *ret_message,
                                  const char **ret_return_path, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* The Message-ID of an observation, without angle brackets. */
const char *placement_message_id(const struct work *work, const struct placement_mail_row *mail, int64_t id)
    NONNULL(1, 2) RETURNS_NONNULL;

enum placement_sending {
    PLACEMENT_SENT,      /* a relay has it */
    PLACEMENT_UNCERTAIN, /* a relay may have it */
    PLACEMENT_DEFERRED,  /* no relay took it; it is tried again, or given up when the time is over */
    PLACEMENT_REFUSED,   /* for good */
};

/* Notes how a message was sent. `reason` is of no use for PLACEMENT_SENT. */
MUST_CHECK bool placement_note_sending(const struct work *work, int64_t test_id, const struct placement_mail_row *mail, int64_t id,
                                       enum placement_sending sending, const char *reason, struct error *err) NONNULL(1, 3, 7);

enum placement { PLACEMENT_UNREAD, PLACEMENT_ABSENT, PLACEMENT_INBOX, PLACEMENT_SPAM };

/* What a look into a seed mailbox found. */
struct placement_look {
    enum placement placement;
    const char *folder; /* the other texts are NULL when they are not known */
    const char *spf;
    const char *dkim;
    const char *dmarc;
    const char *reason; /* PLACEMENT_UNREAD: why it could not be read */
};

/* Adds the result of a look to a batch: found, or the time of the next look; at the last one missing, or not told. */
void placement_note_look(const struct work *work, int64_t test_id, const struct placement_due_row *observation,
                         const struct placement_look *look, struct db_batch *batch) NONNULL(1, 3, 4, 5);

/* Notes the progress of a test, and ends it when all its messages are done. `ret_next_us` is unset then, and *ret_told is the
 * number of messages whose placement is told. */
MUST_CHECK bool placement_advance(const struct work *work, int64_t test_id, struct opt_int *ret_next_us, int64_t *ret_told,
                                  struct error *err) NONNULL(1, 3, 4, 5);

/* Ends a test whose job failed. */
MUST_CHECK bool placement_fail(const struct work *work, int64_t test_id, const char *reason, struct error *err) NONNULL(1, 3, 4);
