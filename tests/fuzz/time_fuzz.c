/*
 * Fuzzes times: an ISO 8601 time when the first byte is even, otherwise a zone
 * file (TZif). Besides not crashing: an accepted time is in the years 1 to 9999
 * and is read again from its text, and a zone gives each time an offset of 32
 * bits.
 */
#include "base/clock.h"
#include "fuzz.h"
#include "template/zone.h"

#include <string.h>

static int64_t down_to_ms(int64_t time_us)
{
    int64_t rest_us = time_us % US_PER_MS;
    return time_us - rest_us - (rest_us < 0 ? US_PER_MS : 0);
}

static void feed_iso(struct arena *arena, const char *text)
{
    int64_t time_us;
    int64_t again_us = 0;
    if (!clock_parse_iso(text, &time_us))
        return;
    const char *iso = clock_iso(arena, time_us);
    require(strlen(iso) == CLOCK_ISO_CHARS && clock_parse_iso(iso, &again_us));
    require(again_us == down_to_ms(time_us));
    require(strcmp(clock_iso(arena, again_us), iso) == 0);
    require(strlen(clock_rfc5322(arena, time_us)) == strlen("Sat, 21 Nov 2026 09:30:00 +0000"));
}

static void feed_zone(struct arena *arena, struct bytes file)
{
    static const int64_t times_s[] = { INT64_MIN, -5000000000, -1, 0, 1, 1800000000, 5000000000, INT64_MAX };
    const struct template_zone *zone = template_zone_parse(arena, file);
    for (size_t i = 0; i < ARRAY_COUNT(times_s); i++) {
        int64_t offset_s = template_zone_offset_s(zone, times_s[i]);
        require(offset_s >= INT32_MIN && offset_s <= INT32_MAX && (zone != NULL || offset_s == 0));
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0)
        feed_iso(arena, arena_dup_bytes(arena, (const char *)data + 1, size - 1));
    else
        feed_zone(arena, (struct bytes){ data + 1, size - 1 });
    return 0;
}
