/*
 * Sends: campaigns (one design to many recipients), the messages of automations
 * (each a send with one recipient), and test messages.
 *
 * Accepting a send writes a row and enqueues a job. delivery.h describes the
 * delivery. Sends of another brand are not found. The sandbox domain delivers
 * into the capture maildir; another domain needs a relay, and is refused
 * without one.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/sends.h"

struct gradual_plan;

enum { SEND_INLINE_MAX = 50, SEND_EVENTS_MAX = 100, SEND_LINKS_MAX = 20, SEND_SCHEDULE_MAX_DAYS = 366 };

/* The arguments of the caller. Optional texts are NULL when not given. */
struct send_request {
    int64_t email_id;
    int64_t domain_id;    /* 0: not given */
    const char *audience; /* "all" or the wire id of an audience */
    struct text_list to;
    const char *subject;
    const char *preview_text; /* replaces the design's own */
    const char *from_email;
    const char *from_name;
    const char *reply_to;
    struct opt_int scheduled_at_us;
    const struct gradual_plan *gradual; /* checked (gradual.h); NULL: not gradual */
    struct opt_int confirm_above;       /* more recipients than this need a confirmation (confirm.h); unset: never needed */
    const char *confirmation;           /* the token of the preview; NULL: none */
    int64_t key_id;                     /* the caller's API key; 0: the local owner */
};

/* ---- Campaigns ---- */

/* An address of an inline list that gets no mail. */
struct send_skipped {
    const char *email;
    const char *reason; /* unsubscribed or suppressed */
};

struct send_accepted {
    int64_t id;
    const char *status;  /* queued, scheduled or pending_approval */
    bool needs_approval; /* nothing is enqueued before an administrator has approved it (approval.h) */
    struct opt_int scheduled_at_us;
    struct opt_int recipient_count;     /* that can be mailed now; unset: the target is expanded at the scheduled time */
    bool is_captured;                   /* the mail stays in the outbox */
    int64_t duplicate_count;            /* addresses of an inline list that are in it already */
    int64_t unknown_count;              /* addresses of an inline list that get the mail and belong to no contact */
    const struct send_skipped *skipped; /* in the order of the list */
    size_t skipped_count;
    const struct send_preview *preview; /* not NULL: nothing was written, the send needs a confirmation first */
};

/* The default sender's address of a domain: `from_email`, or a fixed name at the domain when it is NULL. */
const char *send_default_address(struct arena *arena, const char *from_email, const char *domain) NONNULL(1, 3) RETURNS_NONNULL;

/* Checks a campaign and writes its row, or returns a preview to confirm. The caller enqueues the job and stores it with
 * send_set_job, unless the send waits for an approval. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_NOT_READY,
 * EMAIL_ALREADY_SENT, DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, DOMAIN_PURPOSE_NOT_ALLOWED, AUDIENCE_NOT_FOUND, NOT_IMPLEMENTED,
 * NO_ELIGIBLE_RECIPIENTS, SEND_QUOTA_EXCEEDED. */
MUST_CHECK bool send_create(const struct work *work, const struct send_request *request, struct send_accepted *ret_accepted,
                            struct error *err) NONNULL(1, 2, 3, 4);

