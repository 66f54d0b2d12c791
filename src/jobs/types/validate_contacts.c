/*
 * The job of a background validation: a round looks at some contacts, keeps the
 * verdicts and charges them; the next round goes on from there.
 */
#include "base/json_read.h"
#include "engine/validation/validation.h"
#include "jobs/job_types.h"
#include "jobs/types/validate_lookup.h"
#include "net/dns.h"

#include <assert.h>

enum { VALIDATE_MAX_ATTEMPTS = 12 }; /* rounds in a row without the DNS: about half an hour with the worker's pauses */

static_assert(VALIDATION_ROUND_TARGETS / DNS_PARALLEL * DNS_LOOKUP_MS < VALIDATE_MAX_MS, "every domain of a round gets its turn");

static int64_t validation_of(const struct job *job)
{
    return json_get_int(job->payload, "validationId", 0);
}

static bool perform(struct job *job, struct error *err)
{
    struct validation_round *round = arena_alloc(job->work.arena, sizeof(*round));
    job->performed = round;
    if (!validation_round_open(&job->work, validation_of(job), round, err))
        return false;
    size_t answered = validate_list(job, &round->list);
    /* When the DNS is away altogether the round is tried later; a single domain that does not answer is passed over. */
    return answered > 0 || round->list.domain_count == 0 || validate_unavailable(err);
}

/* Nobody waits for it; the figures stay with the job for a day. */
static void write_totals(const struct validation_totals_row *totals, struct json_writer *json)
{
    json_object_begin(json);
    json_member_int(json, "total", totals->total);
    json_member_int(json, "valid", totals->valid);
    json_member_int(json, "risky", totals->risky);
    json_member_int(json, "invalid", totals->invalid);
    json_member_int(json, "unchecked", totals->unchecked);
    json_member_int(json, "credits", totals->credits);
    json_object_end(json);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct validation_round *round = job->performed;
    struct validation_totals_row *totals;
    *ret_status = 200;
    if (!validation_round_settle(&job->work, round, &totals, err))
        return false;
    if (totals != NULL)
        write_totals(totals, answer);
    else if (round->is_open)
        job_run_again(job, job->work.now_us);
    return true;
}

static bool give_up(struct job *job, const struct error *why, struct error *err)
{
    (void)why;
    return validation_give_up(&job->work, validation_of(job), err);
}

const struct job_kind job_validate_contacts = {
    .name = validation_job,
    .max_attempts = VALIDATE_MAX_ATTEMPTS,
    .perform = perform,
    .settle = settle,
    .give_up = give_up,
};
