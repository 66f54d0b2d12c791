/*
 * Audits: saved results of the checks of one version of a design. An audit is
 * complete when every check was decided; otherwise it is partial and has no
 * score. Audits are kept for seven days, and are gone with their design.
 *
 * The id of a finding is a hash of its check and its key, so the same fault has
 * the same id in the next audit of the design. A complete audit before it, for the
 * same kind and purpose, tells which findings are new and which are fixed.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/quality/check_report.h"

enum { AUDIT_FINDINGS_SHOWN = 10, AUDIT_ISSUES_SHOWN = 50, AUDIT_FIXED_SHOWN = 10 };

enum audit_kind { AUDIT_FULL, AUDIT_ACCESSIBILITY };

/* What is audited. */
struct audit_subject {
    int64_t email_id;
    int64_t version_id; /* 0: the latest */
    enum audit_kind kind;
    const char *purpose; /* marketing or transactional; NULL: marketing */
};

/* Checks that a version can be audited, and sets the latest version. Errors: EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND,
 * EMAIL_NOT_READY. */
MUST_CHECK bool audit_check(const struct work *work, struct audit_subject *subject, struct error *err) NONNULL(1, 2, 3);

/* Whether an audit of the kind has checks of an engine. */
bool audit_has_engine(enum audit_kind kind, enum check_engine engine);

/* Whether the kind of audit has decided all of its checks. */
bool audit_is_complete(const struct check_report *report, enum audit_kind kind) NONNULL(1);

/* The score of 0 to 100 of a complete audit. */
int64_t audit_score(const struct check_report *report, enum audit_kind kind) NONNULL(1);

/* Saves the results of a version that audit_check has set. Checks that have not ended are saved as unavailable. Errors:
 * EMAIL_NOT_FOUND when the design was deleted meanwhile. */
MUST_CHECK bool audit_save(const struct work *work, const struct audit_subject *subject, struct check_report *report,
                           int64_t *ret_audit_id, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Writes the resource "audit" with its first findings and without a cursor. Errors: AUDIT_NOT_FOUND. */
MUST_CHECK bool audit_write(const struct work *work, int64_t audit_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Writes the resource "accessibilityAudit" with its first issues. Errors: AUDIT_NOT_FOUND. */
MUST_CHECK bool audit_write_accessibility(const struct work *work, int64_t audit_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Writes the resource "audit" with a page of findings. Errors: AUDIT_NOT_FOUND, INVALID_REQUEST (cursor). */
MUST_CHECK bool audit_read(const struct work *work, int64_t audit_id, int64_t limit, const char *cursor, struct json_writer *json,
                           struct error *err) NONNULL(1, 5, 6);

/* Writes a page of the audits of the brand or of one design (`email_id` 0: of all), newest first. Errors: INVALID_REQUEST (cursor),
 * EMAIL_NOT_FOUND. */
MUST_CHECK bool audit_list(const struct work *work, int64_t email_id, int64_t limit, const char *cursor, struct json_writer *json,
                           struct error *err) NONNULL(1, 5, 6);

/* A sentence about the audits of a version before it is sent: its open blockers, or that it was never audited; NULL: there is
 * nothing to say. */
MUST_CHECK bool audit_warning(const struct work *work, int64_t email_id, int64_t version_id, const char **ret_sentence,
                              struct error *err) NONNULL(1, 4, 5);
