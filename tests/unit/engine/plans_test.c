/* Plans: the remaining credits of a month. */
#include "engine/ledger/plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A plan with a limit and one without; the names do not matter. */
static const struct plan *bounded_plan(void)
{
    for (size_t i = 0; i < PLAN_COUNT; i++)
        if (plans[i].credits > 0)
            return &plans[i];
    return NULL;
}

static const struct plan *unlimited_plan(void)
{
    for (size_t i = 0; i < PLAN_COUNT; i++)
        if (plans[i].credits < 0)
            return &plans[i];
    return NULL;
}

static void test_plans_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAN_COUNT; i++) {
        assert_ptr_equal(plan_find(plans[i].key), &plans[i]);
        assert_true(strlen(plans[i].name) > 0);
    }
    /* An unknown plan is treated as the smallest plan, never as an unlimited one. */
    const struct plan *unknown = plan_find("no such plan");
    assert_true(unknown->credits >= 0);
    for (size_t i = 0; i < PLAN_COUNT; i++)
        assert_true(plans[i].credits < 0 || plans[i].credits >= unknown->credits);
    assert_ptr_equal(plan_find(""), unknown);
}

static int64_t remaining(const struct plan *plan, int64_t bonus, int64_t used)
{
    struct opt_int left = plan_credits_remaining(plan->key, bonus, used);
    assert_true(left.set);
    return left.value;
}

/* null, which is unset here, means unlimited. */
static void test_unlimited_plans(void **state)
{
    (void)state;
    const struct plan *plan = unlimited_plan();
    assert_non_null(plan);
    assert_false(plan_credits_remaining(plan->key, 0, 0).set);
    assert_false(plan_credits_remaining(plan->key, 100, INT64_C(1) << 40).set);
}

/* plan credits left plus bonus credits. */
static void test_plan_and_bonus(void **state)
{
    (void)state;
    const struct plan *plan = bounded_plan();
    assert_non_null(plan);
    int64_t whole = plan->credits;
    assert_int_equal(remaining(plan, 0, 0), whole);
    assert_int_equal(remaining(plan, 0, 1), whole - 1);
    assert_int_equal(remaining(plan, 50, 0), whole + 50);
    assert_int_equal(remaining(plan, 50, whole - 1), 51);
    assert_int_equal(remaining(plan, 50, whole), 50);
    /* Beyond the plan the bonus pays. */
    assert_int_equal(remaining(plan, 50, whole + 20), 30);
    assert_int_equal(remaining(plan, 50, whole + 50), 0);
}

/* overdrawn is 0, never negative. */
static void test_overdrawn(void **state)
{
    (void)state;
    const struct plan *plan = bounded_plan();
    assert_int_equal(remaining(plan, 0, plan->credits), 0);
    assert_int_equal(remaining(plan, 0, plan->credits + 1), 0);
    assert_int_equal(remaining(plan, 50, plan->credits + 51), 0);
    assert_int_equal(remaining(plan, 0, INT64_MAX), 0);
    struct opt_int unknown = plan_credits_remaining("no such plan", 0, INT64_MAX);
    assert_true(unknown.set);
    assert_int_equal(unknown.value, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_are_found),
        cmocka_unit_test(test_unlimited_plans),
        cmocka_unit_test(test_plan_and_bonus),
        cmocka_unit_test(test_overdrawn),
    };
    return cmocka_run_group_tests_name("engine: plans", tests, NULL, NULL);
}
