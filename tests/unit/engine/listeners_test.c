/*
 * The bound of published automations that start with one trigger event. The case automations.update/listeners shows what callers
 * see of it; this shows that publications wait for each other.
 */
#include "fixtures/engine_fixture.h"

#include "db/advisory_locks.h"
#include "engine/automations/listeners.h"

enum { TRIGGER = 3 };

static int64_t locks(void)
{
    return number_of(arena_printf(arena, "select count(*) from pg_locks where locktype = 'advisory' and granted and classid = %d",
                                  ADVISORY_LOCK_LISTENERS));
}

static struct blockers check(struct opt_int trigger_id)
{
    struct error err = { .code = ERR_NONE };
    struct definition definition = { .trigger_id = trigger_id };
    struct blockers blockers = { .arena = arena };
    assert_ok(listeners_check(&work, 1, &definition, &blockers, &err), &err);
    return blockers;
}

/* From the count to the end of the transaction no other publication counts. */
static void test_the_count_is_locked(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_int_equal(check((struct opt_int){ true, TRIGGER }).count, 0);
    assert_int_equal(locks(), 1);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(locks(), 0);
}

static void test_an_automation_without_an_event_has_no_bound(void **state)
{
    (void)state;
    uint64_t before = db_round_trips(conn);
    assert_int_equal(check((struct opt_int){ .set = false }).count, 0);
    assert_int_equal(db_round_trips(conn) - before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_count_is_locked),
        TEST(test_an_automation_without_an_event_has_no_bound),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
