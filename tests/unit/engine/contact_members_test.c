/*
 * Filter conditions on membership and on activity: audiences with filters, cohorts,
 * and audiences that name audiences. Also the rows that store the activity of
 * contacts.
 */
#include "fixtures/contacts_brand.h"

#include "engine/contacts/search.h"
#include "engine/filters/filter.h"
#include "sql/delivery.h"

#include <string.h>

/* People a to e; a and b are gold, and b and d have opened something. */
static void make_people(void)
{
    save_fields("a@one.com", "{\"plan\":\"gold\"}");
    save_fields("b@one.com", "{\"plan\":\"gold\"}");
    save_fields("c@one.com", "{\"plan\":\"free\"}");
    save_email("d@one.com");
    save_email("e@one.com");
}

static bool find_letters(const struct contact_search *search, const char **ret_letters, struct error *err)
{
    struct contact_page page;
    if (!contact_find(&work, search, &page, err))
        return false;
    char *letters = arena_alloc(arena, page.count + 1);
    for (size_t i = 0; i < page.count; i++)
        letters[i] = page.contacts[i].email[0];
    *ret_letters = letters;
    return true;
}

static const char *letters_for(const char *filters)
{
    struct error err;
    const char *letters = "";
    struct contact_search search = { .filters = json_of(filters), .order_by = CONTACT_BY_EMAIL, .limit = 100 };
    assert_ok(find_letters(&search, &letters, &err), &err);
    return letters;
}

static const char *members_of(int64_t audience_id)
{
    struct error err;
    const char *letters = "";
    struct contact_search search = { .audience_id = audience_id, .order_by = CONTACT_BY_EMAIL, .limit = 100 };
    assert_ok(find_letters(&search, &letters, &err), &err);
    return letters;
}

static int64_t make_audience(const char *conditions)
{
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'One', '{\"filters\":[%s]}', "
            "now(), now())",
            (long long)work.brand_id, conditions);
    return number_of("select max(id) from audiences");
}

static int64_t make_cohort(const char *status, const char *letters)
{
    run_sql("insert into audiences (brand_id, name, filters, kind, materialization_status, created_at, updated_at) values (%lld, "
            "'Some', '{\"filters\":[]}', 'cohort', '%s', now(), now())",
            (long long)work.brand_id, status);
    int64_t id = number_of("select max(id) from audiences");
    run_sql("insert into audience_members select %lld, %lld, id from contacts where brand_id = %lld and position(left(email, 1) in "
            "'%s') > 0",
            (long long)work.brand_id, (long long)id, (long long)work.brand_id, letters);
    return id;
}

static const char *condition_on(const char *operator_name, int64_t audience_id)
{
    return arena_printf(arena, "{\"field\":\"audience\",\"operator\":\"%s\",\"value\":\"%s\"}", operator_name,
                        work_id(&work, ID_AUDIENCE, audience_id));
}

static const char gold[] = "{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}";

/* an audience restricts to its members, together with other conditions. */
static void test_an_audience_restricts(void **state)
{
    (void)state;
    make_people();
    int64_t id = make_audience(gold);
    assert_string_equal(members_of(id), "ab");
    assert_string_equal(letters_for(arena_printf(arena, "[%s]", condition_on("in", id))), "ab");
    assert_string_equal(letters_for(arena_printf(arena, "[%s]", condition_on("not_in", id))), "cde");
    assert_string_equal(
        letters_for(arena_printf(arena,
                                 "{\"logic\":\"or\",\"filters\":[%s,{\"field\":\"email\",\"operator\":\"starts_with\","
                                 "\"value\":\"E@\"}]}",
                                 condition_on("in", id))),
        "abe");
}

