/*
 * Addresses of the pictures of a document.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

/* A canonical document whose pictures have other addresses. `addresses` maps old ones to new ones; null leaves a picture as it is.
 * Pictures in HTML of callers stay. */
const json_t *document_with_sources(struct arena *arena, const json_t *document, const json_t *addresses)
    NONNULL(1, 2, 3) RETURNS_NONNULL;
