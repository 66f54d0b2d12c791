/*
 * The job of domains.verify: the DNS is asked for the records of a domain while
 * the caller waits, and what it says is written.
 */
#include "base/json_read.h"
#include "jobs/types/domain_lookup.h"
#include "jobs/job_types.h"

/* The look-ups themselves are tried again; a caller who waits wants an answer. */
enum { VERIFY_MAX_ATTEMPTS = 1 };

static bool perform(struct job *job, struct error *err)
{
    struct domain_check *check = arena_alloc(job->work.arena, sizeof(*check));
    job->performed = check;
    if (!domain_check_begin(&job->work, json_get_int(job->payload, "domainId", 0), check, err))
        return false;
    domain_look_up(job->services->dns, job->work.arena, check);
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct domain_check *check = job->performed;
    struct domain_row *domain;
    if (!domain_check_settle(&job->work, check, &domain, err))
        return false;
    *ret_status = 200;
    job_subject(job, work_id(&job->work, ID_DOMAIN, domain->id));
    domain_write(&job->work, domain, answer);
    return true;
}

const struct job_kind job_verify_domain = {
    .name = "verify_domain",
    .max_attempts = VERIFY_MAX_ATTEMPTS,
    .perform = perform,
    .settle = settle,
};
