/* Contact search on a real PostgreSQL: filters and their errors, text, sort orders, pages and audiences. */
#include "fixtures/contacts_brand.h"

#include "engine/contacts/search.h"
#include "engine/filters/filter.h"

#include <string.h>

static struct opt_int ignoring_case; /* of the last count */

static struct contact_page find(const struct contact_search *search)
{
    struct error err;
    struct contact_page page;
    assert_ok(contact_find(&work, search, &page, &err), &err);
    return page;
}

/* The first letters of the addresses found, in the order found: "abc". */
static const char *letters_of(struct contact_page page)
{
    char *letters = arena_alloc(arena, page.count + 1);
    for (size_t i = 0; i < page.count; i++)
        letters[i] = page.contacts[i].email[0];
    return letters;
}

static const char *letters_for(const char *filters)
{
    struct contact_search search = { .filters = json_of(filters), .order_by = CONTACT_BY_EMAIL, .limit = 100 };
    return letters_of(find(&search));
}

static void assert_filter_refused(const char *filters, const char *param)
{
    struct error err = { .code = ERR_NONE };
    struct contact_search search = { .filters = json_of(filters), .limit = 10 };
    struct contact_page page;
    assert_false(contact_find(&work, &search, &page, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

static void make_people(void)
{
    struct contact_change people[] = {
        { .email = "a@one.com",
          .first_name = is_text("Zoe"),
          .last_name = is_text("Smith"),
          .source = "shop",
          .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":3,\"vip\":true,\"born\":\"2001-02-03\"}") },
        { .email = "b@one.com",
          .first_name = is_text("Bob"),
          .user_id = is_text("u-2"),
          .subscribed = is_bool(false),
          .custom_fields = json_of("{\"plan\":\"gold\",\"visits\":4,\"vip\":false}") },
        { .email = "c@two.com", .custom_fields = json_of("{\"plan\":\"free\"}") },
        { .email = "d_x@two.com", .first_name = is_text("Bob"), .last_name = is_text("100% O'Brien") },
        { .email = "e@two.com" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(people); i++) {
        save(&people[i]);
        work.now_us += US_PER_S;
    }
}

static void test_filters(void **state) /* */
{
    (void)state;
    make_people();
    assert_string_equal(letters_for("[]"), "abcde");
    assert_string_equal(letters_for("{\"logic\":\"or\",\"filters\":[]}"), "abcde");
    assert_string_equal(letters_for("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\" A@ONE.com\"}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Bob\"}]"), "bd");
    assert_string_equal(letters_for("[{\"field\":\"lastName\",\"operator\":\"equals\",\"value\":\"100% O'Brien\"}]"), "d");
    assert_string_equal(letters_for("[{\"field\":\"userId\",\"operator\":\"equals\",\"value\":\"u-2\"}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"shop\"}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":false}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":\"true\"}]"), "acde");
    assert_string_equal(letters_for("[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}]"), "ab");
    assert_string_equal(letters_for("[{\"field\":\"customFields.plan\",\"operator\":\"equals\",\"value\":\"free\"}]"), "c");
    assert_string_equal(letters_for("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":3.0}]"), "a");
    assert_string_equal(letters_for("[{\"field\":\"vip\",\"operator\":\"equals\",\"value\":\"false\"}]"), "b");
    assert_string_equal(letters_for("[{\"field\":\"born\",\"operator\":\"equals\",\"value\":\"2001-02-03\"}]"), "a");
    assert_string_equal(
        letters_for("{\"logic\":\"and\",\"filters\":[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"},"
                    "{\"field\":\"visits\",\"operator\":\"equals\",\"value\":4}]}"),
        "b");
    assert_string_equal(
        letters_for("{\"logic\":\"or\",\"filters\":[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"e@two.com\"},"
                    "{\"filters\":[{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Bob\"},"
                    "{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":true}]}]}"),
        "de");
}

