/*
 * Audit log of the operator: writes the audit row of an operation in its
 * transaction.
 */
#pragma once

#include "engine/core/work.h"

/* Writes the audit row of an operation on `subject` (a wire id or a name) and commits. */
MUST_CHECK bool operator_commit(const struct work *work, struct db_tx *tx, const char *operation, const char *subject,
                                struct error *err) NONNULL(1, 2, 3, 4, 5);
