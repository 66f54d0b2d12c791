/*
 * Conditions evaluated in C, compared with the SQL of filters: random contacts and
 * random conditions of every operator and type. PostgreSQL must find the contacts for
 * which the evaluator says yes. The zone of the brand changes its clock at midnight.
 * POSTHORN_SEED repeats a run.
 */
#include "fixtures/contacts_brand.h"

#include "engine/contacts/search.h"
#include "engine/filters/filter.h"
#include "engine/filters/filter_match.h"

#include <stdlib.h>
#include <time.h>

/* 100 contacts times 120 conditions: 12,000 values. */
enum { PEOPLE = 100, CONDITIONS = 120 };

static const char zone_name[] = "America/Havana";
static unsigned seed;
static int64_t now_us;

static unsigned chance(unsigned count)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % count;
}

static const char *quoted(const char *text)
{
    struct buf *out = buf_in_arena(arena, 4096);
    json_quote(out, text, strlen(text));
    return buf_text(out);
}

/* ---- Values ---- */

static const char *const texts[] = { "",     "gold", "Gold",  "go%ld", "go_d",      "\xc3\x89lan", "\xc3\xa9lan vital",
                                     "a\\b", "x",    "12.50", "true",  "2018-11-04" };
static const char *const numbers[] = {
    "-3", "0", "0.1", "0.5", "1", "12.5", "100", "1000000", "1.5e15", "9007199254740993", "9007199254740992", "-9223372036854775807"
};

/* Near the two changes of the clock: 2018-03-11, which has no midnight, and 2018-11-04, whose first hour occurs twice. */
static const char *any_date(void)
{
    static const char *const days[] = { "2018-03-10", "2018-03-11", "2018-03-12", "2018-11-03", "2018-11-04", "2018-11-05" };
    static const char *const hours[] = { "03:59:59.999", "04:00:00.000", "04:30:00.000",
                                         "05:00:00.000", "05:30:00.001", "12:00:00.000" };
    const char *day = days[chance(ARRAY_COUNT(days))];
    return chance(2) == 0 ? day : arena_printf(arena, "%sT%sZ", day, hours[chance(ARRAY_COUNT(hours))]);
}

/* ---- Fields ---- */

enum kind { KIND_TEXT, KIND_NUMBER, KIND_DATE, KIND_TRUTH, KIND_COUNT };

static const struct {
    const char *name;
    enum field_type type;
} fields[] = {
    [KIND_TEXT] = { "plan", FIELD_STRING },
    [KIND_NUMBER] = { "visits", FIELD_NUMBER },
    [KIND_DATE] = { "born", FIELD_DATE },
    [KIND_TRUTH] = { "vip", FIELD_BOOL },
};

static const char *any_json(enum kind kind)
{
    switch (kind) {
    case KIND_TEXT:
        return quoted(texts[chance(ARRAY_COUNT(texts))]);
    case KIND_NUMBER:
        return numbers[chance(ARRAY_COUNT(numbers))];
    case KIND_DATE:
        return quoted(any_date());
    case KIND_TRUTH:
    case KIND_COUNT:
        break;
    }
    return chance(2) == 0 ? "true" : "false";
}

static void save_people(void)
{
    now_us = 0;
    assert_true(clock_parse_iso("2018-11-05T05:00:00.123Z", &now_us));
    run_sql("update brands set time_zone = '%s' where id = %lld", zone_name, (long long)work.brand_id);
    save_fields("types@example.com", "{\"plan\":\"\",\"visits\":1,\"born\":\"2001-02-03\",\"vip\":true}");
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    for (int i = 0; i < PEOPLE; i++) {
        struct buf *json = buf_in_arena(arena, 4096);
        for (int kind = 0; kind < KIND_COUNT; kind++)
            if (chance(5) != 0)
                buf_printf(json, "%s\"%s\":%s", json->size > 0 ? "," : "", fields[kind].name, any_json((enum kind)kind));
        save_fields(arena_printf(arena, "p%03d@example.com", i), arena_printf(arena, "{%s}", buf_text(json)));
    }
    work.now_us = now_us;
}

/* ---- Conditions ---- */

static const struct {
    const char *name;
    unsigned values; /* 0: none; 3: a list; 9: days */
} operators[KIND_COUNT][16] = {
    [KIND_TEXT] = { { "equals", 1 },
                    { "not_equals", 1 },
                    { "contains", 1 },
                    { "not_contains", 1 },
                    { "contains_any", 3 },
                    { "not_contains_any", 3 },
                    { "starts_with", 1 },
                    { "ends_with", 1 },
                    { "in", 3 },
                    { "not_in", 3 },
                    { "is_empty", 0 },
                    { "is_not_empty", 0 },
                    { "exists", 0 },
                    { "not_exists", 0 } },
    [KIND_NUMBER] = { { "equals", 1 },
                      { "not_equals", 1 },
                      { "gt", 1 },
                      { "gte", 1 },
                      { "lt", 1 },
                      { "lte", 1 },
                      { "between", 2 },
                      { "in", 3 },
                      { "not_in", 3 },
                      { "is_empty", 0 },
                      { "exists", 0 },
                      { "not_exists", 0 } },
    [KIND_DATE] = { { "equals", 1 },
                    { "not_equals", 1 },
                    { "on_date", 1 },
                    { "before", 1 },
                    { "after", 1 },
                    { "between", 2 },
                    { "in_last_days", 9 },
                    { "in_next_days", 9 },
                    { "is_not_empty", 0 },
                    { "not_exists", 0 } },
    [KIND_TRUTH] = { { "equals", 1 },
                     { "not_equals", 1 },
                     { "is_true", 0 },
                     { "is_false", 0 },
                     { "is_empty", 0 },
                     { "exists", 0 } },
};

