/*
 * Time zone: the offsets from UTC, read from the system's zone files (TZif,
 * RFC 8536). Dates of templates use the zone of their brand; the process's own
 * time zone does not change. A zone is read-only and allocated in the arena. The
 * offset of the last change in the file (2037) applies to all later times.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <stdint.h>

struct template_zone;

/* Loads a zone by its IANA name; NULL when the system does not have it (then UTC is used). */
const struct template_zone *template_zone_load(struct arena *arena, const char *name) NONNULL(1, 2);

/* The zone of a zone file with these bytes, which it borrows; NULL when they are malformed. */
const struct template_zone *template_zone_parse(struct arena *arena, struct bytes file) NONNULL(1);

/* Seconds east of UTC at a time in seconds since 1970. 0 for NULL. */
int64_t template_zone_offset_s(const struct template_zone *zone, int64_t at_s) PURE;

/* The time at which clocks of the zone show `local_us` (microseconds since 1970, as if it were UTC). A local time that a change of
 * the clock leaves out is moved by the change. Of one that occurs twice, the first is taken, or the second. */
enum template_zone_choice { ZONE_FIRST, ZONE_SECOND };
int64_t template_zone_time_us(const struct template_zone *zone, int64_t local_us, enum template_zone_choice choice) PURE;