static void test_times_equal_what_is_shown(void **state)
{
    (void)state;
    work.now_us = INT64_C(1767225600123456);
    save_email("ann@example.com");
    assert_string_equal(letters_for("[{\"field\":\"createdAt\",\"operator\":\"equals\",\"value\":\"2026-01-01T00:00:00.123Z\"}]"),
                        "a");
    assert_string_equal(letters_for("[{\"field\":\"updatedAt\",\"operator\":\"equals\",\"value\":\"2026-01-01T00:00:00.124Z\"}]"),
                        "");
}

static void test_filters_refused(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"visits\":1}");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"matches\",\"value\":\"x\"}]", "filters.0.operator");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"x\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"value\":1}]", "filters.0.operator");
    assert_filter_refused("[{\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"nobodyKnows\",\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"a.b\",\"operator\":\"equals\",\"value\":1}]", "filters.0.field");
    assert_filter_refused("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":\"one\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"visits\",\"operator\":\"equals\",\"value\":null}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"subscribed\",\"operator\":\"equals\",\"value\":1}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"createdAt\",\"operator\":\"equals\",\"value\":\"today\"}]", "filters.0.value");
    assert_filter_refused("[{\"field\":\"email\",\"operator\":\"equals\",\"value\":\"a@b.com\",\"not\":true}]", "filters.0.not");
    assert_filter_refused("[7]", "filters.0");
    assert_filter_refused("{\"filters\":[{\"field\":\"email\",\"operator\":\"x\",\"value\":1}]}", "filters.filters.0.operator");
    assert_filter_refused("{\"filters\":7}", "filters.filters");
    assert_filter_refused("{}", "filters.filters");
    assert_filter_refused("{\"logic\":\"xor\",\"filters\":[]}", "filters.logic");
    assert_filter_refused("{\"logic\":1,\"filters\":[]}", "filters.logic");
    assert_filter_refused("{\"filters\":[],\"more\":1}", "filters.more");
    assert_filter_refused("{\"filters\":[{\"filters\":[{\"filters\":[{\"filters\":[{\"filters\":[]}]}]}]}]}",
                          "filters.filters.0.filters.0.filters.0.filters.0.filters");
}

/* a condition on `field` is refused at `place`, and the message contains `words`. */
static void assert_refused_at(const char *members, const char *place, const char *words)
{
    struct error err = { .code = ERR_NONE };
    const char *filters = arena_printf(arena, "{\"logic\":\"or\",\"filters\":[{\"filters\":[{%s}]}]}", members);
    struct contact_search search = { .filters = json_of(filters), .limit = 10 };
    struct contact_page page;
    if (contact_find(&work, &search, &page, &err))
        fail_msg("%s was accepted", filters);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, arena_printf(arena, "filters.filters.0.filters.0.%s", place));
    if (strstr(err.message, words) == NULL)
        fail_msg("%s does not say %s", err.message, words);
}

