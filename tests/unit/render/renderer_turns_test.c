/*
 * The turns of organizations that use the processes of the renderer, without
 * processes and threads.
 */
#include "render/renderer_turns.h"

#include "base/clock.h"
#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PATIENCE_US = RENDERER_PATIENCE_MS * US_PER_MS };

/* A request that has just arrived, and the place that it gets at this time; NULL: it waits. */
static struct renderer_place *arrive(struct renderer_turns *turns, struct renderer_waiter *waiter, int64_t organization_id,
                                     int64_t now_us)
{
    renderer_turns_add(turns, waiter, organization_id, now_us);
    struct renderer_place *place = renderer_turns_take(turns, waiter, now_us);
    if (place != NULL)
        renderer_turns_remove(turns, waiter);
    return place;
}

/* A request that waits for longer than its patience gets this place. */
static void assert_gets(struct renderer_turns *turns, struct renderer_waiter *waiter, struct renderer_place *place)
{
    assert_ptr_equal(renderer_turns_take(turns, waiter, 2 * PATIENCE_US), place);
    if (place != NULL)
        renderer_turns_remove(turns, waiter);
}

static void test_an_organization_has_one_place(void **state)
{
    (void)state;
    struct renderer_turns turns = { .turn = 0 };
    struct renderer_waiter waiters[3];
    struct renderer_place *first = arrive(&turns, &waiters[0], 1, 0);
    assert_ptr_equal(first, &turns.places[0]);
    assert_null(arrive(&turns, &waiters[1], 1, 0));
    assert_gets(&turns, &waiters[1], NULL); /* however long it waits */
    assert_null(arrive(&turns, &waiters[2], 2, 0));
    assert_gets(&turns, &waiters[2], &turns.places[1]);
    renderer_turns_release(first, 0);
    assert_gets(&turns, &waiters[1], first);
    assert_null(turns.first);
}

static void test_a_further_process_is_started_after_a_while(void **state)
{
    (void)state;
    struct renderer_turns turns = { .turn = 0 };
    struct renderer_waiter waiters[2];
    struct renderer_place *first = arrive(&turns, &waiters[0], 1, 100);
    assert_null(arrive(&turns, &waiters[1], 2, 100));
    assert_int_equal(renderer_turns_patient_until(&waiters[1]), 100 + PATIENCE_US);
    assert_null(renderer_turns_take(&turns, &waiters[1], 99 + PATIENCE_US));
    struct renderer_place *second = renderer_turns_take(&turns, &waiters[1], 100 + PATIENCE_US);
    assert_ptr_equal(second, &turns.places[1]);
    renderer_turns_remove(&turns, &waiters[1]);
    renderer_turns_release(second, 0);
    assert_ptr_equal(arrive(&turns, &waiters[1], 2, 100), second); /* it runs now */
    renderer_turns_release(second, 0);
    renderer_turns_release(first, 0);
    assert_ptr_equal(arrive(&turns, &waiters[1], 2, 100), first);
}

/* Organization 1 keeps a place busy with many requests, 3 holds the other one. Organization 2 arrives last. */
static void test_organizations_take_turns(void **state)
{
    (void)state;
    struct renderer_turns turns = { .turn = 0 };
    struct renderer_waiter holder;
    struct renderer_waiter many[4];
    struct renderer_waiter late;
    struct renderer_place *place = arrive(&turns, &many[0], 1, 0);
    assert_null(arrive(&turns, &holder, 3, 0));
    assert_gets(&turns, &holder, &turns.places[1]);
    for (size_t i = 1; i < ARRAY_COUNT(many); i++)
        assert_null(arrive(&turns, &many[i], 1, 0));

    renderer_turns_release(place, 0);
    assert_gets(&turns, &many[1], place);
    assert_null(arrive(&turns, &late, 2, 0));
    renderer_turns_release(place, 0);
    assert_gets(&turns, &many[2], NULL);
    assert_gets(&turns, &late, place);
    renderer_turns_release(place, 0);
    assert_gets(&turns, &many[3], NULL);
    assert_gets(&turns, &many[2], place);
    renderer_turns_release(place, 0);
    assert_gets(&turns, &many[3], place);
    assert_null(turns.first);
}

/* An organization that leaves before its turn holds nobody. */
static void test_a_waiter_may_leave(void **state)
{
    (void)state;
    struct renderer_turns turns = { .turn = 0 };
    struct renderer_waiter waiters[3];
    struct renderer_place *first = arrive(&turns, &waiters[0], 1, 0);
    assert_null(arrive(&turns, &waiters[1], 2, 0));
    assert_null(arrive(&turns, &waiters[2], 3, 0));
    assert_gets(&turns, &waiters[2], NULL);
    renderer_turns_remove(&turns, &waiters[1]);
    renderer_turns_release(first, 0);
    assert_gets(&turns, &waiters[2], first);
}

static void test_an_idle_process_is_taken_once(void **state)
{
    (void)state;
    struct renderer_turns turns = { .turn = 0 };
    struct renderer_waiter waiter;
    assert_false(renderer_turns_take_idle(&turns.places[0], 10, 100)); /* none runs */
    struct renderer_place *place = arrive(&turns, &waiter, 1, 100);
    assert_false(renderer_turns_take_idle(place, 10, 200)); /* it works */
    renderer_turns_release(place, 200);
    assert_false(renderer_turns_take_idle(place, 10, 209));
    assert_true(renderer_turns_take_idle(place, 10, 210));
    assert_null(arrive(&turns, &waiter, 1, 210)); /* it ends */
    renderer_turns_release(place, 220);
    assert_false(renderer_turns_take_idle(place, 10, 300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_organization_has_one_place), cmocka_unit_test(test_a_further_process_is_started_after_a_while),
        cmocka_unit_test(test_organizations_take_turns),      cmocka_unit_test(test_a_waiter_may_leave),
        cmocka_unit_test(test_an_idle_process_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
