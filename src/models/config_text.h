/*
 * Copies of the texts of a model's configuration. They belong to the caller, who
 * frees them. Private to src/models.
 */
#pragma once

#include "base/compiler.h"

char *config_joined(const char *first, const char *second, const char *third) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The address without the slashes at its end, and with this path. */
char *config_url(const char *base, const char *path) NONNULL(1, 2) RETURNS_NONNULL;

/* Overwrites a secret and frees it. NULL is allowed. */
void config_free_secret(char *secret);
