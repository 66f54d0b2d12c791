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

#include "engine/contacts/contact_fields.h"
#include "engine/engine.h"
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
    struct field_book book; /* for its warnings */
};

/* Creates or updates a contact, in one round trip, two when a custom field has not the type that its value suggests.
 * Errors: INVALID_REQUEST, FIELD_TYPE_MISMATCH. */
MUST_CHECK bool contact_save(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                             struct error *err) NONNULL(1, 2, 3, 4);

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
    struct field_book book;
};

/* Creates or updates up to CONTACTS_MAX_BATCH_ROWS contacts as if saved one after the other; rows that cannot be saved are
 * refused on their own with MISSING_EMAIL, INVALID_EMAIL, FIELD_TYPE_MISMATCH or INVALID_REQUEST. At most 4 round trips. */
MUST_CHECK bool contact_save_batch(const struct work *work, const struct contact_change *changes, size_t count,
                                   struct contact_batch *ret_batch, struct error *err) NONNULL(1, 4, 5);

/* ---- On the wire ---- */

/* The members of the resource "contact", inside an open object. */
void contact_write_members(const struct work *work, const struct contact_row *contact, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactSaved": the contact, and warnings when there are any. */
void contact_write_saved(const struct work *work, const struct contact_saved *saved, struct json_writer *json) NONNULL(1, 2, 3);

/* The resource "contactBatch". */
void contact_write_batch(const struct contact_batch *batch, struct json_writer *json) NONNULL(1, 2);
