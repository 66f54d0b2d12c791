/*
 * Findings of an audit in their order, with ids, and the comparison with the
 * audit before. Private to src/engine/quality. Memory is of the arena.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/quality/audits.h"
#include "sql/audits.h"

/* The findings that an audit keeps; each list has `count` items. */
struct audit_findings {
    size_t count;
    const struct check_outcome **outcomes; /* the check of each */
    const struct check_finding **findings;
    const char **ids;
    bool *are_new;
};

/* Whether the kind of audit has a check. */
bool audit_has_check(enum audit_kind kind, const struct quality_check *check) NONNULL(2);

/* Collects the findings, hardest first, and gives them ids. An id is unique within the audit. */
struct audit_findings audit_findings_of(struct arena *arena, const struct check_report *report, enum audit_kind kind) NONNULL(1, 2);

/* Compares with the complete audit before, of which `previous` and its findings were read, and sets `are_new`. Returns the member
 * `diff` as JSON. A finding of the audit before counts as fixed only when its check was decided now and all of its findings are
 * kept. */
const char *audit_compare(const struct work *work, const struct check_report *report, struct audit_findings *findings,
                          const struct audit_previous_row *previous, const struct audit_findings_all_row *before,
                          size_t before_count) NONNULL(1, 2, 3, 4);
