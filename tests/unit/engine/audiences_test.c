/*
 * Audiences. A cohort is built in steps that can be repeated after a crash, and later
 * events do not change it. Counting, searching and sending select the same people.
 */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/audiences/audiences.h"
#include "engine/contacts/search.h"
#include "engine/filters/filter.h"
#include "engine/sends/target.h"

static struct opt_int ignoring_case; /* of the last count */

#define TEST(function) cmocka_unit_test_setup_teardown(function, world_reset, world_leave)

static const int64_t year_2026_us = INT64_C(1767225600) * US_PER_S;

/* Two events for each of `count` contacts, a second apart. */
static void make_events(int count)
{
    run_sql("delete from audience_members;"
            "insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)"
            "select %lld, n || '@example.com', n || '@example.com', 'API', n %% 5 <> 0,"
            "       jsonb_build_object('plan', case when n %% 3 = 0 then 'pro' else 'free' end, 'visits', n %% 50), now(), now()"
            "  from generate_series(1, %d) n;"
            "insert into contact_fields (brand_id, name, type, created_at) values (%lld, 'plan', 'string', now()),"
            " (%lld, 'visits', 'number', now()) on conflict do nothing;"
            "insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key)"
            "select %lld, timestamptz '2026-03-01 00:00Z' + n / 2 * interval '1 second', 'email', t.type, n || '@example.com',"
            "       n || '@example.com'"
            "  from generate_series(1, %d) n, (values ('sent'), ('delivered')) t (type)",
            (long long)work.brand_id, count, (long long)work.brand_id, (long long)work.brand_id, (long long)work.brand_id, count);
}

static const char *const sent_only[] = { "sent" };

static struct audience_selection selection_of_sent(void)
{
    return (struct audience_selection){
        .event_types = { sent_only, 1 },
        .from_us = { .set = true, .value = year_2026_us },
    };
}

static int64_t cohort_of(const struct audience_selection *selection)
{
    struct error err;
    struct audience_row *audience;
    assert_ok(audience_create_cohort(&work, selection, &audience, &err), &err);
    assert_true(audience_needs_build(audience));
    return audience->id;
}

static int64_t new_cohort(void)
{
    struct audience_selection selection = selection_of_sent();
    return cohort_of(&selection);
}

/* `param` is the beginning of the place. */
static void assert_cohort_refused(const struct audience_selection *selection, enum error_code code, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct audience_row *audience;
    assert_false(audience_create_cohort(&work, selection, &audience, &err));
    assert_int_equal(err.code, code);
    if (!text_starts_with(err.param, param))
        fail_msg("%s: %s", err.param, err.message);
}

static int64_t members_of(int64_t audience_id)
{
    struct error err;
    struct contact_search search = { .audience_id = audience_id, .limit = 1 };
    int64_t count;
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    return count;
}

/* Steps until the build is done. */
static int build(int64_t audience_id)
{
    int steps = 0;
    for (bool done = false; !done; steps++) {
        struct error err;
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_ok(audience_build_step(&work, audience_id, &done, &err), &err);
        assert_ok(db_tx_commit(&tx, &err), &err);
    }
    return steps;
}

static void test_a_build_goes_on_where_it_was(void **state) /* */
{
    (void)state;
    enum { CONTACTS = AUDIENCE_BUILD_STEP_EVENTS + 1500 };
    make_events(CONTACTS);
    int64_t cohort = new_cohort();
    struct error err;
    bool done;
    /* A crash before the commit leaves nothing of the step. */
    assert_ok(db_script(conn, "begin", &err), &err);
    assert_ok(audience_build_step(&work, cohort, &done, &err), &err);
    assert_false(done);
    assert_ok(db_script(conn, "rollback", &err), &err);
    assert_int_equal(number_of("select count(*) from audience_members"), 0);

    assert_int_equal(build(cohort), 2);
    assert_int_equal(members_of(cohort), CONTACTS);
    assert_int_equal(number_of("select events_scanned from audiences"), CONTACTS);
    assert_int_equal(number_of("select stamped_contacts from audiences"), CONTACTS);
    /* One more step, as of a job that did not hear of its success, changes nothing. */
    assert_int_equal(build(cohort), 1);
    assert_int_equal(number_of("select events_scanned from audiences"), CONTACTS);
}

