/*
 * Inside the room: a contact_change that was checked and made ready for SQL.
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
    const char *source; /* NULL: as it is */
    struct opt_bool subscribed;
    const json_t *groups;     /* NULL: none */
    const char *consent;      /* JSON text, NULL: as it is */
    struct opt_int agreed_at; /* when the consent was given, as it says */
    struct custom_values custom;
};

/* Checks all that needs no database, and notes the custom fields in the registry.
 * Errors: INVALID_REQUEST. */
MUST_CHECK bool contact_normalize(const struct work *work, const struct contact_change *change, struct field_registry *registry,
                                  struct normalized_contact *ret_ready, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Lets `later`, a change of the same contact, come after `ready`. */
void contact_merge_normalized(struct arena *arena, struct normalized_contact *ready, const struct normalized_contact *later)
    NONNULL(1, 2, 3);

/* The subscription groups as JSON text. */
const char *contact_groups_json(struct arena *arena, const struct normalized_contact *ready) NONNULL(1, 2) RETURNS_NONNULL;

/* Adds to the batch what keeps or lifts the unsubscribes that these contacts ask for explicitly. Who left by the link of a
 * message comes back only with a consent given later. */
void contact_note_unsubscribes(const struct work *work, struct normalized_contact *const *contacts, size_t count,
                               struct db_batch *batch) NONNULL(1, 4);
