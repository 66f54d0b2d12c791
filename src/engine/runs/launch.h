/*
 * Launches: runs of a published automation for all contacts of its audience. A
 * request is checked, and becomes a row of audience_runs and a job; the job begins
 * the launch at its time. One transaction inserts all runs. Those of a gradual
 * launch are due at the times of their tranches, which have the shares and times
 * of a gradual send (engine/sends/gradual.h), and an order of their own.
 *
 * Eligible is every subscribed contact of the audience; where all mail of the
 * automation is transactional, also the others. Suppressed addresses get their
 * result when the message is handed over, as in a send.
 *
 * Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

struct gradual_plan;

struct launch_request {
    int64_t automation_id;
    bool is_dry_run;
    bool is_administrator; /* the session of an administrator */
    struct opt_int scheduled_at_us;
    const struct gradual_plan *gradual; /* checked (gradual.h); NULL: all recipients at once */
    struct opt_int confirm_above;       /* more recipients than this need a confirmation; unset: never needed */
    const char *confirmation;           /* the token of the preview; NULL: none */
    int64_t key_id;
};

/* The preview of a launch that needs a confirmation. */
struct launch_preview {
    const char *token;
    int64_t expires_at_us;
    const char *automation_name;
    const char *audience_name;
    int64_t recipient_count;
    int64_t message_nodes;
    struct opt_int scheduled_at_us;
    const struct gradual_plan *gradual;
    int64_t first_us;
};

struct launch_accepted {
    int64_t id; /* 0: nothing was written */
    int64_t automation_id;
    int64_t audience_id;
    int64_t recipient_count; /* that are eligible now */
    int64_t message_nodes;
    struct opt_int scheduled_at_us;
    const struct launch_preview *preview; /* not NULL: the launch needs a confirmation first */
};

/* Checks a launch and writes its row, unless it is a dry run or needs a confirmation. The caller enqueues the job and stores it
 * with launch_set_job. Errors: INVALID_REQUEST (scheduledAt, confirmationToken), AUTOMATION_NOT_FOUND, AUTOMATION_NOT_PUBLISHED,
 * INSUFFICIENT_ROLE, AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE, NO_ELIGIBLE_RECIPIENTS (also when it starts from no audience),
 * SEND_QUOTA_EXCEEDED. */
MUST_CHECK bool launch_create(const struct work *work, const struct launch_request *request, struct launch_accepted *ret_accepted,
                              struct error *err) NONNULL(1, 2, 3, 4);

/* Stores the job that begins the launch. Canceling the launch removes this job from the queue. */
MUST_CHECK bool launch_set_job(const struct work *work, int64_t id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* Begins a launch in the open transaction: inserts its runs and wakes the steppers. A launch that was canceled or has begun stays
 * as it is. Errors: AUTOMATION_NOT_PUBLISHED, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool launch_begin(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* Marks a launch that cannot begin as failed. */
MUST_CHECK bool launch_give_up(const struct work *work, int64_t id, const char *reason, struct error *err) NONNULL(1, 3, 4);

/* ---- Wire shapes (launch_json.c) ---- */

/* The resource "audienceRunStarted". */
void launch_write_started(const struct work *work, const struct launch_accepted *accepted, struct json_writer *json)
    NONNULL(1, 2, 3);

/* The resource "automationLaunchDryRun". */
void launch_write_dry_run(const struct work *work, const struct launch_accepted *accepted, struct json_writer *json)
    NONNULL(1, 2, 3);

/* The resource "launchConfirmation". */
void launch_write_preview(const struct launch_preview *preview, struct json_writer *json) NONNULL(1, 2);

/* The preview as a question for a person. */
const char *launch_preview_question(struct arena *arena, const struct launch_preview *preview) NONNULL(1, 2) RETURNS_NONNULL;
