/*
 * Questions about the activity of all contacts, under statistics that do not know the brand. The planner expects one contact and
 * one count then, and compares all contacts with all counts. The tests count the rows that were read: a few for each contact.
 */
#include "fixtures/import_steps.h"
#include "fixtures/row_reads.h"

#include "engine/contacts/search.h"
#include "engine/filters/filter.h"
#include "sql/insight_data.h"

enum { CLICKERS = 10 };

/* Every second of some people has opened a message, and a few have clicked. */
static void make_active(long long brand_id, int count)
{
    run_sql("insert into contact_activity (brand_id, event_type, email_key, day, count)"
            " select %1$lld, 'opened', 'p' || n || '@example.com', '2026-01-01', 1 from generate_series(1, %2$d, 2) as n;"
            "insert into contact_activity (brand_id, event_type, email_key, day, count)"
            " select %1$lld, 'clicked', 'p' || n || '@example.com', '2026-01-01', 1 from generate_series(1, %3$d) as n",
            brand_id, count, CLICKERS);
}

static int leave(void **state)
{
    run_sql("truncate contact_activity; alter table contacts reset (autovacuum_enabled)");
    return world_leave(state);
}

/* The brand and its activity are unknown, those of another are known. */
static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("truncate contacts cascade; truncate contact_activity; alter table contacts set (autovacuum_enabled = off);"
            "alter table contact_activity set (autovacuum_enabled = off)");
    make_active(1LL << 40, OTHER_PEOPLE);
    run_sql("analyze contact_activity");
    make_active((long long)work.brand_id, PEOPLE);
    take_for_strange();
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

static void count_people(const char *event, const char *condition, int64_t lookups, int64_t wanted)
{
    struct error err;
    int64_t count;
    struct opt_int ignoring_case;
    struct contact_search search = { .filters =
                                         json_of(arena_printf(arena, "{\"field\": \"activity.%s\", %s}", event, condition)) };
    note_reads();
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    assert_few_reads_of_all(condition, lookups);
    assert_int_equal(count, wanted);
}

/* Every contact is looked up once, also when the statistics expect none. */
static void count_active(void)
{
    count_people("opened", "\"operator\": \"gte\", \"value\": 1", PEOPLE, PEOPLE / 2);
    count_people("opened", "\"operator\": \"equals\", \"value\": 0", PEOPLE, PEOPLE / 2);
    count_people("opened", "\"operator\": \"not_equals\", \"value\": 1", PEOPLE, PEOPLE / 2);
    count_people("opened", "\"operator\": \"gt\", \"value\": 1", PEOPLE, 0);
    count_people("opened", "\"operator\": \"lt\", \"value\": 2", PEOPLE, PEOPLE);
}

static void test_conditions_on_activity_without_statistics(void **state)
{
    (void)state;
    count_active();
}

/* Whether PostgreSQL may plan the condition as a join. */
static bool is_join(const char *condition)
{
    struct error err;
    const struct filter *filter;
    const struct filter_scope *scope;
    struct search_sql sql;
    const json_t *json = json_of(arena_printf(arena, "{\"field\": \"activity.opened\", %s}", condition));
    assert_ok(filter_read(&work, json, "filters", NULL, &filter, &err), &err);
    assert_ok(filter_resolve(&work, &filter, 1, &scope, &err), &err);
    search_sql_init(&sql, arena);
    assert_ok(filter_compile(filter, scope, &sql, &err), &err);
    return strstr(buf_text(sql.text), ") is true") == NULL;
}

/* Those who clicked are found among all contacts by their keys. While only the contacts are known, an anti-join would keep the
 * counts of all in a list, and compare each contact with all of them. */
static void test_conditions_on_activity_of_known_contacts(void **state)
{
    (void)state;
    run_sql("analyze contacts");
    count_active();
    count_people("clicked", "\"operator\": \"gte\", \"value\": 1", CLICKERS, CLICKERS);
    assert_false(is_join("\"operator\": \"equals\", \"value\": 0"));
    run_sql("analyze contact_activity");
    count_active();
    count_people("clicked", "\"operator\": \"gte\", \"value\": 1", CLICKERS, CLICKERS);
    assert_true(is_join("\"operator\": \"equals\", \"value\": 0"));
}

/* The steps of the plan of insight_dormant that compare rows with rows. */
static int64_t loops_of_dormant(void)
{
    run_sql("create function pg_temp.plan(query text) returns setof text language plpgsql as"
            " 'begin return query execute ''explain '' || query; end'");
    run_sql("prepare dormant (bigint, timestamptz) as %s", insight_dormant_statement.sql);
    run_sql("create temp table loops as select count(*) as count from pg_temp.plan('execute dormant(%lld, now())') as p"
            " where p like '%%Nested Loop%%'",
            (long long)work.brand_id);
    return number_of("select count from loops");
}

/* The contacts that have neither opened nor clicked are those that the activity does not name. They are not compared with it one by
 * one, which takes no reads. */
static void test_dormant_contacts_without_statistics(void **state)
{
    (void)state;
    struct error err;
    struct insight_dormant_row *row;
    struct insight_dormant_params params = { .brand_id = work.brand_id, .since = INT64_C(1767139200) * US_PER_S }; /* 2025-12-31 */
    run_sql("update contacts set created_at = '2025-01-01' where brand_id = %1$lld;"
            "insert into event_counts (brand_id, hour, event_type, count) values (%1$lld, '2025-01-01', 'opened', 1)",
            (long long)work.brand_id);
    note_reads();
    assert_ok(sql_insight_dormant(conn, arena, &params, &row, &err), &err);
    assert_few_reads_of_all("insight_dormant", PEOPLE);
    assert_int_equal(row->contacts, PEOPLE);
    assert_int_equal(row->dormant, PEOPLE / 2 - CLICKERS / 2);
    assert_int_equal(loops_of_dormant(), 0);
    run_sql("truncate event_counts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_conditions_on_activity_without_statistics),
        TEST(test_conditions_on_activity_of_known_contacts),
        TEST(test_dormant_contacts_without_statistics),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