/* A cohort keeps the members that it was built with, also after the contacts change. */
static void test_a_cohort_has_its_members(void **state)
{
    (void)state;
    make_people();
    int64_t id = make_cohort("ready", "bd");
    assert_string_equal(members_of(id), "bd");
    assert_string_equal(letters_for(arena_printf(arena, "[%s]", condition_on("not_in", id))), "ace");
    assert_string_equal(letters_for(arena_printf(arena, "{\"logic\":\"or\",\"filters\":[%s,%s]}", condition_on("in", id), gold)),
                        "abd");
    save_fields("b@one.com", "{\"plan\":\"free\"}");
    assert_string_equal(members_of(id), "bd");
    struct error err;
    struct contact_removal removal;
    const char *email = "b@one.com";
    assert_ok(contact_remove(&work, (struct text_list){ &email, 1 }, &removal, &err), &err);
    save_email("b@one.com");
    assert_string_equal(members_of(id), "d");
}

static void assert_search_fails(const struct contact_search *search, enum error_code code, const char *param)
{
    struct error err = { .code = ERR_NONE };
    const char *letters = "";
    assert_false(find_letters(search, &letters, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.param, param);
}

/* a list of members is refused for an audience that is not ready. */
static void test_an_unready_cohort_is_refused(void **state)
{
    (void)state;
    make_people();
    static const char *const unready[] = { "pending", "running", "failed" };
    for (size_t i = 0; i < ARRAY_COUNT(unready); i++) {
        int64_t id = make_cohort(unready[i], "a");
        struct contact_search by_audience = { .audience_id = id, .limit = 10 };
        assert_search_fails(&by_audience, ERR_AUDIENCE_BUILD_ACTIVE, "audienceId");
        struct contact_search by_condition = { .filters = json_of(arena_printf(arena, "[%s]", condition_on("in", id))),
                                               .limit = 10 };
        assert_search_fails(&by_condition, ERR_AUDIENCE_BUILD_ACTIVE, "filters.0.value");
    }
}

static void test_audiences_of_others_and_deleted_ones_are_not_found(void **state)
{
    (void)state;
    make_people();
    int64_t id = make_audience(gold);
    int64_t outer = make_audience(condition_on("in", id));
    struct contact_search search = { .audience_id = -1, .limit = 10 };
    assert_search_fails(&search, ERR_AUDIENCE_NOT_FOUND, "audienceId");
    run_sql("update audiences set deleted_at = now() where id = %lld", (long long)id);
    search.audience_id = id;
    assert_search_fails(&search, ERR_AUDIENCE_NOT_FOUND, "audienceId");
    /* Those that name it go on. */
    assert_string_equal(members_of(outer), "ab");
    work.brand_id = new_brand();
    search.audience_id = outer;
    assert_search_fails(&search, ERR_AUDIENCE_NOT_FOUND, "audienceId");
}

static void test_audiences_name_audiences_four_deep(void **state)
{
    (void)state;
    make_people();
    int64_t id = make_audience(gold);
    int64_t ids[FILTER_MAX_AUDIENCE_DEPTH + 1];
    ids[0] = id;
    for (int depth = 1; depth <= FILTER_MAX_AUDIENCE_DEPTH; depth++)
        ids[depth] = make_audience(condition_on(depth % 2 == 1 ? "not_in" : "in", ids[depth - 1]));
    assert_string_equal(members_of(ids[1]), "cde");
    assert_string_equal(members_of(ids[3]), "ab");
    struct contact_search deep = { .audience_id = ids[4], .limit = 10 };
    struct error err = { .code = ERR_NONE };
    const char *letters = "";
    assert_false(find_letters(&deep, &letters, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "at most 4 levels deep"));
}

static void test_a_circle_is_refused(void **state)
{
    (void)state;
    make_people();
    int64_t first = make_audience(gold);
    int64_t second = make_audience(condition_on("in", first));
    const struct filter *filter;
    const struct filter_scope *scope;
    struct error err = { .code = ERR_NONE };
    const json_t *round = json_of(arena_printf(arena, "[%s]", condition_on("in", second)));
    assert_ok(filter_check(&work, round, "filters", 0, &filter, &scope, &err), &err);
    assert_false(filter_check(&work, round, "filters", first, &filter, &scope, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "filters");
    /* One that came about all the same ends in an error, not in a loop. */
    run_sql("update audiences set filters = '{\"filters\":[%s]}' where id = %lld", condition_on("in", second), (long long)first);
    struct contact_search search = { .audience_id = first, .limit = 10 };
    error_clear(&err);
    const char *letters = "";
    assert_false(find_letters(&search, &letters, &err));
    assert_non_null(strstr(err.message, "not in a cycle"));
}

static void test_a_checked_filter_is_checked_whole(void **state)
{
    (void)state;
    make_people();
    static const struct {
        const char *filters;
        const char *param;
    } cases[] = {
        { "[{\"field\":\"plan\",\"operator\":\"gt\",\"value\":\"x\"}]", "filters.0.operator" },
        { "[{\"field\":\"nothing\",\"operator\":\"equals\",\"value\":\"x\"}]", "filters.0.field" },
        { "[{\"field\":\"audience\",\"operator\":\"in\",\"value\":\"aud_0000000000000\"}]", "filters.0.value" },
    };
    const struct filter *filter;
    const struct filter_scope *scope;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = { .code = ERR_NONE };
        assert_false(filter_check(&work, json_of(cases[i].filters), "filters", 0, &filter, &scope, &err));
        assert_string_equal(err.param, cases[i].param);
    }
    /* A cohort may be named while it is being built. */
    struct error err;
    const json_t *cohort = json_of(arena_printf(arena, "[%s]", condition_on("in", make_cohort("running", "a"))));
    assert_ok(filter_check(&work, cohort, "filters", 0, &filter, &scope, &err), &err);
}

/* Conditions of audiences count as well. */
static void test_compiled_conditions_are_bounded(void **state)
{
    (void)state;
    struct buf *many = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i < FILTER_MAX_CONDITIONS; i++)
        buf_printf(many, "%s{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"s%d\"}", i > 0 ? "," : "", i);
    int64_t id = make_audience(buf_text(many));
    struct buf *filters = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i < 3; i++)
        buf_printf(filters, "%s%s", i > 0 ? "," : "[", condition_on("in", id));
    buf_add_text(filters, "]");
    struct error err = { .code = ERR_NONE };
    const char *letters = "";
    struct contact_search search = { .filters = json_of(buf_text(filters)), .limit = 10 };
    assert_false(find_letters(&search, &letters, &err));
    assert_non_null(strstr(err.message, "more than 150 conditions"));
}

