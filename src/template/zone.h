/*
 * The offsets of a time zone from UTC, read from the system's zone files
 * (TZif, RFC 8536), so that dates of templates are shown in the zone of their
 * brand without touching the process's own. Read-only once loaded; lives in the
 * arena. Behind the last change that the file lists (2037), its offset goes on.
 */
#pragma once

#include "base/arena.h"

#include <stdint.h>

struct template_zone;

/* The zone of an IANA name, NULL when the system does not know it (then UTC is used). */
const struct template_zone *template_zone_load(struct arena *arena, const char *name) NONNULL(1, 2);

/* Seconds east of UTC at a moment, in seconds since 1970. 0 for NULL. */
int64_t template_zone_offset_s(const struct template_zone *zone, int64_t at_s) PURE;
