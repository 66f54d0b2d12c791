/*
 * The job of contacts.validate: addresses are checked while the caller waits.
 * Nothing is kept; what could not be checked is not charged.
 */
#include "base/json_read.h"
#include "jobs/job_types.h"
#include "jobs/types/validate_lookup.h"

/* The lookups themselves are tried again; a caller who waits wants an answer. */
enum { VALIDATE_MAX_ATTEMPTS = 1 };

static struct text_list emails_of(const struct job *job)
{
    const json_t *emails = json_object_get(job->payload, "emails");
    const char **items = arena_array(job->work.arena, json_array_size(emails), sizeof(*items));
    for (size_t i = 0; i < json_array_size(emails); i++)
        items[i] = json_string_value(json_array_get(emails, i));
    return (struct text_list){ items, json_array_size(emails) };
}

static bool perform(struct job *job, struct error *err)
{
    struct address_list *list = arena_alloc(job->work.arena, sizeof(*list));
    job->performed = list;
    address_list_read(job->work.arena, emails_of(job), list);
    (void)validate_list(job, list);
    return address_list_checked(list) > 0 || validate_unavailable(err);
}

static void write_check(const struct address_check *check, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "email", check->given);
    json_member_bool(json, "valid", check->verdict.status != ADDRESS_INVALID);
    json_member_text(json, "status", address_status_name(check->verdict.status));
    json_member_text_if(json, "reason", address_reason_name(check->verdict.reason));
    json_member_text_if(json, "didYouMean", check->verdict.did_you_mean);
    json_object_end(json);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)err;
    const struct address_list *list = job->performed;
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

const struct job_kind job_validate_addresses = {
    .name = "validate_addresses",
    .max_attempts = VALIDATE_MAX_ATTEMPTS,
    .perform = perform,
    .settle = settle,
};
