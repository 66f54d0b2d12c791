/*
 * Private to the triggers module: the rules of re-entry. The trigger node of an
 * automation says whether a fire starts another run for an address that had one
 * (D-110). The caller holds the lock of the contact, so two fires of one address
 * are judged one after the other.
 */
#pragma once

#include "engine/core/work.h"

#include <jansson.h>

enum reentry_mode { REENTRY_ALWAYS, REENTRY_ONCE, REENTRY_AFTER };

struct reentry {
    enum reentry_mode mode;
    int64_t after_us;  /* of REENTRY_AFTER: the time since the beginning of the last run */
    const char *after; /* the same for people: "7 days" */
};

/* Reads the rule from a stored trigger node. One without a rule always starts. */
struct reentry reentry_read(struct arena *arena, const json_t *node) NONNULL(1);

/* Why a fire may not start a run after the last one, which began at `last_us`; NULL: it may. */
const char *reentry_refusal(struct arena *arena, const struct reentry *reentry, int64_t last_us, int64_t now_us) NONNULL(1, 2);
