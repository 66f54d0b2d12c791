/*
 * Activity: which organizations have had calls lately, in all pools of a
 * service. An organization whose neighbours are idle may use every thread for
 * its slow calls; beside others it leaves them a processor.
 *
 * Thread-safe. Private to src/api/dispatch.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct activity;

/* `quiet_ms`: an organization without a call for so long is idle; 0: one second. */
struct activity *activity_new(int64_t quiet_ms) RETURNS_NONNULL;
void activity_free(struct activity *activity);

/* Notes that an organization has a call now. Numbers below 1 are no organizations. */
void activity_note(struct activity *activity, int64_t organization_id) NONNULL(1);

/* Whether another organization has had a call lately. */
bool activity_has_others(struct activity *activity, int64_t organization_id) NONNULL(1);
