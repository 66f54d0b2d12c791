/* The memory of large bodies is returned to the system after them, and seldom while they keep coming. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_is_returned_after_the_last_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stream_of_bodies_is_trimmed_seldom, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_and_few_bodies_are_not_worth_it, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("http: body_memory", tests, NULL, NULL);
}
