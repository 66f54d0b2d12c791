/*
 * Saving contacts and checking their addresses.
 *
 * Few are saved and checked while the caller waits: a job looks the domains up,
 * then saves the contacts with the verdicts and answers. Many are saved at once
 * and checked in the background. A verdict never keeps a contact from being
 * saved: it stands in the warnings and with the contact, and campaigns pass over
 * contacts whose address is invalid.
 *
 * The job's part works in its settling transaction; results live in the arena of
 * the work.
 */
#pragma once

#include "catalogue/jobs.h"
#include "engine/contacts/contacts.h"
#include "engine/validation/validation.h"

/* ---- Few, by a job ---- */

struct validated_save {
    bool is_single; /* the answer is the contact, else that of a batch */
    const struct contact_change *changes;
    size_t count;
    struct address_list list; /* of the changes, in their order; a missing address is empty */
};

/* The job that saves and checks these contacts. */
struct new_job validated_save_job(struct arena *arena, const struct contact_change *changes, size_t count, bool is_single)
    NONNULL(1, 2);

/* Reads the payload of that job; the list is to be judged. */
void validated_save_read(struct arena *arena, const struct save_validated_payload *payload, struct validated_save *ret_save)
    NONNULL(1, 2, 3);

struct validated_saved {
    bool inserted;       /* of a single contact */
    struct int_list ids; /* some of the contacts touched */
    int64_t checked;     /* different addresses of saved contacts that were checked: what is charged */
};

/* Saves the contacts and keeps the verdicts; writes contactSaved or contactBatch with a warning for every address that is not
 * plainly valid. Errors: those of contact_save for a single one. */
MUST_CHECK bool validated_save_settle(const struct work *work, const struct validated_save *save, struct validated_saved *ret_saved,
                                      struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Many, in the background ---- */

/* Saves a batch and starts the validation of what was saved; writes contactBatch with validationJobId, which is left out when
 * nothing was saved. Gives the ids as contact_save_batch does. */
MUST_CHECK bool validated_save_many(const struct work *work, const struct contact_change *changes, size_t count,
                                    struct int_list *ret_ids, struct json_writer *json, struct error *err) NONNULL(1, 2, 4, 5, 6);