static const char *condition_json(enum kind kind, const char *operator_name, unsigned values)
{
    struct buf *json = buf_in_arena(arena, 16 * 1024);
    buf_printf(json, "{\"field\":\"%s\",\"operator\":\"%s\"", fields[kind].name, operator_name);
    if (values == 9)
        buf_printf(json, ",\"value\":%u", 1 + chance(300));
    else if (values == 1)
        buf_printf(json, ",\"value\":%s", any_json(kind));
    else if (values > 0)
        buf_printf(json, ",\"value\":[%s,%s]", any_json(kind), any_json(kind));
    buf_add_text(json, "}");
    return buf_text(json);
}

/* A random condition that both accept; bounds in the wrong order and empty parts are refused by both. */
static const json_t *any_condition(unsigned at, enum kind *ret_kind)
{
    for (;;) {
        enum kind kind = (enum kind)(at % KIND_COUNT);
        unsigned count = 0;
        while (operators[kind][count].name != NULL)
            count++;
        unsigned pick = chance(count);
        const json_t *json = json_of(condition_json(kind, operators[kind][pick].name, operators[kind][pick].values));
        const struct filter *filter;
        const struct filter_scope *scope;
        struct search_sql sql;
        struct error err = { 0 };
        const struct match_condition match = { .path = "filters",
                                               .type = fields[kind].type,
                                               .operator_name = operators[kind][pick].name,
                                               .value = json_object_get(json, "value") };
        search_sql_init(&sql, arena);
        assert_ok(filter_read(&work, json, "filters", NULL, &filter, &err), &err);
        assert_ok(filter_resolve(&work, &filter, 1, &scope, &err), &err);
        bool is_accepted = filter_compile(filter, scope, &sql, &err);
        struct error refused = { 0 };
        assert_int_equal(match_check(arena, &match, &refused), is_accepted);
        assert_string_equal(refused.message, err.message);
        *ret_kind = kind;
        if (is_accepted)
            return json;
    }
}

/* ---- Comparing ---- */

static void compare(const json_t *json, enum kind kind, const struct contact_page *everybody, const struct template_zone *zone)
{
    struct error err;
    struct contact_page page;
    const struct match_clock clock = { .now_us = now_us, .zone = zone };
    struct match_condition match = { .path = "filters",
                                     .type = fields[kind].type,
                                     .operator_name = json_get_text(json, "operator"),
                                     .value = json_object_get(json, "value") };
    struct contact_search search = { .filters = json, .order_by = CONTACT_BY_EMAIL, .limit = PEOPLE };
    assert_ok(contact_find(&work, &search, &page, &err), &err);
    size_t at = 0;
    for (size_t i = 0; i < everybody->count; i++) {
        const char *custom = everybody->contacts[i].custom_fields;
        const json_t *actual = json_object_get(json_of(custom), fields[kind].name);
        bool is_found = at < page.count && strcmp(page.contacts[at].email, everybody->contacts[i].email) == 0;
        if (match_holds(arena, &match, actual, &clock) != is_found)
            fail_msg("%s: SQL says %s to %s", json_compact(arena, json), is_found ? "yes" : "no", custom);
        at += is_found ? 1 : 0;
    }
}

static void test_c_agrees_with_sql(void **state) /* D-81 D-108 */
{
    (void)state;
    struct error err;
    struct contact_page everybody;
    save_people();
    struct contact_search search = { .order_by = CONTACT_BY_EMAIL, .limit = PEOPLE };
    assert_ok(contact_find(&work, &search, &everybody, &err), &err);
    assert_int_equal(everybody.count, PEOPLE);
    const struct template_zone *zone = template_zone_load(arena, zone_name);
    assert_non_null(zone);
    for (unsigned i = 0; i < CONDITIONS; i++) {
        enum kind kind;
        const json_t *json = any_condition(i, &kind);
        compare(json, kind, &everybody, zone);
    }
}

/* ---- Values without a declared type ---- */

