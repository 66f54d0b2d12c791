/*
 * Moving people: open runs of an automation change to another version of it. Runs
 * otherwise end on the version on which they began.
 */
#pragma once

#include "engine/core/work.h"

/* Moves the open runs of other versions to a version, and cancels those whose node it does not have. `version` is its number or its
 * id. `is_dry_run`: changes nothing, and counts the same. Writes the counts by version and node. In the open transaction of the
 * work, whose brand is that of the automation. Errors: AUTOMATION_NOT_FOUND, AUTOMATION_VERSION_NOT_FOUND,
 * PUBLISH_VALIDATION_FAILED when the version could not be published. */
MUST_CHECK bool automation_move(const struct work *work, int64_t automation_id, const char *version, bool is_dry_run,
                                struct json_writer *json, struct error *err) NONNULL(1, 3, 5, 6);

/* The brand and organization of an automation, for the operator. Errors: AUTOMATION_NOT_FOUND. */
MUST_CHECK bool automation_find_brand(const struct work *work, int64_t automation_id, int64_t *ret_brand_id,
                                      int64_t *ret_organization_id, struct error *err) NONNULL(1, 3, 4, 5);
