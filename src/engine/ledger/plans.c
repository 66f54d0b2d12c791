#include "engine/ledger/plans.h"

#include <string.h>

const struct plan *plan_find(const char *key)
{
    const struct plan *smallest = &plans[0];
    for (size_t i = 0; i < PLAN_COUNT; i++) {
        if (strcmp(plans[i].key, key) == 0)
            return &plans[i];
        bool smaller = plans[i].credits >= 0 && (smallest->credits < 0 || plans[i].credits < smallest->credits);
        if (smaller)
            smallest = &plans[i];
    }
    return smallest;
}

const char *plan_keys(struct arena *arena)
{
    const char *keys = plans[0].key;
    for (size_t i = 1; i < PLAN_COUNT; i++)
        keys = arena_printf(arena, "%s, %s", keys, plans[i].key);
    return keys;
}

struct text_list plans_unlimited(struct arena *arena)
{
    const char **keys = arena_array(arena, PLAN_COUNT, sizeof(*keys));
    size_t count = 0;
    for (size_t i = 0; i < PLAN_COUNT; i++)
        if (plans[i].credits < 0)
            keys[count++] = plans[i].key;
    return (struct text_list){ keys, count };
}

struct opt_int plan_credits_remaining(const char *plan_key, int64_t bonus_credits, int64_t used)
{
    const struct plan *plan = plan_find(plan_key);
    if (plan->credits < 0)
        return (struct opt_int){ .set = false };
    int64_t plan_left = plan->credits > used ? plan->credits - used : 0;
    /* Usage beyond the plan was taken from the bonus. */
    int64_t bonus_used = used > plan->credits ? used - plan->credits : 0;
    int64_t bonus_left = bonus_credits > bonus_used ? bonus_credits - bonus_used : 0;
    return (struct opt_int){ .set = true, .value = plan_left + bonus_left };
}
