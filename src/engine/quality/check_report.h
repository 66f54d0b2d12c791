/*
 * Report of checks: the results of all checks of one audit. Engines write it, each
 * for its own checks, and engine/quality/audits.h saves it.
 *
 * Texts are copied into the arena, without control characters and truncated:
 * messages, reasons and selectors after 300 characters, sources after 200. The
 * report belongs to one thread. Ids of checks come from the program, so an unknown
 * one ends the process; a report of the renderer is read with an error instead.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"
#include "engine/quality/checks.h"

#include <jansson.h>

enum {
    CHECK_MAX_FINDINGS = 50, /* of one check; the others are counted */
    CHECK_MESSAGE_MAX_CHARS = 300,
    CHECK_SELECTOR_MAX_CHARS = 300,
    CHECK_SOURCE_MAX_CHARS = 200,
    CHECK_KEY_MAX_CHARS = 600,
};

enum check_status {
    CHECK_PASSED,
    CHECK_ISSUES,
    CHECK_NOT_APPLICABLE, /* the mail has nothing to check, or nobody configured the engine */
    CHECK_UNAVAILABLE,    /* the engine did not answer */
    CHECK_STATUSES,
};

struct check_finding {
    const char *message;  /* one sentence with the numbers */
    const char *selector; /* CSS selector; may be NULL */
    const char *source;   /* the place in the HTML; may be NULL */
    const char *key;      /* equal for the same fault in another version; NULL: selector and source */
    enum check_severity severity;
};

/* The result of one check. */
struct check_outcome {
    const struct quality_check *check;
    bool has_ended;
    enum check_status status;
    const char *reason;             /* may be NULL */
    enum check_severity severity;   /* the hardest of the findings */
    struct check_finding *findings; /* with their own severities and keys */
    size_t finding_count;
    int64_t more; /* findings beyond CHECK_MAX_FINDINGS */
};

struct check_engine_version {
    const char *name; /* NULL: the engine did not answer */
    const char *version;
};

/* Figures of the mail; not set when no engine has told them. */
struct check_metrics {
    struct opt_int html_bytes;
    struct opt_int link_count;
    struct opt_int image_count;
    struct opt_int gif_count;
};

struct check_report;

/* A report of all declared checks. */
struct check_report *check_report_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* A report of other checks; the table ends with a check without an id and outlives the report. */
struct check_report *check_report_new_of(struct arena *arena, const struct quality_check *checks) NONNULL(1, 2) RETURNS_NONNULL;

/* Ends a check without findings. `reason` may be NULL. A check that has ended keeps its result. */
void check_report_end(struct check_report *report, const char *check_id, enum check_status status, const char *reason)
    NONNULL(1, 2);

/* Adds a finding; the check ends with CHECK_ISSUES. */
void check_report_add(struct check_report *report, const char *check_id, const struct check_finding *finding) NONNULL(1, 2, 3);

/* Ends all checks of an engine that have not ended. */
void check_report_end_engine(struct check_report *report, enum check_engine engine, enum check_status status, const char *reason)
    NONNULL(1);

/* Records what decided the checks of an engine. Both texts may be NULL. */
void check_report_engine(struct check_report *report, enum check_engine engine, const char *name, const char *version) NONNULL(1);

/* Reads the report of an engine of the renderer: an object with engine, checks and metrics (docs/modules/audits.md). It has every
 * check of the engine exactly once. Nothing is read on an error. Errors: INTERNAL_ERROR when the report breaks these rules. */
MUST_CHECK bool check_report_read(struct check_report *report, enum check_engine engine, const json_t *json, struct error *err)
    NONNULL(1, 4);

/* The results, in the order of the table. */
const struct check_outcome *check_report_outcomes(const struct check_report *report, size_t *ret_count)
    NONNULL(1, 2) RETURNS_NONNULL;
struct check_engine_version check_report_version(const struct check_report *report, enum check_engine engine) NONNULL(1);
struct check_metrics check_report_metrics(const struct check_report *report) NONNULL(1);

/* The word on the wire. */
const char *check_status_name(enum check_status status) RETURNS_NONNULL;
