/*
 * Contacts: the people of a brand, merged by the key of their address.
 *
 * Saving changes only what is given. Nobody is subscribed again silently: a
 * new contact whose address is suppressed or unsubscribed starts unsubscribed,
 * an existing one keeps its state, and only an explicit `subscribed` changes
 * it. What a person said about marketing mail is kept by the hash of the
 * address as well, so that it survives the contact.
 *
 * All functions work in the open transaction of the work; results live in its
 * arena.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/fields/field_registry.h"
#include "sql/contacts.h"

enum {
    CONTACTS_MAX_BATCH_ROWS = 1000,
    CONTACTS_BATCH_IDS = 8, /* ids that a batch names */
    SUBSCRIPTION_GROUP_MAX_CHARS = 64,
};

/* Proof of consent. Texts are NULL when not given. */
struct contact_proof {
    const char *source;
    struct opt_int captured_at;
    const char *policy_version;
    const char *evidence;
};

/* What is to be saved of one contact. Members that are NULL or not set are left as they are. */
struct contact_change {
    const char *email;
    struct opt_text first_name; /* a NULL value clears, as does "" */
    struct opt_text last_name;
    struct opt_text user_id;
    const char *source;
    struct opt_bool subscribed;
    const json_t *subscription_groups; /* object of booleans */
    const json_t *custom_fields;
    bool has_proof;
    struct contact_proof proof;
};

/* ---- One ---- */

struct contact_saved {
    const struct contact_row *contact;
    bool inserted;
    struct field_registry registry; /* for its warnings */
};

/* Creates or updates a contact, in one round trip, another when a custom field has not the type that its value suggests.
 * Errors: INVALID_REQUEST, FIELD_TYPE_MISMATCH. */
MUST_CHECK bool contact_save(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The same in three steps, for changes whose statements travel together with others: check each, add what saves those of one
 * brand to a batch, and take each result after the run. The changes asked for at once are of different contacts, in the order
 * of their keys. Taking may need more round trips; the last two steps may be done again in another transaction. */
struct contact_saving;
MUST_CHECK bool contact_save_check(const struct work *work, const struct contact_change *change, struct contact_saving **ret_saving,
                                   struct error *err) NONNULL(1, 2, 3, 4);
void contact_save_ask(const struct work *work, struct contact_saving *const *savings, size_t count, struct db_batch *batch)
    NONNULL(1, 2, 4);
MUST_CHECK bool contact_save_take(const struct work *work, struct contact_saving *saving, const struct db_batch *batch,
                                  struct contact_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The merge key of the contact that is being saved. */
const char *contact_saving_key(const struct contact_saving *saving) NONNULL(1) RETURNS_NONNULL;

/* ---- Many ---- */

/* A row that was not saved. */
struct contact_refusal {
    size_t index;
    const char *email; /* as given, NULL when missing */
    enum error_code code;
    const char *field; /* "" when it is about no field */
    const char *message;
};

struct contact_batch {
    int64_t inserted;
    int64_t updated;
    const struct contact_refusal *refusals; /* in the order of the rows */
    size_t refusal_count;
    struct int_list ids; /* some of the contacts touched, at most CONTACTS_BATCH_IDS */
    struct field_registry registry;
};

/* Creates or updates up to CONTACTS_MAX_BATCH_ROWS contacts as if saved one after the other; rows that cannot be saved are
 * refused on their own with MISSING_EMAIL, INVALID_EMAIL, FIELD_TYPE_MISMATCH or INVALID_REQUEST. At most 4 round trips. */
MUST_CHECK bool contact_save_batch(const struct work *work, const struct contact_change *changes, size_t count,
                                   struct contact_batch *ret_batch, struct error *err) NONNULL(1, 4, 5);

/* ---- Changing and deleting ---- */

/* Changes a contact that is there, named by change->email; its address stays as it is. Round trips as contact_save.
 * Errors: CONTACT_NOT_FOUND, INVALID_REQUEST, FIELD_TYPE_MISMATCH. */
MUST_CHECK bool contact_update(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                               struct error *err) NONNULL(1, 2, 3, 4);

struct contact_removal {
    struct int_list ids;        /* of the contacts that were there */
    struct text_list not_found; /* addresses as given, each once; what is no address is not found either */
};

/* Deletes up to CONTACTS_MAX_BATCH_ROWS contacts, with what is known of their activity. One round trip. */
MUST_CHECK bool contact_remove(const struct work *work, struct text_list emails, struct contact_removal *ret_removal,
                               struct error *err) NONNULL(1, 3, 4);

/* ---- On the wire ---- */

/* The members of the resource "contact", inside an open object. */
void contact_write_members(const struct work *work, const struct contact_row *contact, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactSaved": the contact, and warnings when there are any. */
void contact_write_saved(const struct work *work, const struct contact_saved *saved, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactBatch" up to its warnings: the array and the object stay open for more. */
void contact_open_batch(const struct contact_batch *batch, struct json_writer *json) NONNULL(1, 2);

/* The resource "contactBatch". */
void contact_write_batch(const struct contact_batch *batch, struct json_writer *json) NONNULL(1, 2);
