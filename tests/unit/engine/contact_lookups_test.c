/*
 * Statements that look up one contact by its address, of a brand that the statistics do not know. The planner takes the brand for
 * empty, so each index that begins with the brand looks equally good to it (contacts_save).
 */
#include "fixtures/import_steps.h"
#include "fixtures/row_reads.h"

#include "base/clock.h"
#include "sql/compose.h"
#include "sql/confirm.h"
#include "sql/explain.h"
#include "sql/link_mail.h"
#include "sql/operator_suppressions.h"
#include "sql/simulations.h"

enum { LOOKUPS = 20 };

static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("truncate contacts cascade; alter table contacts set (autovacuum_enabled = off)");
    take_for_strange();
    return 0;
}

static int leave(void **state)
{
    run_sql("alter table contacts reset (autovacuum_enabled)");
    return world_leave(state);
}

/* Looks up the contact with this address. False with `err` when there is none. */
typedef bool lookup_function(const char *email, struct error *err);

static bool look_for_test(const char *email, struct error *err)
{
    struct compose_test_recipient_params params = { .brand_id = work.brand_id, .email_key = email };
    struct compose_test_recipient_row *row;
    return sql_compose_test_recipient(conn, arena, &params, &row, err) && row != NULL;
}

static bool look_for_sample(const char *email, struct error *err)
{
    struct send_preview_sample_params params = { .brand_id = work.brand_id, .email_key = email };
    struct send_preview_sample_row *row;
    return sql_send_preview_sample(conn, arena, &params, &row, err) && row != NULL;
}

static bool look_for_link(const char *email, struct error *err)
{
    static const unsigned char no_address[32];
    struct link_mail_recipient_params params = {
        .brand_id = work.brand_id, .email_key = email, .address_hash = { no_address, sizeof(no_address) }, .now = clock_now_us()
    };
    struct link_mail_recipient_row *row;
    return sql_link_mail_recipient(conn, arena, &params, &row, err) && row != NULL;
}

static bool look_for_simulation(const char *email, struct error *err)
{
    struct simulation_contact_params params = { .brand_id = work.brand_id, .email_key = email };
    struct simulation_contact_row *row;
    return sql_simulation_contact(conn, arena, &params, &row, err) && row != NULL;
}

static bool look_for_explanation(const char *email, struct error *err)
{
    struct explain_decisions_params params = {
        .brand_id = work.brand_id, .email_key = email, .address_hash = "00", .limit = 10, .now = clock_now_us()
    };
    struct explain_decisions_row *rows;
    size_t count;
    return sql_explain_decisions(conn, arena, &params, &rows, &count, err) && count == 1 && rows[0].contact_id.set;
}

static bool look_for_operator(const char *email, struct error *err)
{
    struct operator_suppression_contact_params params = { .brand_id = work.brand_id, .email_key = email };
    struct operator_suppression_contact_row *row;
    return sql_operator_suppression_contact(conn, arena, &params, &row, err) && row != NULL;
}

static bool subscribe_for_operator(const char *email, struct error *err)
{
    struct operator_suppression_subscribe_params params = { .brand_id = work.brand_id, .email_key = email, .now = clock_now_us() };
    int64_t affected;
    return sql_operator_suppression_subscribe(conn, arena, &params, &affected, err) && affected == 1;
}

static void assert_reads_by_key(const char *what, lookup_function *look_up)
{
    note_reads();
    for (int i = 1; i <= LOOKUPS; i++) {
        struct error err = { .code = ERR_NONE };
        if (!look_up(arena_printf(arena, "p%d@example.com", i), &err))
            fail_msg("%s: no contact %d: %s", what, i, err.message);
    }
    assert_few_reads_of_all(what, LOOKUPS);
}

/* one contact costs a few rows, however many the brand has. */
static void test_one_contact_without_statistics(void **state)
{
    (void)state;
    assert_reads_by_key("a test message", look_for_test);
    assert_reads_by_key("a sample", look_for_sample);
    assert_reads_by_key("a mailed link", look_for_link);
    assert_reads_by_key("a simulation", look_for_simulation);
    assert_reads_by_key("an explanation", look_for_explanation);
    assert_reads_by_key("a suppression", look_for_operator);
    run_sql("update contacts set subscribed = false where brand_id = %lld", (long long)work.brand_id);
    run_sql("vacuum contacts");
    assert_reads_by_key("the end of a suppression", subscribe_for_operator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_contact_without_statistics, begin, leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