static void test_each_type_has_its_operators(void **state)
{
    (void)state;
    save_fields("ann@example.com", "{\"plan\":\"gold\",\"visits\":1,\"vip\":true,\"born\":\"2001-02-03\"}");
    static const struct {
        const char *members;
        const char *place;
        const char *words;
    } cases[] = {
        { "\"field\":\"plan\",\"operator\":\"gt\",\"value\":\"a\"", "operator", "contains_any, not_contains_any, starts_with" },
        { "\"field\":\"visits\",\"operator\":\"contains\",\"value\":1", "operator", "gt, gte, lt, lte, between" },
        { "\"field\":\"born\",\"operator\":\"gt\",\"value\":1", "operator", "on_date, before, after, between, in_last_days" },
        { "\"field\":\"vip\",\"operator\":\"in\",\"value\":\"true\"", "operator", "is_true, is_false" },
        { "\"field\":\"audience\",\"operator\":\"equals\",\"value\":\"x\"", "operator", "use one of: in, not_in." },
        { "\"field\":\"activity.opened\",\"operator\":\"exists\"", "operator", "use one of: equals, not_equals, gt" },
        { "\"field\":\"firstName\",\"operator\":\"EQUALS\",\"value\":\"a\"", "operator", "EQUALS is not an operator" },
        { "\"field\":\"firstName\",\"operator\":\"contains\",\"value\":\"\"", "value", "empty text" },
        { "\"field\":\"firstName\",\"operator\":\"contains_any\",\"value\":\" , \"", "value", "a list of strings" },
        { "\"field\":\"firstName\",\"operator\":\"in\",\"value\":[\"a\",7]", "value.1", "must be a string" },
        { "\"field\":\"email\",\"operator\":\"in\",\"value\":[\"a@b.com\",\"b\"]", "value.1", "" },
        { "\"field\":\"visits\",\"operator\":\"between\",\"value\":[1]", "value", "two numbers" },
        { "\"field\":\"visits\",\"operator\":\"between\",\"value\":\"5,2\"", "value", "first bound must not be above" },
        { "\"field\":\"visits\",\"operator\":\"in\",\"value\":[1,\"x\"]", "value.1", "a number" },
        { "\"field\":\"visits\",\"operator\":\"gt\",\"value\":[1]", "value", "a number" },
        { "\"field\":\"visits\",\"operator\":\"gt\",\"value\":\"0x10\"", "value", "a number" },
        { "\"field\":\"born\",\"operator\":\"before\",\"value\":\"2026-02-30\"", "value", "a date" },
        { "\"field\":\"born\",\"operator\":\"between\",\"value\":\"2026-02-02,2026-02-01\"", "value",
          "first bound must not be above" },
        { "\"field\":\"born\",\"operator\":\"in_last_days\",\"value\":0", "value", "from 1 to 3650" },
        { "\"field\":\"born\",\"operator\":\"in_next_days\",\"value\":\"soon\"", "value", "from 1 to 3650" },
        { "\"field\":\"activity.opened\",\"operator\":\"gte\",\"value\":-1", "value", "a whole number of at least 0" },
        { "\"field\":\"activity.opened\",\"operator\":\"gte\",\"value\":1,\"withinDays\":0", "withinDays", "from 1 to 3650" },
        { "\"field\":\"activity.seen\",\"operator\":\"gte\",\"value\":1", "field", "sent, delivered, opened" },
        { "\"field\":\"visits\",\"operator\":\"gte\",\"value\":1,\"withinDays\":3", "withinDays", "not a known key" },
        { "\"field\":\"subscriptionGroups.\",\"operator\":\"is_true\"", "field", "subscriptionGroups.<id>" },
        { "\"field\":\"audience\",\"operator\":\"in\",\"value\":\"aud_0000000000000\"", "value", "No audience" },
        { "\"field\":\"audience\",\"operator\":\"in\"", "value", "a list" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_refused_at(cases[i].members, cases[i].place, cases[i].words);
}

static void test_lists_are_bounded(void **state)
{
    (void)state;
    struct buf *list = buf_in_arena(arena, 1 << 20);
    for (int i = 0; i <= FILTER_MAX_LIST; i++)
        buf_printf(list, "%sname%d", i > 0 ? "," : "", i);
    assert_refused_at(arena_printf(arena, "\"field\":\"firstName\",\"operator\":\"in\",\"value\":\"%s\"", buf_text(list)), "value",
                      "at most 200");
}

static void test_conditions_are_bounded(void **state)
{
    (void)state;
    struct buf *text = buf_in_arena(arena, 1 << 20);
    for (int group = 0; group < 3; group++) {
        buf_printf(text, "%s{\"logic\":\"or\",\"filters\":[", group > 0 ? "," : "[");
        for (int i = 0; i < 17; i++)
            buf_printf(text, "%s{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"s%d\"}", i > 0 ? "," : "", i);
        buf_add_text(text, "]}");
    }
    buf_add_text(text, "]");
    assert_filter_refused(buf_text(text), "filters.2.filters.16");
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *letters;
    } cases[] = {
        { "ONE.com", "ab" }, { "zoe sm", "a" }, { "_", "d" },    { "%", "d" },
        { "o'br", "d" },     { "\\", "" },      { "bob", "bd" }, { "\xc3\x89L\xc3\x89ONORE", "f" },
    };
    make_people();
    struct contact_change change = { .email = "f@three.com", .first_name = is_text("\xc3\x89l\xc3\xa9onore") };
    save(&change);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct contact_search search = { .text = cases[i].text, .order_by = CONTACT_BY_EMAIL, .limit = 10 };
        assert_string_equal(letters_of(find(&search)), cases[i].letters);
    }
}

