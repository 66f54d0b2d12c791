/*
 * The job of emails.preview: it answers the caller when draw_previews has drawn
 * all clients, or after some seconds with what is ready. Between its rounds no
 * thread waits; draw_previews wakes it. The call is charged for the first picture
 * of its round. When there is none after these seconds, the call is answered and
 * a later job has its charge. A round that ends without a picture fails and is not
 * charged.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "catalogue/jobs.h"
#include "engine/quality/previews.h"

enum {
    ANSWER_MAX_ATTEMPTS = 2,
    STATUS_OK = 200,
    CALLER_WAITS_MS = 9 * 1000,
    LOOK_AGAIN_MS = 1000,
};

static bool read_round(struct job *job, const struct answer_previews_payload *payload, struct preview_round_row **ret_round,
                       struct error *err)
{
    struct preview_round_params params = { .brand_id = job->work.brand_id, .id = payload->preview_id, .round = payload->round };
    return sql_preview_round(job->work.conn, job->work.arena, &params, ret_round, err);
}

static bool fail_without_picture(const struct preview_round_row *round, struct error *err)
{
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "No preview could be drawn: %s",
                round->reason != NULL ? round->reason : "The design was deleted.");
}

/* The charge of a call that is answered waits for the first picture. */
static bool hand_on(struct job *job, const struct answer_previews_payload *payload, struct error *err)
{
    struct answer_previews_payload later = *payload;
    int64_t job_id;
    later.is_later = true;
    return job_hand_on(job, answer_previews_job(job->work.arena, &later), &job_id, err);
}

static bool answer_call(struct job *job, const struct answer_previews_payload *payload, const struct preview_round_row *round,
                        struct json_writer *answer, struct error *err)
{
    if (payload->charges && round->pictures == 0 && !hand_on(job, payload, err))
        return false;
    if (!payload->charges)
        job_charge_items(job, 0);
    job_subject(job, work_id(&job->work, ID_PREVIEW, payload->preview_id));
    return preview_write(&job->work, payload->preview_id, NULL, answer, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct answer_previews_payload *payload = job->payload;
    struct preview_round_row *round;
    *ret_status = STATUS_OK;
    if (!read_round(job, payload, &round, err))
        return false;
    if (payload->charges && round->pictures == 0 && round->running == 0)
        return fail_without_picture(round, err);
    bool is_open = payload->is_later ? round->pictures == 0 : round->all_running > 0;
    bool may_wait = payload->is_later || job->work.now_us < job->created_us + CALLER_WAITS_MS * US_PER_MS;
    if (is_open && may_wait) {
        job_run_again(job, job->work.now_us + LOOK_AGAIN_MS * US_PER_MS);
        return true;
    }
    return payload->is_later || answer_call(job, payload, round, answer, err);
}

const struct job_type job_answer_previews = {
    .max_attempts = ANSWER_MAX_ATTEMPTS,
    .settle = settle,
};
