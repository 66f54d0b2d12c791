#include "engine/triggers/reentry.h"

#include "engine/nodes/graph.h"

#include <string.h>

bool reentry_looks_back(const struct trigger_reentry *rule)
{
    return rule != NULL && rule->mode != REENTRY_MODE_ALWAYS;
}

/* "7 days", "1 day" */
static const char *span_words(struct arena *arena, const struct trigger_reentry *rule)
{
    const char *unit = time_unit_words[rule->unit - 1];
    bool is_single = rule->duration == 1 && rule->unit != TIME_UNIT_MS;
    return arena_printf(arena, "%lld %.*s", (long long)rule->duration, (int)strlen(unit) - is_single, unit);
}

const char *reentry_refusal(struct arena *arena, const struct trigger_reentry *rule, int64_t last_us, int64_t now_us)
{
    if (rule->mode == REENTRY_MODE_ONCE)
        return "reentry is once, and this contact has had a run of this automation.";
    if (rule->mode != REENTRY_MODE_AFTER || now_us - last_us >= node_span_us(rule->duration, rule->unit))
        return NULL;
    return arena_printf(arena, "reentry is after %s, and the last run of this contact began less than that ago.",
                        span_words(arena, rule));
}