static void test_orders(void **state)
{
    (void)state;
    static const struct {
        enum contact_order_field by;
        const char *ascending;
        const char *descending;
    } cases[] = {
        { CONTACT_BY_CREATED, "abcde", "edcba" },   { CONTACT_BY_UPDATED, "bcdea", "aedcb" },
        { CONTACT_BY_EMAIL, "abcde", "edcba" },     { CONTACT_BY_FIRST_NAME, "bdace", "adbec" },
        { CONTACT_BY_LAST_NAME, "dabce", "adecb" },
    };
    make_people();
    save_email("a@one.com");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        for (int descending = 0; descending <= 1; descending++) {
            /* One row a page, so that every place is behind a row. */
            struct contact_search search = { .order_by = cases[i].by, .descending = descending == 1, .limit = 1 };
            char letters[8] = "";
            size_t count = 0;
            do {
                struct contact_page page = find(&search);
                assert_int_equal(page.count, 1);
                letters[count++] = page.contacts[0].email[0];
                search.cursor = page.next;
            } while (search.cursor != NULL && count < 7);
            assert_string_equal(letters, descending ? cases[i].descending : cases[i].ascending);
        }
    }
}

/* Names that begin alike for longer than a cursor can carry. */
static void test_long_names_page(void **state)
{
    (void)state;
    enum { PEOPLE = 5 };
    char *name = arena_alloc(arena, 2 * 200 + 1);
    for (int i = 0; i < 200; i++)
        memcpy(name + 2 * i, "\xc3\xa9", 2);
    for (int i = 0; i < PEOPLE; i++) {
        struct contact_change change = { .email = arena_printf(arena, "p%d@example.com", i), .first_name = is_text(name) };
        save(&change);
    }
    struct contact_search search = { .order_by = CONTACT_BY_FIRST_NAME, .limit = 2 };
    size_t seen = 0;
    do {
        struct contact_page page = find(&search);
        seen += page.count;
        search.cursor = page.next;
        assert_true(search.cursor == NULL || strlen(search.cursor) <= 512);
    } while (search.cursor != NULL && seen < 2 * PEOPLE);
    assert_int_equal(seen, PEOPLE);
}

/* The contacts of a written page; `ret_next` is its cursor, NULL on the last page. */
static size_t write_contacts(const struct contact_search *search, const char **ret_next)
{
    struct contact_page page = find(search);
    struct buf *out = buf_in_arena(arena, 3 * PAGE_MAX_BYTES);
    struct json_writer json;
    struct error err;
    const json_t *read;
    json_writer_init(&json, out);
    contact_write_page(&work, search, &page, &json);
    assert_ok(json_read(arena, buf_text(out), out->size, (struct json_bounds){ .max_bytes = out->size }, &read, &err), &err);
    *ret_next = json_get_text(json_object_get(read, "pagination"), "cursor");
    return json_array_size(json_object_get(read, "data"));
}

