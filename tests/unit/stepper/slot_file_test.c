/*
 * Slot files: the runs of an ended process are read from its file, and those of a
 * living one are left alone.
 */
#include "fixtures/temp_folder.h"
#include "stepper/slot_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DATABASE = 5 };
static char data[] = "/tmp/posthorn-test-XXXXXX";

static int count_stale(void)
{
    ARENA_SCOPE arena = arena_new(0);
    struct stale_slot *stale;
    if (!stale_slot_find(data, DATABASE, arena, &stale))
        return -1;
    int count = stale->slot.count;
    stale_slot_close(stale, true);
    return count;
}

/* In a process that ends without closing its file. */
static void leave_file(const char *owner, int64_t database)
{
    pid_t child = fork();
    if (child == 0) {
        struct step_slot *slot = slot_file_slot(slot_file_open(data, owner, database));
        slot->brand_id = 9;
        slot->run_ids[0] = 70;
        slot->run_ids[1] = 71;
        slot->count = 2;
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* */
static void test_the_runs_of_an_ended_process_are_found_once(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct stale_slot *stale;
    make_folder(data);
    assert_int_equal(mkdir(arena_printf(arena, "%s/journal", data), 0700), 0);
    assert_int_equal(count_stale(), -1);
    struct slot_file *own = slot_file_open(data, "a living worker", DATABASE);
    slot_file_slot(own)->count = 1;
    assert_int_equal(count_stale(), -1);

    leave_file("worker of another database", DATABASE + 1);
    assert_int_equal(count_stale(), -1);
    leave_file("an ended worker", DATABASE);
    assert_true(stale_slot_find(data, DATABASE, arena, &stale));
    assert_int_equal(stale->slot.count, 2);
    assert_int_equal(stale->slot.brand_id, 9);
    assert_int_equal(stale->slot.run_ids[1], 71);
    stale_slot_close(stale, false);
    assert_int_equal(count_stale(), 2);
    assert_int_equal(count_stale(), -1);

    slot_file_close(own);
    assert_int_equal(count_stale(), -1);
    remove_folder(data);
}

/* A folder that cannot be written costs the count of crashes only. */
static void test_a_slot_works_without_a_file(void **state)
{
    (void)state;
    struct slot_file *file = slot_file_open("/nonexistent", "a worker", DATABASE);
    slot_file_slot(file)->count = 1;
    step_slot_empty(slot_file_slot(file));
    assert_int_equal(slot_file_slot(file)->count, 0);
    slot_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_runs_of_an_ended_process_are_found_once),
        cmocka_unit_test(test_a_slot_works_without_a_file),
    };
    return cmocka_run_group_tests_name("stepper_slot_file", tests, NULL, NULL);
}
