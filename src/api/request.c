#include "api/request.h"

void request_subject(struct request *rq, const char *wire_id)
{
    if (rq->subject_count < REQUEST_MAX_SUBJECTS)
        rq->subjects[rq->subject_count++] = wire_id;
}

bool request_enqueue(struct request *rq, struct reply *reply, const char *kind, const char *payload_json, int64_t run_after_us,
                     struct error *err)
{
    const struct ledger_entry *settles = rq->op->mode == OP_JOB ? rq->entry : NULL;
    return ledger_enqueue(&rq->work, kind, payload_json, run_after_us, settles, &reply->job_id, err);
}
