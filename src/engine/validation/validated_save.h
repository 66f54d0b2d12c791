/*
 * Validated save: saves contacts and validates their addresses.
 *
 * For a few contacts the caller waits: a job looks up the domains, saves the
 * contacts with the verdicts, and answers. Many contacts are saved at once and
 * validated in the background. A verdict never prevents a save. It is returned
 * in the warnings and stored with the contact; campaigns skip contacts with an
 * invalid address.
 *
 * The functions for the job run in the transaction that completes the job.
 * Results are allocated in the arena of the work.
 */
#pragma once

#include "catalogue/jobs.h"
#include "engine/contacts/contacts.h"
#include "engine/validation/validation.h"

/* ---- Small batches, by a job ---- */

struct validated_save {
    bool is_single; /* the result is one contact, else a batch */
    const struct contact_change *changes;
    size_t count;
    struct address_list list; /* the addresses of the changes, in their order; a missing address is empty */
};

/* The job that saves and checks these contacts. */
struct new_job validated_save_job(struct arena *arena, const struct contact_change *changes, size_t count, bool is_single)
    NONNULL(1, 2);

/* Reads the payload of that job. The addresses of its list have no verdicts yet. */
void validated_save_read(struct arena *arena, const struct save_validated_payload *payload, struct validated_save *ret_save)
    NONNULL(1, 2, 3);

struct validated_saved {
    bool inserted;       /* for a single contact */
    struct int_list ids; /* some of the saved contacts */
    int64_t checked;     /* number of distinct checked addresses of saved contacts, which are charged */
};

/* Saves the contacts and stores the verdicts. Writes contactSaved or contactBatch, with a warning for every address that is not
 * clearly valid. Errors: for a single contact, those of contact_save. */
MUST_CHECK bool validated_save_settle(const struct work *work, const struct validated_save *save, struct validated_saved *ret_saved,
                                      struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* ---- Large batches, in the background ---- */

/* Saves a batch and starts the validation of the saved contacts. Writes contactBatch with validationJobId, which is omitted when
 * no contact was saved. `ret_ids` as in contact_save_batch. */
MUST_CHECK bool validated_save_many(const struct work *work, const struct contact_change *changes, size_t count,
                                    struct int_list *ret_ids, struct json_writer *json, struct error *err) NONNULL(1, 2, 4, 5, 6);
