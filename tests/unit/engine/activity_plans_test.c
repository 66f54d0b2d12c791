/*
 * Questions about the activity of all contacts, under statistics that do not know the brand. The planner expects one contact and
 * one count then, and compares all contacts with all counts. The tests count the rows that were read: a few for each contact.
 */
#include "fixtures/import_steps.h"
#include "fixtures/row_reads.h"

#include "engine/contacts/search.h"
#include "engine/filters/filter.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_conditions_on_activity_without_statistics),
        TEST(test_conditions_on_activity_of_known_contacts),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