/* A condition may name hundreds of audiences; what a statement cannot hold is refused before it is saved, not cut. */
static void test_conditions_that_are_too_long_are_refused(void **state)
{
    (void)state;
    make_people();
    const char *id = work_id(&work, ID_AUDIENCE, make_cohort("ready", "a"));
    struct buf *ids = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i < FILTER_MAX_LIST; i++)
        buf_printf(ids, "%s%s", i > 0 ? "," : "", id);
    struct buf *filters = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i < FILTER_MAX_CONDITIONS; i++)
        buf_printf(filters, "%s{\"field\":\"audience\",\"operator\":\"in\",\"value\":\"%s\"}", i > 0 ? "," : "[", buf_text(ids));
    buf_add_text(filters, "]");
    struct error err = { .code = ERR_NONE };
    const struct filter *filter;
    const struct filter_scope *scope;
    assert_false(filter_check(&work, json_of(buf_text(filters)), "filters", 0, &filter, &scope, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "conditions of this filter are too large"));
}

/* ---- Activity ---- */

static void deliver(const char *const *keys, size_t count, int64_t at_us)
{
    static const char *const types[] = { "sent", "delivered" };
    static const char *const summaries[] = { NULL, NULL };
    struct error err;
    struct delivery_events_params params = {
        .brand_id = work.brand_id,
        .send_id = 1,
        .email_id = 1,
        .types = { types, ARRAY_COUNT(types) },
        .emails = { keys, count },
        .keys = { keys, count },
        .summaries = { summaries, count },
        .at = at_us,
    };
    struct delivery_activity_params activity = {
        .brand_id = work.brand_id, .type = types[0], .keys = { keys, count }, .at = at_us
    };
    assert_ok(sql_delivery_events(conn, arena, &params, NULL, &err), &err);
    assert_ok(sql_delivery_activity(conn, arena, &activity, NULL, &err), &err);
}

