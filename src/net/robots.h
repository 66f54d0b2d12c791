/*
 * Rules of robots.txt (RFC 9309): which paths of a host an automatic client may
 * fetch. Only the rules for the product token "posthorn" count, else those for
 * "*". The longest rule decides, and "allow" wins between equally long ones.
 *
 * Parsed rules belong to the arena. Any thread.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a file that are read (RFC 9309 §2.5), rules that are kept, bytes of one rule, and bytes of a path. Longer rules are
 * ignored, longer paths not allowed: their comparison with all rules would take long. */
enum { ROBOTS_MAX_BYTES = 512 * 1024, ROBOTS_MAX_RULES = 500, ROBOTS_RULE_MAX_BYTES = 256, ROBOTS_PATH_MAX_BYTES = 2048 };

struct robots;

struct robots *robots_parse(struct arena *arena, const char *text, size_t size) NONNULL(1, 2) RETURNS_NONNULL;

/* For a file that could not be fetched: without it, everything is allowed; on an error of the server, nothing (§2.3.1). */
struct robots *robots_for_all(struct arena *arena, bool allowed) NONNULL(1) RETURNS_NONNULL;

/* `path` begins with a slash and includes the query. */
bool robots_allows(const struct robots *robots, struct arena *arena, const char *path) NONNULL(1, 2, 3);
