#include "engine/triggers/reentry.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *name;
    const char *one;
    int64_t us;
} units[] = {
    { "ms", "millisecond", 1000 },
    { "seconds", "second", US_PER_S },
    { "minutes", "minute", INT64_C(60) * US_PER_S },
    { "hours", "hour", INT64_C(3600) * US_PER_S },
    { "days", "day", INT64_C(24) * 3600 * US_PER_S },
    { "weeks", "week", INT64_C(7) * 24 * 3600 * US_PER_S },
};

struct reentry reentry_read(struct arena *arena, const json_t *node)
{
    struct reentry reentry = { .mode = REENTRY_ALWAYS };
    const json_t *rule = json_object_get(json_object_get(node, "config"), "reentry");
    const char *unit = json_get_text(rule, "unit");
    int64_t duration = json_get_int(rule, "duration", 0);
    if (text_equal(json_get_text(rule, "mode"), "once"))
        reentry.mode = REENTRY_ONCE;
    for (size_t i = 0; i < ARRAY_COUNT(units) && text_equal(json_get_text(rule, "mode"), "after"); i++)
        if (text_equal(unit, units[i].name) && duration <= INT64_MAX / units[i].us)
            reentry = (struct reentry){
                .mode = REENTRY_AFTER,
                .after_us = duration * units[i].us,
                .after = arena_printf(arena, "%lld %s%s", (long long)duration, units[i].one, duration == 1 ? "" : "s"),
            };
    return reentry;
}

const char *reentry_refusal(struct arena *arena, const struct reentry *reentry, int64_t last_us, int64_t now_us)
{
    switch (reentry->mode) {
    case REENTRY_ALWAYS:
        break;
    case REENTRY_ONCE:
        return "reentry is once, and this contact has had a run of this automation.";
    case REENTRY_AFTER:
        if (now_us - last_us < reentry->after_us)
            return arena_printf(arena, "reentry is after %s, and the last run of this contact began later than that.",
                                reentry->after);
        break;
    }
    return NULL;
}
