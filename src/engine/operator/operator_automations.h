/*
 * Automations for the operator: moving open runs to another version.
 */
#pragma once

#include "engine/core/work.h"

/* Moves the open runs of an automation to a version, by its number or id (engine/automations/move.h), and writes the counts.
 * `is_dry_run`: only counts. Errors: AUTOMATION_NOT_FOUND, AUTOMATION_VERSION_NOT_FOUND, PUBLISH_VALIDATION_FAILED. */
MUST_CHECK bool operator_move_automation(struct work *work, const char *wire_id, const char *version, bool is_dry_run,
                                         struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 5, 6);
