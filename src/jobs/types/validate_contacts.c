/*
 * The job of a background validation: a round checks some contacts, saves the
 * verdicts and charges them; the next round continues after them.
 */
#include "catalogue/job_types.h"
#include "engine/validation/validation.h"
#include "jobs/types/validate_lookup.h"
#include "net/dns.h"

#include <assert.h>

enum { VALIDATE_MAX_ATTEMPTS = 12 }; /* rounds in a row without the DNS: about half an hour with the pauses of the worker */

static_assert(VALIDATION_ROUND_TARGETS / DNS_PARALLEL * DNS_LOOKUP_MS < VALIDATE_MAX_MS, "every domain of a round gets its turn");

static int64_t validation_of(const struct job *job)
{
    const struct validate_contacts_payload *payload = job->payload;
    return payload->validation_id;
}

static bool execute(struct job *job, struct error *err)
{
    struct validation_round *round = arena_alloc(job->work.arena, sizeof(*round));
    job->result = round;
    if (!validation_round_open(&job->work, job->id, validation_of(job), round, err))
        return false;
    size_t answered = validate_list(job, &round->list);
    /* When the DNS answers for no domain, the round is tried later; a single domain without an answer is passed over. */
    return answered > 0 || round->list.domain_count == 0 || validate_unavailable(err);
}

/* No caller waits; the figures stay in the row of the job for a day. */
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
    const struct validation_round *round = job->result;
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

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    (void)why;
    return validation_give_up(&job->work, job->id, validation_of(job), err);
}

const struct job_type job_validate_contacts = {
    .max_attempts = VALIDATE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
