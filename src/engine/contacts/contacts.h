/*
 * Contacts: the people of a brand. The key of the address is unique; saves with
 * the same key are merged (upsert).
 *
 * A save changes only the given members. It never resubscribes a person
 * implicitly: a new contact whose address is suppressed or unsubscribed starts
 * unsubscribed, an existing contact keeps its state, and only an explicit
 * `subscribed` changes it. The choice about marketing mail is also stored under
 * the hash of the address, so that it survives the contact.
 *
 * All functions run in the open transaction of the work. Results are allocated
 * in its arena.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/fields/field_registry.h"
#include "sql/contacts.h"

enum {
    CONTACTS_MAX_BATCH_ROWS = 1000,
    CONTACTS_BATCH_IDS = 8, /* ids in the result of a batch */
    SUBSCRIPTION_GROUP_MAX_CHARS = 64,
    CONTACT_GROUPS_MAX = 100, /* subscription groups of one contact; as maxProperties of subscriptionGroups */
};

/* Proof of consent. Texts are NULL when not given. */
struct contact_proof {
    const char *source;
    struct opt_int captured_at;
    const char *policy_version;
    const char *evidence;
};

/* The members to save of one contact. Members that are NULL or not set stay unchanged. */
struct contact_change {
    const struct error *fault; /* of a row that could not be read, which is refused with this error; NULL: none */
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

/* Creates or updates a contact in one round trip. A second one follows when a custom field has another type than its value.
 * Errors: INVALID_REQUEST, FIELD_TYPE_MISMATCH. */
MUST_CHECK bool contact_save(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The same in three steps, for pipelining with other statements: check each change, add the changes of one brand to a batch, and
 * take each result after the batch ran. The changes of one batch are of different contacts, in the order of their keys. Taking a
 * result may need more round trips. The last two steps may be repeated in another transaction. */
struct contact_saving;
MUST_CHECK bool contact_save_check(const struct work *work, const struct contact_change *change, struct contact_saving **ret_saving,
                                   struct error *err) NONNULL(1, 2, 3, 4);
void contact_save_ask(const struct work *work, struct contact_saving *const *savings, size_t count, struct db_batch *batch)
    NONNULL(1, 2, 4);
MUST_CHECK bool contact_save_take(const struct work *work, struct contact_saving *saving, const struct db_batch *batch,
                                  struct contact_saved *ret_saved, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The merge key of the contact that is being saved. */
const char *contact_saving_key(const struct contact_saving *saving) NONNULL(1) RETURNS_NONNULL;

/* ---- Batch ---- */

/* A row that was not saved, and the error. */
struct contact_refusal {
    size_t index;
    const char *email; /* as given, NULL when missing */
    enum error_code code;
    const char *field; /* "" when the error concerns no field */
    const char *message;
};

struct contact_batch {
    int64_t inserted;
    int64_t updated;
    const struct contact_refusal *refusals; /* in the order of the rows */
    size_t refusal_count;
    struct int_list ids; /* some of the saved contacts, at most CONTACTS_BATCH_IDS */
    struct field_registry registry;
};

/* Creates or updates up to CONTACTS_MAX_BATCH_ROWS contacts, with the same result as saving them one after the other. A row that
 * cannot be saved is refused alone, with MISSING_EMAIL, INVALID_EMAIL, FIELD_TYPE_MISMATCH or INVALID_REQUEST. At most 4 round
 * trips. */
MUST_CHECK bool contact_save_batch(const struct work *work, const struct contact_change *changes, size_t count,
                                   struct contact_batch *ret_batch, struct error *err) NONNULL(1, 4, 5);

/* ---- Changing and deleting ---- */

/* Updates the existing contact with the address change->email. The address itself does not change. Round trips as contact_save.
 * Errors: CONTACT_NOT_FOUND, INVALID_REQUEST, FIELD_TYPE_MISMATCH. */
MUST_CHECK bool contact_update(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                               struct error *err) NONNULL(1, 2, 3, 4);

struct contact_removal {
    struct int_list ids;        /* of the deleted contacts */
    struct text_list not_found; /* addresses as given, without duplicates; includes texts that are not addresses */
};

/* Deletes up to CONTACTS_MAX_BATCH_ROWS contacts and their activity. An item of `emails` may be NULL and is passed over. One round
 * trip. */
MUST_CHECK bool contact_remove(const struct work *work, struct text_list emails, struct contact_removal *ret_removal,
                               struct error *err) NONNULL(1, 3, 4);

/* ---- Wire shapes ---- */

/* The members of the resource "contact", inside an open object. */
void contact_write_members(const struct work *work, const struct contact_row *contact, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactSaved": the contact, and warnings when there are any. */
void contact_write_saved(const struct work *work, const struct contact_saved *saved, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactBatch" up to its warnings. The array and the object stay open, so that the caller can add warnings. */
void contact_open_batch(const struct contact_batch *batch, struct json_writer *json) NONNULL(1, 2);

/* The resource "contactBatch". */
void contact_write_batch(const struct contact_batch *batch, struct json_writer *json) NONNULL(1, 2);
