/*
 * Private to the contacts module: contacts as columns, which are the array
 * parameters (unnest) of the statements that save contacts. They are allocated
 * in the arena passed to contact_columns_new.
 */
#pragma once

#include "engine/contacts/normalized_contact.h"

struct contact_columns {
    size_t count;
    const char **emails, **email_keys, **address_hashes, **first_names, **last_names, **user_ids, **sources, **subscribed, **groups,
        **custom_fields, **consents;
    bool *sets_first_name, *sets_last_name, *sets_user_id;
};

struct contact_columns contact_columns_new(struct arena *arena, size_t count) NONNULL(1);

/* Writes one contact at index `at`. Its custom fields get the types of the registry. */
void contact_columns_put(struct arena *arena, struct contact_columns *columns, size_t at, const struct normalized_contact *ready,
                         const struct field_registry *registry) NONNULL(1, 2, 4, 5);

/* The columns as members of a statement's parameters. */
#define CONTACT_COLUMN_PARAMS(columns)                                                                                             \
    .emails = { (columns).emails, (columns).count }, .email_keys = { (columns).email_keys, (columns).count },                      \
    .address_hashes = { (columns).address_hashes, (columns).count },                                                               \
    .sets_first_name = { (columns).sets_first_name, (columns).count }, .first_names = { (columns).first_names, (columns).count },  \
    .sets_last_name = { (columns).sets_last_name, (columns).count }, .last_names = { (columns).last_names, (columns).count },      \
    .sets_user_id = { (columns).sets_user_id, (columns).count }, .user_ids = { (columns).user_ids, (columns).count },              \
    .sources = { (columns).sources, (columns).count }, .subscribed = { (columns).subscribed, (columns).count },                    \
    .subscription_groups = { (columns).groups, (columns).count }, .custom_fields = { (columns).custom_fields, (columns).count },   \
    .consents = { (columns).consents, (columns).count }
