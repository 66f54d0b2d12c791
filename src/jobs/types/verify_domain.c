/*
 * The job of domains.verify: it looks up the DNS records of a domain while the
 * caller waits, and saves the result.
 */
#include "catalogue/job_types.h"
#include "jobs/types/domain_lookup.h"

/* The resolver itself repeats lookups, and a waiting caller needs an answer soon: the job is not repeated. */
enum { VERIFY_MAX_ATTEMPTS = 1 };

static bool execute(struct job *job, struct error *err)
{
    struct domain_check *check = arena_alloc(job->work.arena, sizeof(*check));
    const struct verify_domain_payload *payload = job->payload;
    job->result = check;
    if (!domain_check_begin(&job->work, payload->domain_id, check, err))
        return false;
    domain_look_up(job->services->dns, job->work.arena, check);
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct domain_check *check = job->result;
    struct domain_row *domain;
    if (!domain_check_settle(&job->work, check, &domain, err))
        return false;
    *ret_status = 200;
    job_subject(job, work_id(&job->work, ID_DOMAIN, domain->id));
    domain_write(&job->work, domain, answer);
    return true;
}

const struct job_type job_verify_domain = {
    .max_attempts = VERIFY_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
