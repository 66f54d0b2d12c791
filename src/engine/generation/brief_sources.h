/*
 * Sources of a brief in the database: the brand and the reference design.
 * Everything is allocated in the arena of the work.
 */
#pragma once

#include "designer/brief.h"
#include "engine/core/work.h"

/* Reads the brand of the work. `public_url` is the base address of its logo; NULL: the logo is left out. */
MUST_CHECK bool brief_read_brand(const struct work *work, const char *public_url, struct brief_brand *ret_brand, struct error *err)
    NONNULL(1, 3, 4);

/* The seed of a brief: the SHA-256 of its own members and its brand. */
void brief_set_seed(const struct work *work, struct brief *brief) NONNULL(1, 2);

/* Checks that a design of the brand can be imitated. Errors: EMAIL_NOT_FOUND and EMAIL_NOT_READY (referenceEmailId). */
MUST_CHECK bool brief_check_reference(const struct work *work, int64_t email_id, struct error *err) NONNULL(1, 3);
