/*
 * Suspect runs: the runs of an ended process are counted, halved until one is
 * alone, and that one fails after three ends.
 */
#include "fixtures/engine_fixture.h"

#include "stepper/slot_file.h"
#include "stepper/suspect_runs.h"

#include <sys/stat.h>
#include <sys/wait.h>

enum { DATABASE = 5, RUNS = 5 };

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from automation_runs; delete from step_crashes");
    run_sql("insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, due_at, started_at)"
            " overriding system value select %lld, g, 1, 1, g || '@example.com', g || '@example.com', 'start',"
            " now() - make_interval(secs => 10 - g), now() from generate_series(1, %d) as g",
            (long long)work.brand_id, RUNS);
    work.now_us = clock_now_us();
    return failed;
}

/* A process ends that has these runs in its transaction. */
static void crash(struct int_list ids)
{
    struct error err = { .code = ERR_NONE };
    pid_t child = fork();
    if (child == 0) {
        struct step_slot *slot = slot_file_slot(slot_file_open(folder, "an ended worker", DATABASE));
        slot->brand_id = work.brand_id;
        for (size_t i = 0; i < ids.count; i++)
            slot->run_ids[i] = ids.items[i];
        slot->count = (int)ids.count;
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(suspect_runs_count(&work, folder, DATABASE, &err), &err);
}

static struct suspect_runs find(void)
{
    struct error err = { .code = ERR_NONE };
    struct suspect_runs suspects;
    assert_ok(suspect_runs_find(&work, &suspects, &err), &err);
    return suspects;
}

/* */
static void test_runs_are_halved_until_one_is_alone_and_fails(void **state)
{
    (void)state;
    static const int64_t all[RUNS] = { 1, 2, 3, 4, 5 };
    mkdir(arena_printf(arena, "%s/journal", folder), 0700);
    assert_int_equal(find().all.count, 0);
    crash((struct int_list){ all, RUNS });
    for (size_t size = 2; size >= 1; size--) {
        struct suspect_runs suspects = find();
        assert_int_equal(suspects.all.count, RUNS);
        assert_int_equal(suspects.taking.only.count, size);
        assert_int_equal(suspects.taking.only.items[0], 1);
        assert_false(suspects.must_fail);
        crash(suspects.taking.only);
    }
    crash(find().taking.only);
    assert_false(find().must_fail);
    crash(find().taking.only);
    assert_true(find().must_fail);
    assert_int_equal(find().taking.only.count, 1);
    assert_int_equal(find().taking.only.items[0], 1);
}

static void test_runs_that_are_not_due_or_have_ended_are_no_suspects(void **state)
{
    (void)state;
    static const int64_t all[RUNS] = { 1, 2, 3, 4, 5 };
    mkdir(arena_printf(arena, "%s/journal", folder), 0700);
    run_sql("update automation_runs set status = 'completed', due_at = null where id = 1");
    crash((struct int_list){ all, RUNS });
    assert_int_equal(number_of("select count(*) from step_crashes"), RUNS - 1);
    run_sql("update automation_runs set due_at = now() + interval '1 day' where id = 2; update automation_runs set is_held = true"
            " where id = 3");
    assert_int_equal(find().all.count, 2);
    run_sql("update automation_runs set status = 'canceled', due_at = null where id = 4");
    crash((struct int_list){ all + 4, 1 });
    assert_int_equal(number_of("select count(*) from step_crashes where run_id = 4"), 0);
    assert_int_equal(number_of("select alone::bigint from step_crashes where run_id = 5"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_are_halved_until_one_is_alone_and_fails, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_runs_that_are_not_due_or_have_ended_are_no_suspects, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
