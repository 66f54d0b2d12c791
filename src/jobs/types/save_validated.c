/*
 * The job of contacts.saveValidated and contacts.saveBatchValidated: it looks up
 * the domains; settling saves the contacts with the verdicts and answers the
 * caller. When the DNS does not answer, the contacts are saved all the same, and
 * the answer says that they were not checked.
 */
#include "catalogue/job_types.h"
#include "engine/validation/validated_save.h"
#include "jobs/types/validate_lookup.h"

enum { SAVE_MAX_ATTEMPTS = 3, STATUS_SAVED = 200, STATUS_CREATED = 201 };

static bool execute(struct job *job, struct error *err)
{
    (void)err;
    struct validated_save *save = arena_alloc(job->work.arena, sizeof(*save));
    job->result = save;
    validated_save_read(job->work.arena, job->payload, save);
    (void)validate_list(job, &save->list);
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct validated_save *save = job->result;
    struct validated_saved saved;
    if (!validated_save_settle(&job->work, save, &saved, answer, err))
        return false;
    *ret_status = saved.inserted ? STATUS_CREATED : STATUS_SAVED;
    job_charge_items(job, saved.checked);
    for (size_t i = 0; i < saved.ids.count; i++)
        job_subject(job, work_id(&job->work, ID_CONTACT, saved.ids.items[i]));
    return true;
}

const struct job_type job_save_validated = {
    .max_attempts = SAVE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
