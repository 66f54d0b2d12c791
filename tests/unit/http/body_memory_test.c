/* Body memory: its shares; it is returned to the system after large bodies, and seldom while they keep coming. */
#include "fixtures/own_fail.h"

#include "http/body_memory.h"

#include <malloc.h>

enum { MIB = 1024 * 1024, BOUND_BYTES = 64 * MIB, TICKS = 40 };

static int trims;

/* Instead of that of the C library. */
int malloc_trim(size_t pad)
{
    (void)pad;
    return ++trims;
}

static int set_up(void **state)
{
    *state = body_memory_new(BOUND_BYTES);
    trims = 0;
    return 0;
}

static int tear_down(void **state)
{
    body_memory_unref(*state);
    return 0;
}

static void serve_body(struct body_memory *memory, size_t bytes)
{
    struct body_share share = { .organization_id = 7 };
    struct error err = { .code = ERR_NONE };
    assert_true(body_memory_claim(memory, &share, bytes, &err));
    body_memory_release(memory, &share);
}

static void test_memory_is_returned_after_the_last_body(void **state)
{
    for (int i = 0; i < 3; i++) {
        serve_body(*state, 4 * MIB);
        body_memory_trim(*state);
        assert_int_equal(trims, 0);
    }
    body_memory_trim(*state);
    assert_int_equal(trims, 1);
    for (int tick = 0; tick < TICKS; tick++)
        body_memory_trim(*state);
    assert_int_equal(trims, 1);
    serve_body(*state, 4 * MIB);
    body_memory_trim(*state);
    body_memory_trim(*state);
    assert_int_equal(trims, 2);
}

static void test_a_stream_of_bodies_is_trimmed_seldom(void **state)
{
    for (int tick = 0; tick < TICKS; tick++) {
        serve_body(*state, 4 * MIB);
        body_memory_trim(*state);
    }
    assert_in_range(trims, 2, TICKS / 5);
}

static void test_small_and_few_bodies_are_not_worth_it(void **state)
{
    for (int i = 0; i < 1000; i++)
        serve_body(*state, MIB / 2);
    serve_body(*state, 2 * MIB);
    for (int tick = 0; tick < TICKS; tick++)
        body_memory_trim(*state);
    assert_int_equal(trims, 0);
    serve_body(*state, 2 * MIB);
    for (int tick = 0; tick < TICKS; tick++)
        body_memory_trim(*state);
    assert_int_equal(trims, 1);
}

/* ---- Shares ---- */

static bool claim(struct body_memory *memory, struct body_share *share, size_t bytes)
{
    struct error err = { .code = ERR_NONE };
    bool claimed = body_memory_claim(memory, share, bytes, &err);
    if (!claimed) {
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        assert_true(err.retry_after_s > 0);
    }
    return claimed;
}

static void claim_all(struct body_memory *memory, struct body_share *share)
{
    while (claim(memory, share, MIB / 2))
        continue;
}

static void test_an_organization_holds_three_quarters(void **state)
{
    struct body_share first = { .organization_id = 7 };
    struct body_share second = { .organization_id = 7 };
    struct body_share other = { .organization_id = 8 };
    assert_true(claim(*state, &other, BOUND_BYTES / 16)); /* beside some of others */
    assert_true(claim(*state, &first, BOUND_BYTES / 4 * 3 - MIB));
    assert_true(claim(*state, &second, MIB));
    assert_false(claim(*state, &second, 1));
    body_memory_release(*state, &first);
    body_memory_release(*state, &second);
    body_memory_release(*state, &other);
    assert_int_equal(body_memory_used(*state), 0);
}

/* Each holds all that it may. Numbers below 8 have entries of their own, whatever the seed is. */
static void test_organizations_that_hold_much_leave_room(void **state)
{
    enum { HOLDING = 4 };
    struct body_share shares[HOLDING];
    for (int i = 0; i < HOLDING; i++) {
        shares[i] = (struct body_share){ .organization_id = i + 1 };
        claim_all(*state, &shares[i]);
    }
    assert_int_equal(shares[0].bytes, BOUND_BYTES / 4 * 3);
    assert_in_range(shares[1].bytes, MIB, BOUND_BYTES / 4 - 1);
    struct body_share other = { .organization_id = HOLDING + 1 };
    struct body_share small = { .address = 1 };
    struct body_share unknown = { .address = 2 };
    assert_true(claim(*state, &other, MIB));
    assert_false(claim(*state, &other, 1));
    assert_true(claim(*state, &small, BODY_MEMORY_SMALL_BYTES));
    assert_true(claim(*state, &unknown, 4 * BODY_MEMORY_SMALL_BYTES));
    body_memory_release(*state, &other);
    body_memory_release(*state, &small);
    body_memory_release(*state, &unknown);
    for (int i = 0; i < HOLDING; i++)
        body_memory_release(*state, &shares[i]);
    assert_int_equal(body_memory_used(*state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_is_returned_after_the_last_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stream_of_bodies_is_trimmed_seldom, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_and_few_bodies_are_not_worth_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_organization_holds_three_quarters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_organizations_that_hold_much_leave_room, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("http: body_memory", tests, NULL, NULL);
}
