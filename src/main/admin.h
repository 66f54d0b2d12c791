/*
 * Internal to main: a running command of posthorn admin, and the commands that
 * have files of their own. A command writes one JSON object; its texts live in
 * the arena of `work`.
 */
#pragma once

#include "cli/options.h"
#include "engine/core/work.h"

struct admin {
    struct work work;
    const struct options *options;
    const char *argument; /* the word after the verb, NULL when there is none */
    const char *value;    /* the word after the argument */
    struct json_writer json;
};

/* Errors: INVALID_REQUEST when the word is missing. */
MUST_CHECK bool admin_need_argument(const struct admin *admin, const char *what, struct error *err) NONNULL(1, 2, 3);

/* The organization of --org, and the brand of --brand, of `work`. Errors: ORGANIZATION_NOT_FOUND, BRAND_NOT_FOUND. */
MUST_CHECK bool admin_choose_organization(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_choose_brand(struct admin *admin, struct error *err) NONNULL(1, 2);

/* posthorn admin suppression (admin_suppressions.c). */
MUST_CHECK bool admin_suppression_list(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_suppression_add(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_suppression_release(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_suppression_import(struct admin *admin, struct error *err) NONNULL(1, 2);

/* posthorn admin report-source (admin_report_sources.c). */
MUST_CHECK bool admin_report_source_add(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_report_source_list(struct admin *admin, struct error *err) NONNULL(1, 2);
MUST_CHECK bool admin_report_source_remove(struct admin *admin, struct error *err) NONNULL(1, 2);