static void test_a_cohort_is_frozen(void **state) /* */
{
    (void)state;
    make_events(10);
    int64_t cohort = new_cohort();
    run_sql("update events set occurred_at = now() + interval '1 hour' where recipient_key = '1@example.com'");
    build(cohort);
    assert_int_equal(members_of(cohort), 9);
    run_sql("update events set occurred_at = timestamptz '2026-02-01' where recipient_key = '1@example.com'");
    build(cohort);
    assert_int_equal(members_of(cohort), 9);
    run_sql("delete from contacts where email_key = '2@example.com'");
    assert_int_equal(members_of(cohort), 8);
}

static const char *new_automation(void)
{
    run_sql(
        "insert into automations (brand_id, name, latest_version_id, created_at, updated_at) values (%lld, 'A', 1, now(), now())",
        (long long)work.brand_id);
    return work_id(&work, ID_AUTOMATION, number_of("select max(id) from automations"));
}

static void test_a_cohort_of_automations(void **state) /* */
{
    (void)state;
    make_events(10);
    const char *automations[] = { new_automation(), new_automation(), "aut_0000000000000" };
    run_sql("update events set automation_id = case when recipient_key < '4@' then %lld else %lld end where recipient_key > '2@'",
            (long long)number_of("select min(id) from automations"), (long long)number_of("select max(id) from automations"));
    struct audience_selection selection = selection_of_sent();
    selection.automation_ids = (struct text_list){ automations, 1 };
    int64_t cohort = cohort_of(&selection);
    build(cohort);
    assert_int_equal(members_of(cohort), 2); /* 2 and 3; 1 and 10 belong to no automation */
    run_sql("update automations set deleted_at = now()");
    selection.automation_ids.count = 2;
    cohort = cohort_of(&selection);
    build(cohort);
    assert_int_equal(members_of(cohort), 8);
    selection.automation_ids.count = 3;
    assert_cohort_refused(&selection, ERR_AUTOMATION_NOT_FOUND, "automationIds.2");
}

