/*
 * Crash slots: what the threads of an ended process worked on is read from its
 * file.
 */
#include "fixtures/temp_folder.h"
#include "sender/crash_slots.h"

#include <string.h>
#include <sys/stat.h>

static char data[] = "/tmp/posthorn-test-XXXXXX";

static void test_filled_slots_outlive_their_process(void **state)
{
    (void)state;
    make_folder(data);
    ARENA_SCOPE arena = arena_new(0);
    const struct crash_slot *found;
    assert_int_equal(mkdir(arena_printf(arena, "%s/journal", data), 0700), 0);
    assert_int_equal(crash_slots_read(data, "nobody", arena, &found), 0);
    struct crash_slots *slots = crash_slots_open(data, "a worker");
    crash_slot_fill(crash_slot_of(slots, 0), CRASH_SLOT_RANGE, 1, 2, 501);
    crash_slot_fill(crash_slot_of(slots, 1), CRASH_SLOT_RECIPIENT, 1, 2, 7);
    crash_slot_fill(crash_slot_of(slots, CRASH_SLOTS_MAX - 1), CRASH_SLOT_RECIPIENT, 3, 4, 5);
    crash_slot_empty(crash_slot_of(slots, 1));
    crash_slots_close(slots, false);

    assert_int_equal(crash_slots_read(data, "a worker", arena, &found), 2);
    assert_int_equal(found[0].kind, CRASH_SLOT_RANGE);
    assert_int_equal(found[0].ordinal, 501);
    assert_int_equal(found[1].brand_id, 3);
    assert_int_equal(found[1].send_id, 4);
    assert_int_equal(found[1].ordinal, 5);
    crash_slots_remove(data, "a worker");
    assert_int_equal(crash_slots_read(data, "a worker", arena, &found), 0);
    remove_folder(data);
}

/* A folder that cannot be written costs the count of crashes only. */
static void test_slots_work_without_a_file(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const struct crash_slot *found;
    struct crash_slots *slots = crash_slots_open("/nonexistent", "a worker");
    crash_slot_fill(crash_slot_of(slots, 0), CRASH_SLOT_RECIPIENT, 1, 2, 3);
    crash_slots_close(slots, true);
    assert_int_equal(crash_slots_read("/nonexistent", "a worker", arena, &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filled_slots_outlive_their_process),
        cmocka_unit_test(test_slots_work_without_a_file),
    };
    return cmocka_run_group_tests_name("sender_crash_slots", tests, NULL, NULL);
}
