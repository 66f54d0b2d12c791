/*
 * The locks of a stepping transaction: their number has a bound, because all transactions of a server share its room for locks.
 */
#include "fixtures/engine_fixture.h"

#include "db/advisory_locks.h"
#include "engine/runs/step_batch.h"
#include "sql/run_steps.h"

enum { RUNS = 500, NODES = 10 };

/* Messages of many brands come between those of a run, so no two share a lock. */
static void add_messages(void)
{
    run_sql("delete from automation_sends");
    run_sql("insert into automation_sends (brand_id, id, carrier_id, ordinal, automation_id, run_id, visit, node_id, created_at)"
            " select %1$lld, 16 * (%2$d * r + n), n, r, 7, r, n, 'node' || n, now() from generate_series(1, %3$d) r, "
            "generate_series(1, %2$d) n",
            (long long)work.brand_id, NODES, RUNS);
}

/* The runs whose messages are all locked go on; those behind are left to the next transaction. */
static void test_a_transaction_locks_a_bounded_number_of_messages(void **state)
{
    (void)state;
    struct error err;
    int64_t run_ids[RUNS];
    add_messages();
    for (int i = 0; i < RUNS; i++)
        run_ids[i] = i + 1;
    struct step_lock_messages_params params = {
        .lock = ADVISORY_LOCK_RUN_MESSAGES,
        .brand_id = work.brand_id,
        .run_ids = { run_ids, RUNS },
        .limit = STEP_LOCKED_MESSAGES_MAX,
    };
    struct step_lock_messages_row *left;
    size_t count;
    run_sql("begin");
    assert_ok(sql_step_lock_messages(conn, arena, &params, &left, &count, &err), &err);
    assert_int_equal(count, RUNS * NODES - STEP_LOCKED_MESSAGES_MAX);
    for (size_t i = 0; i < count; i++)
        assert_true(left[i].id / (16 * NODES) >= STEP_LOCKED_MESSAGES_MAX / NODES);
    assert_in_range(number_of("select count(*) from pg_locks where locktype = 'advisory'"), 1, STEP_LOCKED_MESSAGES_MAX);
    run_sql("rollback");
    run_sql("delete from automation_sends");
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_a_transaction_locks_a_bounded_number_of_messages) };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