/* Stores the job that begins the send. Canceling the send removes this job from the queue. */
MUST_CHECK bool send_set_job(const struct work *work, int64_t send_id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* Cancels a send that has not begun, or is paused, and returns it. A message of an automation is canceled while no sender has
 * leased it. A canceled send is returned unchanged. The allowance of the recipients without a result is returned at once. A
 * recipient who is mailed after all is counted again with the result. Errors: SEND_NOT_FOUND, SEND_NOT_CANCELLABLE. */
MUST_CHECK bool send_cancel(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
    NONNULL(1, 3, 4);

/* Cancels the messages without a result of a carrier that is held after a restore, and releases the carrier. Senders skip these
 * messages. Errors: SEND_NOT_CANCELLABLE. */
MUST_CHECK bool send_cancel_held(const struct work *work, int64_t carrier_id, int64_t *ret_canceled, struct error *err)
    NONNULL(1, 3, 4);

/* Pauses a running gradual send, and returns it. A send that a caller or a guard has paused is returned unchanged.
 * Errors: SEND_NOT_FOUND, SEND_NOT_PAUSABLE. */
MUST_CHECK bool send_pause(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
    NONNULL(1, 3, 4);

/* Pauses a running send of any kind, for the operator. A send that is not running stays as it is. Sender processes stop the
 * delivery within ten seconds. The results of messages that they sent before are recorded. */
MUST_CHECK bool send_pause_running(const struct work *work, int64_t send_id, struct error *err) NONNULL(1, 3);

/* Resumes a manually paused send, and returns it. The send ends at once when every recipient has a result. The caller enqueues the
 * job of a gradual send that runs again (gradual_is_running), and stores it with send_set_job. Errors: SEND_NOT_FOUND,
 * SEND_NOT_RESUMABLE. */
MUST_CHECK bool send_resume(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
    NONNULL(1, 3, 4);

/* The remaining sends of the organization's plan in this period; unset when unlimited. */
MUST_CHECK bool send_allowance_left(const struct work *work, struct opt_int *ret_left, struct error *err) NONNULL(1, 2, 3);

/* ---- Reading ---- */

/* The progress of a send, in recipients. */
struct send_progress {
    bool has_ended;
    int64_t decided; /* with a final outcome; a queued retry is not final */
    int64_t delivered;
    int64_t delayed;
    int64_t recipients;
    bool waits_for_approval;
};

/* Writes one send, with the newest events of its recipients if `with_events`. `ret_progress` may be NULL.
 * Errors: SEND_NOT_FOUND. */
MUST_CHECK bool send_get(const struct work *work, int64_t send_id, bool with_events, struct send_progress *ret_progress,
                         struct json_writer *json, struct error *err) NONNULL(1, 5, 6);

/* Computes the progress from the statistics of a row (sends_json.c). */
struct send_progress send_progress_of(const struct send_row *send) NONNULL(1);

struct send_filter {
    int64_t email_id;      /* 0: any */
    const char *status;    /* NULL: any */
    int64_t automation_id; /* 0: any, as the three below; with one of them, only messages of automations */
    int64_t run_id;
    int64_t audience_run_id;
    int64_t instance_id;
};

/* Whether the filter names an automation, a run or a fire. */
bool send_filter_is_joined(const struct send_filter *filter) NONNULL(1) PURE;

/* A page of campaign sends, or of the messages of automations, newest first. Errors: INVALID_REQUEST (cursor),
 * AUTOMATION_RUN_NOT_FOUND, AUDIENCE_RUN_NOT_FOUND. */
MUST_CHECK bool send_list(const struct work *work, const struct send_filter *filter, int64_t limit, const char *cursor,
                          struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* ---- Wire shapes (sends_json.c) ---- */

/* What is read beside the row of one send; each is NULL when it was not read. */
struct send_extras {
    const struct db_rows *events;   /* struct send_events_row, one more than SEND_EVENTS_MAX when the list is cut */
    const struct db_rows *left_out; /* struct send_left_out_row */
    const struct db_rows *links;    /* struct send_links_row */
};

/* The resource "send", or "sendReport" for an assistant; `extras` may be NULL. */
void send_write(const struct work *work, const struct send_row *send, const struct send_extras *extras, struct json_writer *json)
    NONNULL(1, 2, 4);

/* The resource "sendAccepted". */
void send_write_accepted(const struct work *work, const struct send_accepted *accepted, struct json_writer *json) NONNULL(1, 2, 3);

/* {"sendState": …}: the details of EMAIL_ALREADY_SENT, in the arena of the work. */
char *send_state_details(const struct work *work, const struct send_same_target_row *earlier) NONNULL(1, 2) RETURNS_NONNULL;
