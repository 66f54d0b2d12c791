/*
 * Activity: which organizations have had calls lately, in all pools of a
 * service, and whose campaigns are being delivered, in any process. An
 * organization whose neighbours are idle may use every thread for its slow calls;
 * beside others it leaves them a processor.
 *
 * Thread-safe. Private to src/api/dispatch.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity;

/* `quiet_ms`: an organization without a call for so long is idle; 0: one second. */
struct activity *activity_new(int64_t quiet_ms) RETURNS_NONNULL;
void activity_free(struct activity *activity);

/* Notes that an organization has a call now. Numbers below 1 are no organizations. */
void activity_note(struct activity *activity, int64_t organization_id) NONNULL(1);

/* True when it is time to look whose campaigns are being delivered; one caller is told so in each interval. */
MUST_CHECK bool activity_must_look(struct activity *activity) NONNULL(1);

/* Notes that a campaign of an organization is being delivered now. This holds for a few intervals of activity_must_look, so that
 * slow calls, which look at their beginning, may be long. */
void activity_note_delivery(struct activity *activity, int64_t organization_id) NONNULL(1);

enum { ACTIVITY_ORGANIZATIONS = 2 };

/* Gives the organizations that have had the last calls, for other processes: any organization has another one among them if there
 * is one. 0 when it is not time; one caller a second gets them. */
MUST_CHECK size_t activity_take_latest(struct activity *activity, int64_t ret_organization_ids[ACTIVITY_ORGANIZATIONS])
    NONNULL(1, 2);

/* Whether another organization has had a call lately, or has a campaign that is being delivered. */
bool activity_has_others(struct activity *activity, int64_t organization_id) NONNULL(1);