static bool holds(const char *operator_name, const char *value, const char *actual)
{
    struct error err;
    const struct match_clock clock = { 0 };
    const struct match_condition match = { .path = "c", .operator_name = operator_name, .value = json_of(value) };
    assert_ok(match_check(arena, &match, &err), &err);
    return match_holds(arena, &match, actual != NULL ? json_of(actual) : NULL, &clock);
}

/* A search that takes the product of both sizes would need many minutes here, one in linear time a second. */
static void test_parts_are_found_in_linear_time(void **state)
{
    (void)state;
    enum { TEXT_BYTES = 60 * 1000, PART_BYTES = 1600, SEARCHES = 10 * 1000 };
    struct error err;
    const struct match_clock clock = { 0 };
    char *text = arena_alloc(arena, TEXT_BYTES + 1);
    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = "ab"[i % 2];
    char *part = arena_dup_bytes(arena, text, PART_BYTES);
    part[PART_BYTES - 2] = 'b';
    json_t *parts = json_in_arena(arena, json_array());
    for (int i = 0; i < 200; i++)
        json_array_append_new(parts, json_string(part));
    const json_t *actual = json_in_arena(arena, json_string(text));
    const struct match_condition match = { .path = "c", .operator_name = "contains_any", .value = parts };
    assert_ok(match_check(arena, &match, &err), &err);
    for (int i = 0; i < SEARCHES / 200; i++) {
        ARENA_SCOPE scratch = arena_new(0);
        assert_false(match_holds(scratch, &match, actual, &clock));
    }
}

/* A comparison with prepared texts copies the text of the field at most, not the texts of the condition. */
static void test_prepared_texts_are_not_made_again(void **state)
{
    (void)state;
    enum { PARTS = 200, PART_BYTES = 1600 };
    struct error err;
    const struct match_clock clock = { 0 };
    char *part = arena_alloc(arena, PART_BYTES + 1);
    memset(part, 'A', PART_BYTES);
    json_t *parts = json_in_arena(arena, json_array());
    for (int i = 0; i < PARTS - 1; i++)
        json_array_append_new(parts, json_string(part));
    json_array_append_new(parts, json_string("\303\204B")); /* ÄB */
    struct match_condition match = { .path = "c", .operator_name = "contains_any", .value = parts };
    assert_ok(match_check(arena, &match, &err), &err);
    match.parts = match_prepare(arena, &match);
    ARENA_SCOPE scratch = arena_new(0);
    size_t before = arena_used_bytes(scratch);
    assert_true(match_holds(scratch, &match, json_of("\"x\303\244b\""), &clock)); /* xäb */
    assert_false(match_holds(scratch, &match, json_of("\"xb\""), &clock));
    assert_true(arena_used_bytes(scratch) - before < (size_t)PARTS * PART_BYTES / 2);
    match.value = NULL;
    match.operator_name = "exists";
    assert_null(match_prepare(arena, &match));
}

static void test_a_value_chooses_the_type(void **state) /* D-108 */
{
    (void)state;
    assert_true(holds("equals", "\"5\"", "5"));
    assert_true(holds("equals", "\"5\"", "\"5\""));
    assert_false(holds("equals", "5", "\"5\"")); /* a text needs a text */
    assert_false(holds("equals", "\"05\"", "\"5\""));
    assert_true(holds("equals", "\"05\"", "5"));
    assert_true(holds("equals", "true", "true"));
    assert_false(holds("equals", "\"yes\"", "true"));
    assert_true(holds("not_equals", "\"yes\"", "true"));
    assert_true(holds("in", "[1,2]", "2"));
    assert_true(holds("between", "[\"2026-01-01\",\"2026-02-01\"]", "\"2026-01-15T10:00:00+01:00\""));
    assert_false(holds("gt", "1", "\"many\""));
    assert_true(holds("contains", "\"2\"", "120"));
    assert_false(holds("contains", "\"a\"", "[\"a\"]"));
    assert_true(holds("not_in", "[\"a\"]", NULL));
}

static void test_a_day_begins_at_its_second_midnight(void **state) /* D-81 */
{
    (void)state;
    const struct match_clock clock = { .zone = template_zone_load(arena, zone_name) };
    const json_t *values = json_of("[\"2018-11-04\", \"2018-11-04T04:30:00Z\", \"2018-11-04T05:30:00Z\"]");
    const struct match_condition match = {
        .path = "c", .type = FIELD_DATE, .operator_name = "on_date", .value = json_array_get(values, 0)
    };
    assert_false(match_holds(arena, &match, json_array_get(values, 1), &clock));
    assert_true(match_holds(arena, &match, json_array_get(values, 2), &clock));
}

int main(void)
{
    const char *given = getenv("POSTHORN_SEED");
    seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    printf("POSTHORN_SEED=%u\n", seed);
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_c_agrees_with_sql),
        CONTACTS_TEST(test_parts_are_found_in_linear_time),
        CONTACTS_TEST(test_prepared_texts_are_not_made_again),
        CONTACTS_TEST(test_a_value_chooses_the_type),
        CONTACTS_TEST(test_a_day_begins_at_its_second_midnight),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