/* pages of wide contacts end early, in the reply and in the memory of the rows, and a walk finds each contact once. */
static void test_wide_contacts_page(void **state)
{
    (void)state;
    enum { PEOPLE = 15, WIDE_BYTES = 1000 * 1000 };
    for (enum contact_order_field by = CONTACT_BY_CREATED; by <= CONTACT_BY_EMAIL; by++) {
        work.brand_id = new_brand();
        run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)"
                "select %lld, n || '@one.com', n || '@one.com', 'API', true, jsonb_build_object('a', repeat('x', %d)), now(), now()"
                "  from generate_series(1, %d) n",
                (long long)work.brand_id, WIDE_BYTES, PEOPLE);
        struct contact_search search = { .order_by = by, .descending = true, .limit = 100 };
        struct contact_page first = find(&search);
        assert_int_equal(first.count, DB_PAGE_MAX_BYTES / WIDE_BYTES);
        assert_true(first.found.is_cut);
        size_t seen = 0;
        do {
            size_t count = write_contacts(&search, &search.cursor);
            assert_in_range(count, 1, PAGE_MAX_BYTES / WIDE_BYTES);
            seen += count;
        } while (search.cursor != NULL && seen < 2 * PEOPLE);
        assert_int_equal(seen, PEOPLE);
    }
}

/* rows that were read may go; nothing is skipped and nothing comes twice, in every order. */
static void test_walks_survive_deletes(void **state)
{
    (void)state;
    for (enum contact_order_field by = CONTACT_BY_CREATED; by <= CONTACT_BY_LAST_NAME; by++) {
        work.brand_id = new_brand();
        make_people();
        struct contact_search search = { .order_by = by, .descending = by % 2 == 0, .limit = 2 };
        size_t seen = 0;
        do {
            struct contact_page page = find(&search);
            for (size_t i = 0; i < page.count; i++)
                run_sql("delete from contacts where brand_id = %lld and id = %lld", (long long)work.brand_id,
                        (long long)page.contacts[i].id);
            seen += page.count;
            search.cursor = page.next;
        } while (search.cursor != NULL);
        assert_int_equal(seen, 5);
        assert_int_equal(
            number_of(arena_printf(arena, "select count(*) from contacts where brand_id = %lld", (long long)work.brand_id)), 0);
    }
}

static void test_cursors_are_bound(void **state)
{
    (void)state;
    make_people();
    struct contact_search search = { .order_by = CONTACT_BY_EMAIL, .limit = 2 };
    search.cursor = find(&search).next;
    assert_string_equal(letters_of(find(&search)), "cd");
    struct contact_search others[] = { search, search, search, search };
    others[0].descending = true;
    others[1].text = "one";
    others[2].filters = json_of("[]");
    others[3].order_by = CONTACT_BY_CREATED;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        struct error err = { .code = ERR_NONE };
        struct contact_page page;
        assert_false(contact_find(&work, &others[i], &page, &err));
        assert_string_equal(err.param, "cursor");
    }
}

static void test_count(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    make_people();
    struct contact_search search = { .filters = json_of("[{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"gold\"}]"),
                                     .limit = 1 };
    uint64_t before = db_round_trips(conn);
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(db_round_trips(conn) - before, 3); /* the third ignores case, because few match */
    assert_false(ignoring_case.set);
    search.filters = json_of("[{\"field\":\"plan\",\"operator\":\"contains\",\"value\":\"gold\"}]");
    before = db_round_trips(conn);
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    assert_int_equal(db_round_trips(conn) - before, 2); /* contains ignores case already */
    work.brand_id = new_brand();
    search.filters = NULL;
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_filters),
        CONTACTS_TEST(test_times_equal_what_is_shown),
        CONTACTS_TEST(test_filters_refused),
        CONTACTS_TEST(test_each_type_has_its_operators),
        CONTACTS_TEST(test_lists_are_bounded),
        CONTACTS_TEST(test_conditions_are_bounded),
        CONTACTS_TEST(test_text),
        CONTACTS_TEST(test_orders),
        CONTACTS_TEST(test_long_names_page),
        CONTACTS_TEST(test_wide_contacts_page),
        CONTACTS_TEST(test_walks_survive_deletes),
        CONTACTS_TEST(test_cursors_are_bound),
        CONTACTS_TEST(test_count),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
