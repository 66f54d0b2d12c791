/*
 * Texts of the configuration of a model: checks and copies. Copies belong to the
 * caller, who frees them. Private to src/models.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the text is one word of printable ASCII without spaces: it goes into a header or an address. */
bool config_is_word(const char *text, size_t max_bytes) NONNULL(1) PURE;

char *config_joined(const char *first, const char *second, const char *third) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The address without the slashes at its end, and with this path. */
char *config_url(const char *base, const char *path) NONNULL(1, 2) RETURNS_NONNULL;

/* Overwrites a secret and frees it. NULL is allowed. */
void config_free_secret(char *secret);
