/* Turns of brands: who is next, the mark behind which nothing is expected, and smaller transactions after failures. */
#include "fixtures/base_case.h"

#include "base/clock.h"
#include "stepper/brand_turns.h"

enum { BUSY = 1, QUIET = 2 };
static const int64_t now_us = INT64_C(1000) * US_PER_S;

static struct step_batch_result full_batch(int64_t last_us)
{
    return (struct step_batch_result){ .taken = STEP_BATCH_MAX, .last = { last_us, 7 } };
}

static void test_brands_take_turns_while_one_has_more_due_runs(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    struct step_batch_result more = full_batch(now_us - 10 * US_PER_S);
    brand_turns_note(&turns, BUSY, now_us - US_PER_S, now_us);
    brand_turns_note(&turns, QUIET, now_us, now_us);
    int64_t order[4];
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        struct brand_turn *turn = brand_turns_next(&turns, now_us, 0);
        order[i] = turn->brand_id;
        brand_turn_stepped(turn, &more, now_us, 0);
    }
    assert_true(order[0] != order[1] && order[0] == order[2] && order[1] == order[3]);
    brand_turns_done(&turns);
}

static void test_the_mark_moves_forward_and_lags_behind_the_present(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    struct brand_turn *turn = brand_turns_find(&turns, BUSY);
    struct step_batch_result old = full_batch(now_us - 60 * US_PER_S);
    brand_turn_stepped(turn, &old, now_us, 0);
    assert_int_equal(turn->mark.due_us, now_us - 60 * US_PER_S);
    assert_int_equal(turn->mark.id, 7);
    struct step_batch_result fresh = full_batch(now_us);
    brand_turn_stepped(turn, &fresh, now_us, 0);
    assert_int_equal(turn->mark.due_us, now_us - 2 * US_PER_S);
    brand_turn_stepped(turn, &old, now_us, 0);
    assert_int_equal(turn->mark.due_us, now_us - 2 * US_PER_S);
    brand_turns_done(&turns);
}

static void test_runs_that_come_one_after_another_share_transactions(void **state)
{
    (void)state;
    enum { FEW = 3, SOON_US = 9999, LATER_US = 10000 };
    struct brand_turns turns = { .items = NULL };
    struct step_batch_result few = { .taken = FEW, .last = { now_us, 7 }, .is_last = true };
    struct brand_turn *turn = brand_turns_find(&turns, BUSY);
    turn->is_due = true;
    assert_ptr_equal(brand_turns_next(&turns, now_us, 0), turn); /* the first run goes at once */
    brand_turn_stepped(turn, &few, now_us, 0);
    turn->is_due = true;
    assert_null(brand_turns_next(&turns, now_us, SOON_US));
    assert_int_equal(brand_turns_wait_us(&turns, now_us, SOON_US, US_PER_S), 1);
    assert_ptr_equal(brand_turns_next(&turns, now_us, LATER_US), turn);
    struct step_batch_result none = { .is_last = true };
    brand_turn_stepped(turn, &none, now_us, LATER_US);
    turn->is_due = true;
    assert_ptr_equal(brand_turns_next(&turns, now_us, LATER_US), turn);
    brand_turns_done(&turns);
}

static void test_a_look_moves_the_mark_back_to_a_late_run_and_a_clock_set_back_moves_it_too(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    struct step_batch_result none = { .is_last = true };
    brand_turn_stepped(brand_turns_find(&turns, BUSY), &none, now_us, 0);
    brand_turns_note(&turns, BUSY, now_us - 100 * US_PER_S, now_us);
    struct brand_turn *turn = brand_turns_next(&turns, now_us, 0);
    assert_non_null(turn);
    assert_true(turn->mark.due_us < now_us - 100 * US_PER_S);
    brand_turn_stepped(turn, &none, now_us, 0);
    brand_turn_stepped(turn, &none, now_us - 1000 * US_PER_S, 0);
    assert_int_equal(turn->mark.due_us, now_us - 1002 * US_PER_S);
    brand_turns_done(&turns);
}

static void test_a_failing_run_is_alone_after_halving_and_is_given_up_after_three_failures(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    struct brand_turn *turn = brand_turns_find(&turns, BUSY);
    int halvings = 0;
    while (turn->limit > 1 && halvings++ < 20)
        assert_false(brand_turn_failed(turn, false, 0));
    assert_int_equal(halvings, 8);
    assert_false(brand_turn_failed(turn, true, 0)); /* the disk was full: no failure of the run */
    assert_false(brand_turn_failed(turn, false, 0));
    assert_false(brand_turn_failed(turn, false, 0));
    assert_true(brand_turn_failed(turn, false, 0));
    brand_turns_done(&turns);
}

static void test_the_wait_ends_with_the_next_step_or_the_end_of_a_pause(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    assert_int_equal(brand_turns_wait_us(&turns, now_us, 0, US_PER_S), US_PER_S);
    brand_turns_note(&turns, QUIET, now_us + 300, now_us);
    assert_null(brand_turns_next(&turns, now_us, 0));
    assert_int_equal(brand_turns_wait_us(&turns, now_us, 0, US_PER_S), 300);
    assert_non_null(brand_turns_next(&turns, now_us + 300, 0));
    assert_false(brand_turn_failed(brand_turns_find(&turns, QUIET), true, 0));
    assert_null(brand_turns_next(&turns, now_us + 300, 1000));
    assert_int_equal(brand_turns_wait_us(&turns, now_us + 300, 1000, US_PER_S), 199000);
    brand_turns_done(&turns);
}

static void test_a_brand_whose_runs_all_stay_due_pauses_and_is_tried_again(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    struct step_batch_result left = { .taken = 2, .left = 2, .is_last = true };
    brand_turns_note(&turns, BUSY, now_us, now_us);
    brand_turn_stepped(brand_turns_next(&turns, now_us, 0), &left, now_us, 0);
    assert_null(brand_turns_next(&turns, now_us, 0));
    assert_non_null(brand_turns_next(&turns, now_us, US_PER_S));
    brand_turns_done(&turns);
}

static void test_suspect_runs_are_those_of_the_last_look_and_a_rest_passes(void **state)
{
    (void)state;
    struct brand_turns turns = { .items = NULL };
    static const int64_t brands[] = { BUSY };
    brand_turns_find(&turns, QUIET)->has_suspects = true;
    brand_turns_note_suspects(&turns, (struct int_list){ brands, 1 });
    assert_true(brand_turns_find(&turns, BUSY)->has_suspects);
    assert_false(brand_turns_find(&turns, QUIET)->has_suspects);
    brand_turn_rest(brand_turns_find(&turns, BUSY), 0);
    assert_null(brand_turns_next(&turns, now_us, 0));
    assert_non_null(brand_turns_next(&turns, now_us, US_PER_S));
    brand_turns_done(&turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brands_take_turns_while_one_has_more_due_runs),
        cmocka_unit_test(test_the_mark_moves_forward_and_lags_behind_the_present),
        cmocka_unit_test(test_runs_that_come_one_after_another_share_transactions),
        cmocka_unit_test(test_a_look_moves_the_mark_back_to_a_late_run_and_a_clock_set_back_moves_it_too),
        cmocka_unit_test(test_a_failing_run_is_alone_after_halving_and_is_given_up_after_three_failures),
        cmocka_unit_test(test_the_wait_ends_with_the_next_step_or_the_end_of_a_pause),
        cmocka_unit_test(test_suspect_runs_are_those_of_the_last_look_and_a_rest_passes),
        cmocka_unit_test(test_a_brand_whose_runs_all_stay_due_pauses_and_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
