#include "api/handlers/contact_args.h"

void contact_args_consent(struct contact_change *change, const struct contact_consent *consent)
{
    change->has_proof = consent != NULL;
    if (consent != NULL)
        change->proof = (struct contact_proof){ consent->source, consent->captured_at, consent->policy_version, consent->evidence };
}

static struct contact_change row_change(const struct contact_input *row)
{
    struct contact_change change = {
        .email = row->email.value,
        .first_name = row->first_name,
        .last_name = row->last_name,
        .user_id = row->user_id,
        .source = row->source,
        .subscribed = row->subscribed,
        .subscription_groups = row->subscription_groups,
        .custom_fields = row->custom_fields,
    };
    contact_args_consent(&change, row->consent);
    return change;
}

struct contact_change *contact_args_rows(struct arena *arena, struct contact_input_list rows)
{
    struct contact_change *changes = arena_array(arena, rows.count, sizeof(*changes));
    for (size_t i = 0; i < rows.count; i++) {
        changes[i] = row_change(&rows.items[i]);
        changes[i].fault = rows.faults != NULL ? rows.faults[i] : NULL;
    }
    return changes;
}
