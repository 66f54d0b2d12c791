/*
 * Fragments: the merge tags and the addresses in texts. An edit must not lose
 * one unless its instruction says so.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "base/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* Adds the merge tags in all texts of a value to `set`, an object whose members are the fragments; the addresses too when
 * `with_links`. */
void fragments_collect(struct arena *arena, const json_t *value, bool with_links, json_t *set) NONNULL(1, 4);

/* As fragments_collect, for one text. */
void fragments_collect_text(struct arena *arena, const char *text, bool with_links, json_t *set) NONNULL(1, 2, 4);

/* Whether a fragment is an address and not a merge tag. */
bool fragment_is_address(const char *fragment) NONNULL(1) PURE;