static void test_not_before_it_is_ready(void **state) /* */
{
    (void)state;
    make_events(3);
    int64_t cohort = new_cohort();
    struct error err = { .code = ERR_NONE };
    struct contact_search search = { .audience_id = cohort, .limit = 1 };
    int64_t count;
    assert_false(contact_count(&work, &search, &count, &ignoring_case, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_BUILD_ACTIVE);
    error_clear(&err);
    assert_false(send_target_count(&work, (struct send_target){ .audience_id = cohort }, &count, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_BUILD_ACTIVE);
    build(cohort);
    assert_int_equal(members_of(cohort), 3);
}

static int64_t new_audience(const char *filters)
{
    struct error err;
    struct audience_row *audience;
    struct audience_parts parts;
    const json_t *json;
    static const struct json_bounds bounds = { .max_bytes = 4096 };
    assert_ok(json_read(arena, filters, strlen(filters), bounds, &json, &err), &err);
    assert_ok(audience_create(&work, "Some", json, &audience, &parts, &err), &err);
    assert_true(parts.count.set);
    assert_int_equal(parts.count.value, members_of(audience->id));
    return audience->id;
}

static int64_t found_in(int64_t audience_id)
{
    struct error err;
    int64_t found = 0;
    struct contact_page page = { .next = NULL };
    do {
        struct contact_search search = { .audience_id = audience_id, .limit = 100, .cursor = page.next };
        assert_ok(contact_find(&work, &search, &page, &err), &err);
        found += (int64_t)page.count;
    } while (page.next != NULL);
    return found;
}

/* The recipients that a send to it gets, taken back afterwards. */
static int64_t recipients_of(int64_t audience_id)
{
    enum { SEND = 1 };
    struct error err;
    int64_t count;
    int64_t counted;
    const struct send_target target = { .audience_id = audience_id, .is_accepted = true };
    assert_ok(send_target_count(&work, target, &counted, &err), &err);
    assert_ok(send_target_expand(&work, SEND, target, (struct bytes){ .data = NULL }, &count, &err), &err);
    assert_int_equal(counted, count);
    assert_int_equal(number_of("select count(*) from send_recipients"), count);
    assert_int_equal(number_of("select coalesce(max(ordinal), 0) from send_recipients"), count);
    run_sql("delete from send_recipients");
    return count;
}

static void test_everybody_means_the_same_people(void **state) /* */
{
    (void)state;
    make_events(1000);
    /* 333 of 1000 are on pro; of those every fifth of the whole is unsubscribed. */
    static const struct {
        const char *filters;
        int64_t members;
        int64_t subscribed;
    } audiences[] = {
        { "[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"pro\"}]", 333, 267 },
        { "[{\"field\":\"visits\",\"operator\":\"between\",\"value\":\"10,19\"}]", 200, 160 },
        { "{\"logic\":\"and\",\"filters\":[]}", 1000, 800 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(audiences); i++) {
        int64_t id = new_audience(audiences[i].filters);
        assert_int_equal(members_of(id), audiences[i].members);
        assert_int_equal(found_in(id), audiences[i].members);
        assert_int_equal(recipients_of(id), audiences[i].subscribed);
    }
    int64_t cohort = new_cohort();
    build(cohort);
    assert_int_equal(found_in(cohort), 1000);
    assert_int_equal(recipients_of(cohort), 800);
}

static void test_a_send_outlives_its_audience(void **state)
{
    (void)state;
    make_events(30);
    int64_t id = new_audience("[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"pro\"}]");
    struct error err;
    bool deleted;
    assert_ok(audience_delete(&work, id, &deleted, &err), &err);
    assert_true(deleted);
    assert_int_equal(recipients_of(id), 8);
    int64_t count;
    err = (struct error){ .code = ERR_NONE };
    assert_false(send_target_count(&work, (struct send_target){ .audience_id = id }, &count, &err));
    assert_int_equal(err.code, ERR_AUDIENCE_NOT_FOUND);
}

/* ---- Bounds of a search ---- */

/* Adds ready cohorts without members. */
static void make_cohorts(int count)
{
    run_sql("insert into audiences (brand_id, name, kind, filters, selection, materialization_status, created_at, updated_at)"
            " select %lld, 'c', 'cohort', '{}', '{}', 'ready', now(), now() from generate_series(1, %d)",
            (long long)work.brand_id, count);
}

static json_t *audience_item(int64_t id)
{
    return json_string(work_id(&work, ID_AUDIENCE, id));
}

/* A condition on membership of `first` (0: none) and of `count` cohorts from a place in the order of their ids. */
static json_t *membership_of(int64_t first, int from, int count)
{
    struct db_rows rows;
    struct error err;
    json_t *list = json_array();
    if (first != 0)
        json_array_append_new(list, audience_item(first));
    static const struct db_field column = { .name = "ids", .type = DB_BIGINT_ARRAY };
    const struct db_statement statement = {
        .name = "",
        .result = DB_ONE,
        .sql = "select array(select id from audiences where kind = 'cohort' order by id)",
        .columns = &column,
        .column_count = 1,
        .row_size = sizeof(struct int_list),
    };
    assert_ok(db_run(conn, arena, &statement, NULL, &rows, &err), &err);
    const struct int_list *ids = rows.rows;
    for (int i = from; i < from + count; i++)
        json_array_append_new(list, audience_item(ids->items[i]));
    return json_pack("{s:s, s:s, s:o}", "field", "audience", "operator", "in", "value", list);
}

/* `count` conditions with three values each, none of which occurs twice, and a last condition. */
static json_t *filters_with(int count, int number, json_t *last)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++, number++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:[i,i], s:i}", "field", "activity.opened", "operator", "between",
                                              "value", 1000000 + number, 2000000 + number, "withinDays", 1 + number));
    json_array_append_new(list, last);
    return json_in_arena(arena, json_pack("{s:s, s:o}", "logic", "and", "filters", list));
}

static int64_t insert_audience(json_t *filters)
{
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'a', '%s', now(), now())",
            (long long)work.brand_id, json_compact(arena, filters));
    return number_of("select max(id) from audiences");
}

