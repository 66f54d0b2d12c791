#include "api/tracking/hit_places.h"

static unsigned *count_of(struct hit_places *places, int64_t brand_id)
{
    return &places->of_brand[(uint64_t)brand_id % HIT_PLACES_BRANDS];
}

bool hit_places_take(struct hit_places *places, int64_t brand_id)
{
    unsigned *count = count_of(places, brand_id);
    if (*count >= places->max - places->used)
        return false;
    ++*count;
    places->used++;
    return true;
}

void hit_places_give_back(struct hit_places *places, int64_t brand_id)
{
    --*count_of(places, brand_id);
    places->used--;
}
