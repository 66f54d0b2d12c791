/*
 * Private to the contacts module: a normalized contact, which is a checked
 * contact_change with values ready for SQL.
 */
#pragma once

#include "engine/contacts/contacts.h"
#include "mail/address.h"

struct normalized_contact {
    size_t index; /* in the request */
    struct address address;
    unsigned char address_hash[SECRET_HASH_BYTES];
    struct opt_text first_name;
    struct opt_text last_name;
    struct opt_text user_id;
    const char *source; /* NULL: unchanged */
    struct opt_bool subscribed;
    const json_t *groups;     /* NULL: none */
    const char *consent;      /* JSON text; NULL: unchanged */
    struct opt_int agreed_at; /* the time of the consent according to its proof */
    struct custom_values custom;
};

/* Does all checks that need no database, and adds the custom fields to the registry. Errors: INVALID_REQUEST. */
MUST_CHECK bool contact_normalize(const struct work *work, const struct contact_change *change, struct field_registry *registry,
                                  struct normalized_contact *ret_ready, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Merges `count` changes (at least 1) of one contact, in the order of their values: the later value of two counts. Memory and time
 * grow with the sum of the values. */
struct normalized_contact *contact_merge_normalized(struct arena *arena, const struct normalized_contact *const *changes,
                                                    size_t count) NONNULL(1, 2) RETURNS_NONNULL;

/* The subscription groups as JSON text. */
const char *contact_groups_json(struct arena *arena, const struct normalized_contact *ready) NONNULL(1, 2) RETURNS_NONNULL;

/* Adds a statement to the batch that finds the contacts with too many subscription groups, before they are saved. Returns its
 * index, CONTACT_GROUPS_NOT_ASKED when no contact gets any. */
#define CONTACT_GROUPS_NOT_ASKED SIZE_MAX
size_t contact_groups_ask(const struct work *work, const struct normalized_contact *const *contacts, size_t count,
                          struct db_batch *batch) NONNULL(1, 4);

/* Fails when the statement has found this contact. Errors: INVALID_REQUEST with param subscriptionGroups. */
MUST_CHECK bool contact_groups_check(const struct normalized_contact *contact, const struct db_batch *batch, size_t index,
                                     struct error *err) NONNULL(1, 2, 4);

/* Adds statements to the batch that store or delete unsubscribes, for contacts with an explicit `subscribed`. An unsubscribe by
 * the link of a message is deleted only if the contact has a later consent. */
void contact_note_unsubscribes(const struct work *work, struct normalized_contact *const *contacts, size_t count,
                               struct db_batch *batch) NONNULL(1, 4);
