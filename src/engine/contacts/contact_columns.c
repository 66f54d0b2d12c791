#include "engine/contacts/contact_columns.h"

#include "base/text.h"

struct contact_columns contact_columns_new(struct arena *arena, size_t count)
{
    struct contact_columns columns = { .count = count };
    const char ***const texts[] = {
        &columns.emails,     &columns.email_keys,    &columns.address_hashes, &columns.first_names,
        &columns.last_names, &columns.user_ids,      &columns.sources,        &columns.subscribed,
        &columns.groups,     &columns.custom_fields, &columns.consents,
    };
    bool **const flags[] = { &columns.sets_first_name, &columns.sets_last_name, &columns.sets_user_id };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        *texts[i] = arena_array(arena, count, sizeof(**texts[i]));
    for (size_t i = 0; i < ARRAY_COUNT(flags); i++)
        *flags[i] = arena_array(arena, count, sizeof(**flags[i]));
    return columns;
}

void contact_columns_put(struct arena *arena, struct contact_columns *columns, size_t at, const struct normalized_contact *ready,
                         const struct field_registry *registry)
{
    char *hash = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
    hex_encode(ready->address_hash, SECRET_HASH_BYTES, hash);
    columns->emails[at] = ready->address.mailbox;
    columns->email_keys[at] = ready->address.key;
    columns->address_hashes[at] = hash;
    columns->sets_first_name[at] = ready->first_name.set;
    columns->first_names[at] = ready->first_name.value;
    columns->sets_last_name[at] = ready->last_name.set;
    columns->last_names[at] = ready->last_name.value;
    columns->sets_user_id[at] = ready->user_id.set;
    columns->user_ids[at] = ready->user_id.value;
    columns->sources[at] = ready->source;
    if (ready->subscribed.set)
        columns->subscribed[at] = ready->subscribed.value ? "true" : "false";
    columns->groups[at] = contact_groups_json(arena, ready);
    columns->custom_fields[at] = field_registry_json(registry, &ready->custom);
    columns->consents[at] = ready->consent;
}
