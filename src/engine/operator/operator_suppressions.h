/*
 * Suppressed addresses of a brand, for the operator (posthorn admin
 * suppression). Only hashes of addresses are stored, so a list shows no address.
 * Every change commits with an audit row whose subject is the hash. `work` names
 * the organization and the brand; texts live in its arena.
 */
#pragma once

#include "engine/core/work.h"

enum { SUPPRESSIONS_OF_PAGE = 200, SUPPRESSION_IMPORT_SHOWN = 100, SUPPRESSION_EVIDENCE_MAX_CHARS = 500 };

/* Writes a page of the suppressions that hold now, after the hash `after` (NULL: the first page). Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_write_suppressions(const struct work *work, const char *after, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Suppresses an address. `reason` is bounce, complaint, unsubscribe or operator. Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_add_suppression(const struct work *work, const char *email, const char *reason, struct json_writer *json,
                                         struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Ends the suppression of an address and writes what it was. An unsubscribe is only ended with `unsubscribed`, which subscribes the
 * contact again, too. Errors: INVALID_REQUEST, also for an address that is not suppressed. */
MUST_CHECK bool operator_release_suppression(const struct work *work, const char *email, bool unsubscribed,
                                             struct json_writer *json, struct error *err) NONNULL(1, 2, 4, 5);

/* Suppresses the addresses of a CSV file, the export of another service. A header names the columns: an address, and where there
 * are such columns a reason and a date. A row without a known reason gets `reason`. Rows that cannot be read are counted, and the
 * first SUPPRESSION_IMPORT_SHOWN are named. Rows are committed in portions; a repetition changes nothing.
 * Errors: INVALID_REQUEST when the file cannot be read or has no column of addresses. */
MUST_CHECK bool operator_import_suppressions(const struct work *work, const char *path, const char *reason,
                                             struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Errors: INVALID_REQUEST unless `reason` is one that an operator can give. */
MUST_CHECK bool operator_check_suppression_reason(const char *reason, struct error *err) NONNULL(1, 2);
