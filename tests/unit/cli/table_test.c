/*
 * CLI tables: alignment by display width, truncation to the width of the terminal, and
 * removal of control characters.
 */
#include "fixtures/own_fail.h"

#include "base/json_read.h"
#include "cli/table.h"
#include "cli/visible.h"

#include <string.h>

static const json_t *parse(struct arena *arena, const char *text)
{
    const json_t *json = NULL;
    struct error err = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    if (!json_read(arena, text, strlen(text), bounds, &json, &err))
        fail_msg("%s: %s", text, err.message);
    return json;
}

static void expect_rows(struct table *table, struct arena *arena, const char *rows, const char *wanted)
{
    BUF_SCOPE out;
    buf_init(&out, 1 << 20);
    table_rows(table, arena, parse(arena, rows), &out);
    assert_string_equal(buf_text(&out), wanted);
}

static void expect_table(const char *const *fields, size_t width, const char *rows, const char *wanted)
{
    ARENA_SCOPE arena = arena_new(0);
    struct table table = { .arena = arena, .fields = fields, .terminal_width = width };
    expect_rows(&table, arena, rows, wanted);
}

static void columns_are_the_scalar_members(void **state)
{
    (void)state;
    expect_table(NULL, 0,
                 "[{\"id\":\"a\",\"n\":7,\"on\":true,\"tags\":[\"x\"],\"more\":{\"deep\":1},\"gone\":null},"
                 "{\"id\":\"long one\",\"n\":12.5,\"extra\":\"e\"}]",
                 "id        n     on    gone  extra\n"
                 "a         7     true\n"
                 "long one  12.5              e\n");
    expect_table(NULL, 0, "[]", "");
    expect_table(NULL, 0, "[1,\"two\"]", "1\ntwo\n");
}

static void fields_pick_columns(void **state)
{
    (void)state;
    static const char *const fields[] = { "more.deep", "tags", "none", "id", NULL };
    expect_table(fields, 0, "[{\"id\":\"a\",\"tags\":[\"x\",2],\"more\":{\"deep\":[{\"b\":1}]}}]",
                 "more.deep  tags  none  id\n"
                 "[{\"b\":1}]  x, 2        a\n");
}

static void wide_characters_stay_aligned(void **state)
{
    (void)state;
    expect_table(NULL, 0, "[{\"name\":\"日本\",\"x\":1},{\"name\":\"e\\u0301a\",\"x\":2},{\"name\":\"👩‍🚀\",\"x\":3}]",
                 "name  x\n日本  1\ne\u0301a    2\n👩‍🚀  3\n");
}

static void nothing_is_obeyed_by_the_terminal(void **state)
{
    (void)state;
    expect_table(NULL, 0, "[{\"a\\u001b\":\"\\u001b[31mred\\n\\t\\r\\u0007\\u009b\\u202e\\u2028\\u200b\\ufeff\"}]",
                 "a\\x1b\n"
                 "\\x1b[31mred\\n\\t\\r\\x07\\x9b\\u{202e}\\u{2028}\\u{200b}\\u{feff}\n");
}

static void a_terminal_is_not_overflowed(void **state)
{
    (void)state;
    expect_table(NULL, 30, "[{\"id\":\"short\",\"text\":\"a text that is far too long\",\"n\":1}]",
                 "id     text                  n\n"
                 "short  a text that is far …  1\n");
    /* A wide character is not cut in half. */
    expect_table(NULL, 8, "[{\"text\":\"日本日本日本\"}]", "text\n日本日…\n");
    /* Too narrow for all columns: empty columns are dropped, then the last ones; requested columns are only truncated. */
    static const char rows[] = "[{\"none\":null,\"a\":\"12345678901\",\"b\":\"12345678901\",\"c\":\"1\"}]";
    static const char *const fields[] = { "a", "b", NULL };
    ARENA_SCOPE arena = arena_new(0);
    struct table table = { .arena = arena, .terminal_width = 25 };
    expect_rows(&table, arena, rows, "a            b\n12345678901  12345678901\n");
    assert_int_equal(table.hidden_count, 2);
    expect_table(fields, 18, rows, "a         b\n1234567…  1234567…\n");
}

static void later_pages_keep_the_columns(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct table table = { .arena = arena, .terminal_width = 40 };
    expect_rows(&table, arena, "[{\"id\":\"abcdefgh\",\"n\":1}]", "id        n\nabcdefgh  1\n");
    ARENA_SCOPE later = arena_new(0);
    expect_rows(&table, later, "[{\"id\":\"abcdefghij\",\"n\":2,\"new\":3}]", "abcdefg…  2\n");
}

static void a_resource_is_lines(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    BUF_SCOPE out;
    buf_init(&out, 1 << 20);
    struct table table = { .arena = arena };
    table_resource(
        &table, arena,
        parse(arena, "{\"id\":\"a\",\"from\":{\"email\":\"x@y\",\"name\":null},\"list\":[1,2],\"rows\":[{\"b\":1}],\"o\":{}}"),
        &out);
    assert_string_equal(buf_text(&out), "id          a\n"
                                        "from.email  x@y\n"
                                        "from.name\n"
                                        "list        1, 2\n"
                                        "rows        [{\"b\":1}]\n"
                                        "o           {}\n");
}

static void many_members_are_all_shown(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    BUF_SCOPE text;
    buf_init(&text, 1 << 20);
    buf_add_text(&text, "{\"m\":0");
    for (int i = 1; i < 500; i++)
        buf_printf(&text, ",\"m%d\":%d", i, i);
    buf_add_char(&text, '}');
    BUF_SCOPE out;
    buf_init(&out, 1 << 20);
    struct table table = { .arena = arena };
    table_resource(&table, arena, parse(arena, buf_text(&text)), &out);
    assert_non_null(strstr(buf_text(&out), "m499  499\n"));
}

/* U+009B begins a command as ESC [ does, U+202E turns the direction, U+E0041 is an invisible letter. */
static void json_on_a_terminal_is_the_same_value(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const char *text = "{\n\t\"a\xc2\x9b"
                       "31m\": \"x\x7f\u202e\U000e0041é👩‍🚀\"\n}";
    const char *shown = visible_json(arena, text);
    assert_string_equal(shown, "{\n\t\"a\\u009b31m\": \"x\\u007f\\u202e\\udb40\\udc41é👩‍🚀\"\n}");
    assert_true(json_equal(parse(arena, text), parse(arena, shown)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_scalar_members),       cmocka_unit_test(fields_pick_columns),
        cmocka_unit_test(wide_characters_stay_aligned),         cmocka_unit_test(nothing_is_obeyed_by_the_terminal),
        cmocka_unit_test(json_on_a_terminal_is_the_same_value), cmocka_unit_test(a_terminal_is_not_overflowed),
        cmocka_unit_test(later_pages_keep_the_columns),         cmocka_unit_test(a_resource_is_lines),
        cmocka_unit_test(many_members_are_all_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
