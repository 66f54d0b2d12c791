/*
 * Sends: one design to many (a campaign), or one message as a test.
 *
 * Accepting a send writes a row and leaves the work to a job; how it is
 * delivered is in delivery.h. Sends of another brand are not found. Only the
 * sandbox domain can deliver so far, into the capture outbox: a real domain
 * without a relay is refused.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/sends.h"

enum { SEND_INLINE_MAX = 50, SEND_EVENTS_MAX = 100, SEND_SCHEDULE_MAX_DAYS = 366 };

/* What a caller asks for. Texts may be NULL where they are optional. */
struct send_request {
    int64_t email_id;
    int64_t domain_id;    /* 0: none named */
    const char *audience; /* "all" or the wire id of an audience */
    struct text_list to;
    const char *subject;
    const char *preview_text; /* in place of the design's own */
    const char *from_email;
    const char *from_name;
    const char *reply_to;
    struct opt_int scheduled_at_us;
    struct opt_int confirm_above; /* recipients; for more, a preview comes first (confirm.h). Unset: for no number */
    const char *confirmation;     /* the token of that preview; NULL: none */
    int64_t key_id;               /* whose order it is; 0: the local owner's */
};

/* ---- Campaigns ---- */

struct send_accepted {
    int64_t id;
    const char *status; /* queued or scheduled */
    struct opt_int scheduled_at_us;
    const struct send_preview *preview; /* not NULL: nothing was written, this has to be confirmed first */
};

/* Checks a campaign and writes its row, or gives a preview that has to be confirmed; the caller enqueues the job and names it with
 * send_set_job. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_NOT_READY, EMAIL_ALREADY_SENT, DOMAIN_NOT_FOUND, DOMAIN_NOT_READY,
 * DOMAIN_PURPOSE_NOT_ALLOWED, AUDIENCE_NOT_FOUND, NOT_IMPLEMENTED, NO_ELIGIBLE_RECIPIENTS, SEND_QUOTA_EXCEEDED,
 * SERVICE_UNAVAILABLE. */
MUST_CHECK bool send_create(const struct work *work, const struct send_request *request, struct send_accepted *ret_accepted,
                            struct error *err) NONNULL(1, 2, 3, 4);

/* The job that begins the send; a cancel takes it off the queue. */
MUST_CHECK bool send_set_job(const struct work *work, int64_t send_id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* Cancels a send that has not begun or is paused, and gives it; one that was canceled before is given as it is.
 * Errors: SEND_NOT_FOUND, SEND_NOT_CANCELLABLE. */
MUST_CHECK bool send_cancel(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
    NONNULL(1, 3, 4);

/* Pauses a gradual send in flight. There are none yet (gradualSend answers 501), so every send is refused.
 * Errors: SEND_NOT_FOUND, SEND_NOT_PAUSABLE. */
MUST_CHECK bool send_pause(const struct work *work, int64_t send_id, struct error *err) NONNULL(1, 3);

/* Lets a send go on that was paused by hand, and gives it. Errors: SEND_NOT_FOUND, SEND_NOT_RESUMABLE. */
MUST_CHECK bool send_resume(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
    NONNULL(1, 3, 4);

/* What the plan of the organization leaves of its sends in this period; unset when unlimited. */
MUST_CHECK bool send_room(const struct work *work, struct opt_int *ret_room, struct error *err) NONNULL(1, 2, 3);

/* ---- Reading ---- */

/* How far a send is. */
struct send_progress {
    bool has_ended;
    int64_t decided; /* recipients; waiting for another attempt is not decided */
    int64_t delivered;
    int64_t delayed;
    int64_t recipients;
};

/* One send, with the newest events of its recipients when they are wanted. `ret_progress` may be NULL. Errors: SEND_NOT_FOUND. */
MUST_CHECK bool send_get(const struct work *work, int64_t send_id, bool with_events, struct send_progress *ret_progress,
                         struct json_writer *json, struct error *err) NONNULL(1, 5, 6);

/* What the figures of a row say (sends_json.c). */
struct send_progress send_progress_of(const struct send_row *send) NONNULL(1);

struct send_filter {
    int64_t email_id;   /* 0: any */
    const char *status; /* NULL: any */
    bool of_automation; /* of an automation, a run or a fire, of which there are no sends yet */
};

/* A page of campaign sends, newest first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool send_list(const struct work *work, const struct send_filter *filter, int64_t limit, const char *cursor,
                          struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* ---- Wire shapes (sends_json.c) ---- */

/* The resource "send"; `events` is NULL when they were not asked for. */
void send_write(const struct work *work, const struct send_row *send, const struct send_events_row *events, size_t event_count,
                struct json_writer *json) NONNULL(1, 2, 5);

/* The resource "sendAccepted". */
void send_write_accepted(const struct work *work, const struct send_accepted *accepted, struct json_writer *json) NONNULL(1, 2, 3);

/* {"sendState": …}: the details of EMAIL_ALREADY_SENT, in the arena of the work. */
char *send_state_details(const struct work *work, const struct send_same_target_row *earlier) NONNULL(1, 2) RETURNS_NONNULL;
