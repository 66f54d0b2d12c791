/* The places of hits: the hits of one brand leave some to those of others. */
#include "fixtures/own_fail.h"

#include "api/tracking/hit_places.h"

enum { PLACES = 1024, BUSY = 7, QUIET = 8 };

static unsigned take_all(struct hit_places *places, int64_t brand_id)
{
    unsigned taken = 0;
    while (hit_places_take(places, brand_id))
        taken++;
    return taken;
}

static void give_back_all(struct hit_places *places, int64_t brand_id, unsigned count)
{
    for (; count > 0; count--)
        hit_places_give_back(places, brand_id);
}

static void test_a_brand_leaves_places(void **state)
{
    (void)state;
    static struct hit_places places = { .max = PLACES };
    unsigned busy = take_all(&places, BUSY);
    assert_int_equal(busy, PLACES / 2);
    unsigned quiet = take_all(&places, QUIET);
    assert_int_equal(quiet, PLACES / 4);
    hit_places_give_back(&places, BUSY);
    assert_int_equal(places.used, busy + quiet - 1);
    give_back_all(&places, BUSY, busy - 1);
    give_back_all(&places, QUIET, quiet);
    assert_int_equal(places.used, 0);
    assert_int_equal(take_all(&places, QUIET), busy);
}

static void test_all_places_are_used(void **state)
{
    (void)state;
    static struct hit_places places = { .max = PLACES };
    unsigned taken = 0;
    for (int64_t brand_id = 1; brand_id <= HIT_PLACES_BRANDS; brand_id++)
        taken += take_all(&places, brand_id);
    assert_int_equal(taken, PLACES);
    assert_int_equal(places.used, PLACES);
    assert_false(hit_places_take(&places, QUIET));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_brand_leaves_places),
        cmocka_unit_test(test_all_places_are_used),
    };
    return cmocka_run_group_tests_name("api: places of hits", tests, NULL, NULL);
}
