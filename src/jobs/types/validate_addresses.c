/*
 * The job of contacts.validate: it checks addresses while the caller waits. It
 * saves nothing; addresses that could not be checked are not charged.
 */
#include "catalogue/job_types.h"
#include "jobs/types/validate_lookup.h"

/* The resolver itself repeats lookups, and a waiting caller needs an answer soon: the job is not repeated. */
enum { VALIDATE_MAX_ATTEMPTS = 1 };

static bool any_was_checked(const struct address_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (address_was_checked(&list->items[i]))
            return true;
    return false;
}

static bool execute(struct job *job, struct error *err)
{
    struct address_list *list = arena_alloc(job->work.arena, sizeof(*list));
    const struct validate_addresses_payload *payload = job->payload;
    job->result = list;
    address_list_read(job->work.arena, payload->emails, list);
    (void)validate_list(job, list);
    return any_was_checked(list) || validate_unavailable(err);
}

static void write_check(const struct address_check *check, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "email", check->given[0] != '\0' ? check->given : NULL);
    json_member_bool(json, "valid", check->verdict.status != ADDRESS_INVALID);
    json_member_text(json, "status", address_status_name(check->verdict.status));
    json_member_text_if(json, "reason", address_reason_name(check->verdict.reason));
    json_member_text_if(json, "didYouMean", check->verdict.did_you_mean);
    json_object_end(json);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)err;
    const struct address_list *list = job->result;
    *ret_status = 200;
    job_charge_items(job, address_list_checked(list));
    json_object_begin(answer);
    json_key(answer, "data");
    json_array_begin(answer);
    for (size_t i = 0; i < list->count; i++)
        write_check(&list->items[i], answer);
    json_array_end(answer);
    json_object_end(answer);
    return true;
}

const struct job_type job_validate_addresses = {
    .max_attempts = VALIDATE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
