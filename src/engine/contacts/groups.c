/*
 * The number of subscription groups of a contact is bounded, since each save adds
 * its groups to those that the contact has.
 */
#include "engine/contacts/normalized_contact.h"

#include <string.h>

size_t contact_groups_ask(const struct work *work, const struct normalized_contact *const *contacts, size_t count,
                          struct db_batch *batch)
{
    const char **keys = arena_array(work->arena, count, sizeof(*keys));
    const char **groups = arena_array(work->arena, count, sizeof(*groups));
    size_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        if (json_object_size(contacts[i]->groups) == 0)
            continue;
        keys[asked] = contacts[i]->address.key;
        groups[asked++] = contact_groups_json(work->arena, contacts[i]);
    }
    if (asked == 0)
        return CONTACT_GROUPS_NOT_ASKED;
    struct contact_groups_beyond_params params = {
        .brand_id = work->brand_id,
        .email_keys = { keys, asked },
        .groups = { groups, asked },
        .max_groups = CONTACT_GROUPS_MAX,
    };
    return db_batch_add(batch, &contact_groups_beyond_statement, &params);
}

bool contact_groups_check(const struct normalized_contact *contact, const struct db_batch *batch, size_t index, struct error *err)
{
    if (index == CONTACT_GROUPS_NOT_ASKED || json_object_size(contact->groups) == 0)
        return true;
    const struct db_rows *found = db_batch_rows(batch, index);
    const struct contact_groups_beyond_row *beyond = found->rows;
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(beyond[i].email_key, contact->address.key) == 0)
            return fail(err, ERR_INVALID_REQUEST, "subscriptionGroups", "A contact can have at most %d subscription groups.",
                        CONTACT_GROUPS_MAX);
    return true;
}