static void assert_search_refused(const json_t *filters, const char *words)
{
    struct error err = { .code = ERR_NONE };
    struct contact_search search = { .filters = filters, .limit = 1 };
    struct contact_page page;
    assert_false(contact_find(&work, &search, &page, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    if (err.param[0] == '\0' || strstr(err.message, words) == NULL)
        fail_msg("%s: %s", err.param, err.message);
}

/* three nested audiences over 597 cohorts need more parameters than a statement can have. */
static void test_too_many_values(void **state)
{
    (void)state;
    enum { EACH = 36, COHORTS = 149 };
    make_cohorts(4 * COHORTS + 1);
    int64_t inner = insert_audience(filters_with(EACH, 0, membership_of(0, 3 * COHORTS, COHORTS + 1)));
    int64_t middle = insert_audience(filters_with(EACH, EACH, membership_of(inner, 2 * COHORTS, COHORTS)));
    int64_t outer = insert_audience(filters_with(EACH, 2 * EACH, membership_of(middle, COHORTS, COHORTS)));
    assert_search_refused(filters_with(EACH, 3 * EACH, membership_of(outer, 0, COHORTS)), "too many values");
}

/* A condition names up to 200 audiences, and a statement up to FILTER_MAX_AUDIENCES. */
static void test_many_audiences(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    make_cohorts(FILTER_MAX_AUDIENCES + 1);
    struct contact_search search = { .filters = filters_with(0, 0, membership_of(0, 0, FILTER_MAX_LIST)) };
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    assert_int_equal(count, 0);
    json_t *list = json_array();
    for (int i = 0; i < 4; i++)
        json_array_append_new(list, membership_of(0, i * 150, i < 3 ? 150 : 151));
    const json_t *filters = json_in_arena(arena, json_pack("{s:s, s:o}", "logic", "and", "filters", list));
    assert_search_refused(filters, "at most 600");
}

/* A build compiles its audiences into one statement, so a cohort of too many of them is refused before it is built. */
static void test_a_cohort_of_too_large_audiences_is_refused(void **state)
{
    (void)state;
    enum { EACH = 36, COHORTS = 140, AUDIENCES = 4 };
    const char *audiences[AUDIENCES];
    make_cohorts(AUDIENCES * COHORTS);
    for (int i = 0; i < AUDIENCES; i++)
        audiences[i] =
            work_id(&work, ID_AUDIENCE, insert_audience(filters_with(EACH, i * EACH, membership_of(0, i * COHORTS, COHORTS))));
    struct audience_selection selection = selection_of_sent();
    selection.audience_ids = (struct text_list){ audiences, AUDIENCES - 1 };
    build(cohort_of(&selection));
    selection.audience_ids.count = AUDIENCES;
    assert_cohort_refused(&selection, ERR_INVALID_REQUEST, "audiences.aud_");
}

/* A cohort may name one that is being built: its build waits for that one. */
static void test_a_cohort_of_a_pending_one(void **state)
{
    (void)state;
    make_events(3);
    const char *const pending = work_id(&work, ID_AUDIENCE, new_cohort());
    struct audience_selection selection = selection_of_sent();
    selection.audience_ids = (struct text_list){ &pending, 1 };
    cohort_of(&selection);
}

/* The filters of the named audiences together are bounded, too. */
static void test_large_audiences(void **state)
{
    (void)state;
    char *text = arena_alloc(arena, 1001);
    memset(text, 'x', 1000);
    json_t *texts = json_array();
    for (int i = 0; i < 200; i++)
        json_array_append_new(texts, json_string(text));
    json_t *one = json_pack("{s:s, s:s, s:o}", "field", "firstName", "operator", "in", "value", texts);
    const char *filters = json_compact(arena, filters_with(0, 0, one));
    int64_t count = FILTER_MAX_DEFINITION_BYTES / (int64_t)strlen(filters) + 1;
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) select %lld, 'a', '%s', now(), now()"
            " from generate_series(1, %lld)",
            (long long)work.brand_id, filters, (long long)count);
    json_t *ids = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(ids, audience_item(number_of("select max(id) from audiences") - i));
    json_t *named = json_pack("{s:s, s:s, s:o}", "field", "audience", "operator", "in", "value", ids);
    assert_search_refused(filters_with(0, 0, named), "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_build_goes_on_where_it_was),
        TEST(test_a_cohort_is_frozen),
        TEST(test_a_cohort_of_automations),
        TEST(test_not_before_it_is_ready),
        TEST(test_everybody_means_the_same_people),
        TEST(test_a_send_outlives_its_audience),
        TEST(test_a_cohort_of_a_pending_one),
        TEST(test_a_cohort_of_too_large_audiences_is_refused),
        TEST(test_too_many_values),
        TEST(test_many_audiences),
        TEST(test_large_audiences),
    };
    return cmocka_run_group_tests_name("engine_audiences", tests, world_begin, world_end);
}
