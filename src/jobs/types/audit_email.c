/*
 * The job of an audit: composes the mail of a version as one contact would get it,
 * runs the engines, and saves their results. Settling answers the caller with the
 * saved audit. A partial audit costs nothing and releases the idempotency key.
 */
#include "catalogue/job_types.h"
#include "jobs/types/audit_engines.h"

#include <string.h>

enum { AUDIT_MAX_ATTEMPTS = 3, STATUS_OK = 200 };

/* The result of execute, for settle. */
struct audited {
    struct audit_subject subject;
    struct sample_mail mail;
    struct check_report *report;
};

static bool compose(struct job *job, struct audited *audited, struct error *err)
{
    const struct audit_email_payload *payload = job->payload;
    const struct sample_mail_request request = {
        .email_id = payload->email_id,
        .version_id = payload->version_id,
        .is_marketing = payload->purpose != NULL && strcmp(payload->purpose, "marketing") == 0,
        .is_transactional = payload->purpose != NULL && strcmp(payload->purpose, "transactional") == 0,
        .counts_empty_values = !payload->is_accessibility,
    };
    if (!sample_mail_compose(&job->work, &request, &audited->mail, err))
        return false;
    audited->subject = (struct audit_subject){
        .email_id = payload->email_id,
        .version_id = payload->version_id,
        .kind = payload->is_accessibility ? AUDIT_ACCESSIBILITY : AUDIT_FULL,
        .purpose = audited->mail.is_marketing ? "marketing" : "transactional",
    };
    return true;
}

static bool execute(struct job *job, struct error *err)
{
    struct audited *audited = arena_alloc(job->work.arena, sizeof(*audited));
    job->result = audited;
    audited->report = check_report_new(job->work.arena);
    return compose(job, audited, err) && audit_engines_run(job, &audited->mail, audited->subject.kind, audited->report, err);
}

static bool write_answer(struct job *job, const struct audited *audited, int64_t audit_id, struct json_writer *answer,
                         struct error *err)
{
    if (audited->subject.kind == AUDIT_ACCESSIBILITY)
        return audit_write_accessibility(&job->work, audit_id, answer, err);
    return audit_write(&job->work, audit_id, answer, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct audited *audited = job->result;
    int64_t audit_id;
    if (!audit_save(&job->work, &audited->subject, audited->report, &audit_id, err))
        return false;
    if (!audit_is_complete(audited->report, audited->subject.kind)) {
        job_charge_items(job, 0);
        job_release_key(job);
    }
    job_subject(job, work_id(&job->work, ID_AUDIT, audit_id));
    *ret_status = STATUS_OK;
    return write_answer(job, audited, audit_id, answer, err);
}

const struct job_type job_audit_email = {
    .max_attempts = AUDIT_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
