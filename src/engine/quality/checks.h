/*
 * Checks: the table of quality checks, generated from schemas/checks. Each check
 * belongs to an engine, a program or a part of one that decides it. Constant;
 * any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

enum check_engine {
    CHECK_ENGINE_STATIC,         /* the tree of the HTML, in the renderer */
    CHECK_ENGINE_BROWSER,        /* the drawn page, in Chromium */
    CHECK_ENGINE_LINKS,          /* requests of the links */
    CHECK_ENGINE_SPAM,           /* a spam filter of the operator */
    CHECK_ENGINE_AUTHENTICATION, /* DNS records of the sending domain, headers of the message */
    CHECK_ENGINES,
};

enum check_category {
    CATEGORY_ACCESSIBILITY,
    CATEGORY_CONTENT,
    CATEGORY_LINKS,
    CATEGORY_DELIVERABILITY,
    CATEGORY_COMPATIBILITY,
    CATEGORIES,
};

/* From mild to hard. */
enum check_severity {
    SEVERITY_DECLARED, /* of a finding: the severity of its check */
    SEVERITY_INFO,
    SEVERITY_WARNING,
    SEVERITY_ERROR,
    SEVERITY_BLOCKER,
    SEVERITIES,
};

struct quality_check {
    const char *id; /* NULL ends the table */
    enum check_engine engine;
    enum check_category category;
    enum check_severity severity;
    const char *summary;        /* what a mail has that passes; a phrase */
    const char *impact;         /* a sentence */
    const char *remedy;         /* a sentence */
    const char *const *sources; /* standards and addresses, up to NULL */
};

/* All checks, by engine; a check without an id ends the table. */
extern const struct quality_check *const quality_checks;

/* NULL when there is none. */
const struct quality_check *quality_check_find(const char *id) NONNULL(1) PURE;

/* The words on the wire. */
const char *check_engine_name(enum check_engine engine) RETURNS_NONNULL;
const char *check_category_name(enum check_category category) RETURNS_NONNULL;
const char *check_severity_name(enum check_severity severity) RETURNS_NONNULL; /* not of SEVERITY_DECLARED */

/* The constants of the words; false for another word. */
bool check_category_read(const char *name, enum check_category *ret_category) NONNULL(1, 2);
bool check_severity_read(const char *name, enum check_severity *ret_severity) NONNULL(1, 2);