static const char *with_activity(const char *type, const char *comparison, int within_days)
{
    return letters_for(arena_printf(arena, "[{\"field\":\"activity.%s\",%s%s}]", type, comparison,
                                    within_days > 0 ? arena_printf(arena, ",\"withinDays\":%d", within_days) : ""));
}

/* What delivery writes as events is counted for contacts by the day. */
static void test_events_become_activity(void **state)
{
    (void)state;
    static const char *const both[] = { "a@one.com", "b@one.com" };
    static const char at_least_1[] = "\"operator\":\"gte\",\"value\":1";
    static const char at_least_3[] = "\"operator\":\"gte\",\"value\":3";
    static const char never[] = "\"operator\":\"equals\",\"value\":0";
    int64_t day_us = INT64_C(86400) * US_PER_S;
    make_people();
    deliver(both, 2, work.now_us - 40 * day_us);
    deliver(both, 1, work.now_us);
    deliver(both, 1, work.now_us);
    assert_string_equal(with_activity("sent", at_least_1, 0), "ab");
    assert_string_equal(with_activity("sent", at_least_3, 0), "a");
    assert_string_equal(with_activity("delivered", "\"operator\":\"equals\",\"value\":\"3\"", 0), "a");
    assert_string_equal(with_activity("sent", at_least_1, 30), "a");
    assert_string_equal(with_activity("sent", at_least_3, 30), "");
    assert_string_equal(with_activity("sent", never, 30), "bcde");
    assert_string_equal(with_activity("sent", never, 0), "cde");
    assert_string_equal(with_activity("sent", "\"operator\":\"lt\",\"value\":2", 0), "bcde");
    assert_string_equal(with_activity("opened", never, 0), "abcde");
    assert_int_equal(number_of(arena_printf(arena, "select count(*) from events where brand_id = %lld", (long long)work.brand_id)),
                     8);
    /* Another brand's contacts of the same address have done nothing. */
    work.brand_id = new_brand();
    make_people();
    assert_string_equal(with_activity("sent", at_least_1, 0), "");
}

/* Emails sent before the activity was stored count too. */
static void test_an_upgrade_knows_what_was_sent(void **state)
{
    (void)state;
    struct error err;
    DB_TX tx; /* rolled back */
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_sql("create schema older; set local search_path = older;");
    run_sql("%s", db_migrations[0].sql);
    run_sql("insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key) "
            "select 1, t.at, 'email', 'sent', 'Ann@one.com', 'ann@one.com'"
            "  from (values (timestamptz '2026-03-01 01:00Z'), ('2026-03-01 23:00Z'), ('2026-03-02 00:00Z')) t (at)");
    run_sql("%s", db_migrations[1].sql);
    assert_int_equal(number_of("select count(*) from contact_activity"), 2);
    assert_int_equal(number_of("select count from contact_activity where brand_id = 1 and event_type = 'sent' "
                               "and email_key = 'ann@one.com' and day = '2026-03-01'"),
                     2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_an_audience_restricts),
        CONTACTS_TEST(test_a_cohort_has_its_members),
        CONTACTS_TEST(test_an_unready_cohort_is_refused),
        CONTACTS_TEST(test_audiences_of_others_and_deleted_ones_are_not_found),
        CONTACTS_TEST(test_audiences_name_audiences_four_deep),
        CONTACTS_TEST(test_a_circle_is_refused),
        CONTACTS_TEST(test_a_checked_filter_is_checked_whole),
        CONTACTS_TEST(test_compiled_conditions_are_bounded),
        CONTACTS_TEST(test_conditions_that_are_too_long_are_refused),
        CONTACTS_TEST(test_events_become_activity),
        CONTACTS_TEST(test_an_upgrade_knows_what_was_sent),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
