/* JSON writer and reader: a written value is read back unchanged, and the reader checks the bounds first. */
#include "fixtures/base_case.h"

#include "base/json_parser.h"
#include "base/json_read.h"
#include "base/json_write.h"

#include <float.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <string.h>

/* ---- Writing ---- */

struct page {
    struct buf out;
    struct json_writer json;
};

static void begin(struct page *page)
{
    buf_init(&page->out, 1 << 20);
    json_writer_init(&page->json, &page->out);
}

static void assert_page(struct page *page, const char *expected)
{
    assert_string_equal(buf_text(&page->out), expected);
    buf_done(&page->out);
}

static void test_commas_and_nesting(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    json_object_begin(&page.json);
    json_member_text(&page.json, "a", "x");
    json_member_text(&page.json, "none", NULL);
    json_member_text_if(&page.json, "left out", NULL);
    json_member_text_if(&page.json, "b", "y");
    json_key(&page.json, "list");
    json_array_begin(&page.json);
    json_int(&page.json, 1);
    json_array_begin(&page.json);
    json_array_end(&page.json);
    json_object_begin(&page.json);
    json_member_bool(&page.json, "t", true);
    json_member_bool(&page.json, "f", false);
    json_object_end(&page.json);
    json_null_value(&page.json);
    json_array_end(&page.json);
    json_member_raw(&page.json, "raw", "[1,2]");
    json_member_raw(&page.json, "noRaw", NULL);
    json_member_int(&page.json, "n", -5);
    json_object_end(&page.json);
    assert_page(&page, "{\"a\":\"x\",\"none\":null,\"b\":\"y\",\"list\":[1,[],{\"t\":true,\"f\":false},null],"
                       "\"raw\":[1,2],\"noRaw\":null,\"n\":-5}");
}

static void write_levels(struct page *page, int levels)
{
    begin(page);
    for (int i = 0; i < levels; i++)
        json_array_begin(&page->json);
    json_int(&page->json, 1);
    json_int(&page->json, 2);
    for (int i = 0; i < levels; i++)
        json_array_end(&page->json);
}

static void end_too_often(void)
{
    struct page page;
    begin(&page);
    json_array_begin(&page.json);
    json_array_end(&page.json);
    json_array_end(&page.json);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    struct page page;
    write_levels(&page, JSON_WRITE_MAX_DEPTH - 1);
    assert_int_equal(page.out.size, 2 * (JSON_WRITE_MAX_DEPTH - 1) + 3);
    assert_non_null(strstr(buf_text(&page.out), "[1,2]"));
    buf_done(&page.out);
    /* Deeper JSON is a reply that does not fit. */
    write_levels(&page, JSON_WRITE_MAX_DEPTH);
    assert_true(page.out.overflowed);
    buf_done(&page.out);
    write_levels(&page, 10 * JSON_WRITE_MAX_DEPTH);
    assert_true(page.out.overflowed);
    buf_done(&page.out);
    assert_aborts(end_too_often);
}

static void test_escapes(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    json_text(&page.json, "\"\\/\b\f\n\r\t\x01\x1f\x7f \xc3\xa9\xf0\x9f\x98\x80");
    assert_page(&page, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f \xc3\xa9\xf0\x9f\x98\x80\"");
    begin(&page);
    json_object_begin(&page.json);
    json_member_text(&page.json, "k\"\n", "");
    json_object_end(&page.json);
    assert_page(&page, "{\"k\\\"\\n\":\"\"}");
}

/* Every byte, at every place of the writer's chunks, is read back as it was. */
static void test_every_byte_comes_back(void **state)
{
    (void)state;
    char text[700];
    for (size_t length = 250; length < 262; length++) {
        for (size_t i = 0; i < length; i++)
            text[i] = (char)((i * 31 + length) % 0x80);
        struct page page;
        begin(&page);
        json_bytes(&page.json, text, length);
        json_t *back = json_loadb(page.out.data, page.out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(back);
        assert_int_equal(json_string_length(back), length);
        assert_memory_equal(json_string_value(back), text, length);
        json_decref(back);
        buf_done(&page.out);
    }
    for (int byte = 0; byte < 0x80; byte++) {
        struct page page;
        char one = (char)byte;
        begin(&page);
        json_quote(&page.out, &one, 1);
        json_t *back = json_loadb(page.out.data, page.out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_int_equal(json_string_length(back), 1);
        assert_int_equal(json_string_value(back)[0], byte);
        assert_true(byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f ? page.out.size == 3 : page.out.size > 3);
        json_decref(back);
        buf_done(&page.out);
    }
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f;
}

/* The writer looks at eight bytes at once: one byte of any value, at any place among bytes that border on the escaped ones, neither
 * loses its escape nor gives one to a neighbour. */
static void test_escapes_at_every_place_of_a_word(void **state)
{
    (void)state;
    static const char neighbours[] = { ' ', '!', '#', '[', ']', '~', (char)0x80, (char)0xff };
    for (size_t n = 0; n < sizeof(neighbours); n++) {
        for (unsigned byte = 0; byte < 0x100; byte++) {
            for (size_t place = 0; place < 20; place++) {
                char text[20];
                memset(text, neighbours[n], sizeof(text));
                text[place] = (char)byte;
                struct page page;
                begin(&page);
                json_quote(&page.out, text, sizeof(text));
                assert_int_equal(json_quoted_size(text, sizeof(text)), page.out.size);
                size_t escape_bytes = is_plain((unsigned char)byte) ? 1 : page.out.size - 2 - (sizeof(text) - 1);
                assert_int_equal(page.out.size, 2 + sizeof(text) - 1 + escape_bytes);
                assert_true(is_plain((unsigned char)byte) || escape_bytes == 2 || escape_bytes == 6);
                assert_memory_equal(page.out.data + 1, text, place);
                assert_int_equal((unsigned char)page.out.data[1 + place], is_plain((unsigned char)byte) ? byte : '\\');
                assert_memory_equal(page.out.data + 1 + place + escape_bytes, text + place + 1, sizeof(text) - place - 1);
                buf_done(&page.out);
            }
        }
    }
}

static void test_lists_are_members(void **state)
{
    (void)state;
    static const char *const texts[] = { "a", NULL, "b\"" };
    static const int64_t values[] = { -1, INT64_MAX };
    struct page page;
    begin(&page);
    json_object_begin(&page.json);
    json_member_texts(&page.json, "texts", (struct text_list){ texts, 3 });
    json_member_texts(&page.json, "none", (struct text_list){ NULL, 0 });
    json_member_ints(&page.json, "values", (struct int_list){ values, 2 });
    json_object_end(&page.json);
    assert_string_equal(buf_text(&page.out), "{\"texts\":[\"a\",null,\"b\\\"\"],\"none\":[],\"values\":[-1,9223372036854775807]}");
    buf_done(&page.out);
}

static void test_a_text_past_the_maximum_overflows(void **state)
{
    (void)state;
    char text[2000];
    memset(text, '\n', sizeof(text));
    BUF_SCOPE out;
    buf_init(&out, 2 * sizeof(text) + 1);
    json_quote(&out, text, sizeof(text));
    assert_true(out.overflowed);
    buf_clear(&out);
    json_quote(&out, "short", 5);
    assert_false(out.overflowed);
    assert_string_equal(buf_text(&out), "\"short\"");
}

static void test_numbers_come_back(void **state)
{
    (void)state;
    static const double numbers[] = { 0,
                                      1,
                                      -1,
                                      0.1,
                                      1.0 / 3,
                                      1e15,
                                      123456789.123456789,
                                      1e300,
                                      -2.5e-300,
                                      DBL_MAX,
                                      -DBL_MAX,
                                      DBL_MIN,
                                      5e-324,
                                      M_PI,
                                      2.2250738585072011e-308,
                                      1e21,
                                      0.30000000000000004 };
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        struct page page;
        begin(&page);
        json_number(&page.json, numbers[i]);
        json_t *back = json_loadb(page.out.data, page.out.size, JSON_DECODE_ANY, NULL);
        assert_non_null(back);
        assert_true(json_number_value(back) == numbers[i]);
        json_decref(back);
        buf_done(&page.out);
    }
    struct page page;
    begin(&page);
    json_array_begin(&page.json);
    json_number(&page.json, 0.1);
    json_number(&page.json, 20);
    json_number(&page.json, NAN);
    json_number(&page.json, INFINITY);
    json_int(&page.json, INT64_MAX);
    json_int(&page.json, INT64_MIN);
    json_array_end(&page.json);
    assert_page(&page, "[0.1,20,null,null,9223372036854775807,-9223372036854775808]");
}

static void test_raw_bytes(void **state)
{
    (void)state;
    struct page page;
    begin(&page);
    json_array_begin(&page.json);
    json_raw_bytes(&page.json, "{}x", 2);
    json_raw(&page.json, NULL);
    json_raw(&page.json, "\"t\"");
    json_array_end(&page.json);
    assert_page(&page, "[{},null,\"t\"]");
}

/* ---- Reading ---- */

static const struct json_bounds wide = { .max_bytes = 1 << 20 };
static struct error err;

static const json_t *read_text(struct arena *arena, const char *text)
{
    err = (struct error){ .code = ERR_NONE };
    const json_t *json = NULL;
    return json_read(arena, text, strlen(text), wide, &json, &err) ? json : NULL;
}

static void assert_refused(const char *text, size_t size, enum error_code code, const char *words)
{
    ARENA_SCOPE arena = arena_new(0);
    err = (struct error){ .code = ERR_NONE };
    const json_t *json = NULL;
    if (json_read(arena, text, size, wide, &json, &err))
        fail_msg("'%.*s' was accepted", (int)size, text);
    assert_int_equal(err.code, code);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void test_reads_every_type(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_true(json_is_object(read_text(arena, "{\"a\":[1,2.5,true,null,\"\\u00e9\"]}")));
    assert_true(json_is_array(read_text(arena, "[]")));
    assert_string_equal(json_string_value(read_text(arena, "\"x\"")), "x");
    assert_int_equal(json_integer_value(read_text(arena, " -7 ")), -7);
    assert_true(json_is_null(read_text(arena, "null")));
}

/* */
static void test_long_integers_of_the_database_are_reals(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    err.code = ERR_NONE;
    const json_t *json;
    static const char text[] = "{\"9223372036854775808\":9223372036854775807,\"a\\\"1\":[-9223372036854775809,"
                               "15000000000000000000000000000000],\"t\":\"99999999999999999999\",\"n\":7,\"r\":1.5}";
    struct json_bounds stored = { .max_bytes = 1000, .from_jsonb = true };
    assert_false(json_read(arena, text, strlen(text), wide, &json, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    err.code = ERR_NONE;
    assert_true(json_read(arena, text, strlen(text), stored, &json, &err));
    assert_true(json_get_int(json, "9223372036854775808", 0) == INT64_MAX);
    const json_t *list = json_object_get(json, "a\"1");
    assert_true(json_real_value(json_array_get(list, 0)) == -9223372036854775808.0);
    assert_true(json_real_value(json_array_get(list, 1)) == 1.5e31);
    assert_string_equal(json_get_text(json, "t"), "99999999999999999999");
    assert_int_equal(json_get_int(json, "n", 0), 7);
    assert_true(json_read(arena, "88888888888888888888", 20, stored, &json, &err));
    assert_true(json_real_value(json) == 88888888888888888888.0);
    assert_false(json_read(arena, "[8888888888888888888888 \"", 25, stored, &json, &err));
}

static void test_malformed_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const malformed[] = { "",       " ",           "{",         "{\"a\":}", "[1,]",      "{a:1}", "'a'", "[1] 2",
                                             "nul",    "\"\\x\"",     "\"\n\"",    "01",       "+1",        "1.",    ".5",  "NaN",
                                             "\"open", "\"\\ud800\"", "{\"a\" 1}", "[1 2]",    "/* c */ 1", "tru",   "-",   "}" };
    for (size_t i = 0; i < ARRAY_COUNT(malformed); i++)
        assert_refused(malformed[i], strlen(malformed[i]), ERR_INVALID_REQUEST, "not valid JSON");
    assert_refused("{\n  \"a\": x\n}", 12, ERR_INVALID_REQUEST, "line 2");
    assert_refused("[1, 2, oops]", 12, ERR_INVALID_REQUEST, "column");
}

static void test_the_input_is_not_repeated(void **state)
{
    (void)state;
    static const char text[] = "{\"password\": hunter2}";
    assert_refused(text, strlen(text), ERR_INVALID_REQUEST, "line 1");
    assert_null(strstr(err.message, "hunter2"));
    static const char twice[] = "{\"secretName\":1,\"secretName\":2}";
    assert_refused(twice, strlen(twice), ERR_INVALID_REQUEST, "duplicate");
    assert_null(strstr(err.message, "secretName"));
}

static void test_size_is_bounded(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const json_t *json;
    struct json_bounds bounds = { .max_bytes = 7 };
    err = (struct error){ .code = ERR_NONE };
    assert_true(json_read(arena, "[1,2,3]", 7, bounds, &json, &err));
    assert_false(json_read(arena, "[1,2,3] ", 8, bounds, &json, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_non_null(strstr(err.message, "8 bytes"));
}

static size_t nest(char *text, int levels)
{
    for (int i = 0; i < levels; i++) {
        text[i] = '[';
        text[2 * levels - 1 - i] = ']';
    }
    return 2 * (size_t)levels;
}

static void test_depth_is_counted_before_parsing(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    char text[4096];
    const json_t *json;
    err = (struct error){ .code = ERR_NONE };
    size_t size = nest(text, JSON_READ_MAX_DEPTH);
    assert_true(json_read(arena, text, size, wide, &json, &err));
    size = nest(text, JSON_READ_MAX_DEPTH + 1);
    assert_refused(text, size, ERR_INVALID_REQUEST, "deeper than 64");
    struct json_bounds shallow = { .max_bytes = 100, .max_depth = 2 };
    assert_true(json_read(arena, "[{}]", 4, shallow, &json, &err));
    assert_false(json_read(arena, "[{\"a\":[]}]", 10, shallow, &json, &err));

    assert_int_equal(json_text_measure("", 0).depth, 0);
    assert_int_equal(json_text_measure("[[],[[]]]", 9).depth, 3);
    assert_int_equal(json_text_measure("{\"[[[[\":\"\\\"[[[\"}", 16).depth, 1);
    assert_int_equal(json_text_measure("\"\\\\\"[", 5).depth, 1);
    assert_int_equal(json_text_measure("]]][", 4).depth, 1);
    assert_int_equal(json_text_measure("\"\\", 2).depth, 0);
}

/* ---- The memory of a tree ---- */

static size_t allocated;
static size_t most_allocated;

static void *counting_malloc(size_t size)
{
    void *bytes = malloc(size);
    allocated += bytes != NULL ? malloc_usable_size(bytes) + sizeof(size_t) : 0;
    most_allocated = allocated > most_allocated ? allocated : most_allocated;
    return bytes;
}

static void counting_free(void *bytes)
{
    allocated -= bytes != NULL ? malloc_usable_size(bytes) + sizeof(size_t) : 0;
    free(bytes);
}

/* The most memory that either parser has for values while it reads the text. */
static size_t memory_of(const char *text, size_t size)
{
    allocated = most_allocated = 0;
    json_decref(json_parse(text, size, JSON_READ_MAX_DEPTH, false));
    assert_int_equal(allocated, 0);
    json_decref(json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL));
    assert_int_equal(allocated, 0);
    return most_allocated;
}

enum { SHAPE_BYTES = 300 * 1000 };

/* Repeats `unit`, in which # is a number that grows, between `before` and `after`. */
static size_t repeat(char *text, const char *before, const char *unit, const char *after)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    buf_add_text(&out, before);
    for (int i = 0; out.size < SHAPE_BYTES; i++) {
        buf_add_text(&out, i > 0 ? "," : "");
        for (const char *at = unit; *at != '\0'; at++) {
            if (*at == '#')
                buf_printf(&out, "%d", i);
            else
                buf_add_char(&out, *at);
        }
    }
    buf_add_text(&out, after);
    memcpy(text, out.data, out.size);
    size_t size = out.size;
    buf_done(&out);
    return size;
}

static void test_the_memory_of_a_tree_is_known_before_parsing(void **state)
{
    (void)state;
    static char text[SHAPE_BYTES + 1000];
    static const char *const shapes[][3] = {
        { "[", "1", "]" },
        { "[", "-1.5e+3", "]" },
        { "[", "[]", "]" },
        { "[", "{}", "]" },
        { "[", "[[[1]]]", "]" },
        { "[", "true", "]" },
        { "[", "\"\"", "]" },
        { "[", "\"\\u00e9\"", "]" },
        { "[", "\"some text that is longer than others\"", "]" },
        { "{", "\"#\":1", "}" },
        { "{", "\"#\":{}", "}" },
        { "{", "\"name#\":\"text\"", "}" },
        { "[", "{\"a\":1,\"b\":[2,3],\"c\":\"text\"}", "]" },
        { "[", "{\"a\":{\"b\":{\"c\":null}}}", "]" },
    };
    json_set_alloc_funcs(counting_malloc, counting_free);
    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
        size_t size = repeat(text, shapes[i][0], shapes[i][1], shapes[i][2]);
        size_t taken = memory_of(text, size);
        size_t measured = json_text_measure(text, size).tree_bytes;
        assert_in_range(taken, size / 2, measured);
        assert_in_range(measured, taken, 3 * taken);
        json_t *tree = json_loadb(text, size, 0, NULL);
        assert_in_range(json_tree_bytes(tree), taken / 2, 3 * taken);
        json_decref(tree);
    }
    memset(text, 'x', SHAPE_BYTES);
    text[0] = text[SHAPE_BYTES - 1] = '"';
    size_t taken = memory_of(text, SHAPE_BYTES);
    assert_in_range(json_text_measure(text, SHAPE_BYTES).tree_bytes, taken, 3 * taken);
    /* A number and a word, which is refused when it ends. */
    static const char *const starts[] = { "0.1", "-1", "true" };
    for (size_t i = 0; i < ARRAY_COUNT(starts); i++) {
        memset(text, starts[i][strlen(starts[i]) - 1], SHAPE_BYTES);
        memcpy(text, starts[i], strlen(starts[i]));
        taken = memory_of(text, SHAPE_BYTES);
        assert_in_range(json_text_measure(text, SHAPE_BYTES).tree_bytes, taken, 3 * taken);
    }
    json_set_alloc_funcs(malloc, free);
}

static bool refuse_claim(void *context, size_t tree_bytes, struct error *error)
{
    *(size_t *)context = tree_bytes;
    return fail(error, ERR_SERVICE_UNAVAILABLE, NULL, "Too much is read at once.");
}

static void test_a_tree_is_refused_before_it_is_built(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const json_t *json = NULL;
    const char text[] = "[[],[],[],[],[],[],[],[]]";
    struct json_bounds small = { .max_bytes = 100, .max_tree_bytes = 1000 };
    err = (struct error){ .code = ERR_NONE };
    assert_false(json_read(arena, text, strlen(text), small, &json, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_true(json_read(arena, "[[],[]]", 7, small, &json, &err));

    size_t claimed = 0;
    struct json_bounds claims = { .max_bytes = 100, .claim = refuse_claim, .claim_context = &claimed };
    assert_false(json_read(arena, text, strlen(text), claims, &json, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(claimed, json_text_measure(text, strlen(text)).tree_bytes);
}

static void test_duplicates_nul_and_bad_utf8_are_refused(void **state)
{
    (void)state;
    assert_refused("{\"a\":1,\"b\":2,\"a\":3}", 19, ERR_INVALID_REQUEST, "duplicate");
    assert_refused("{\"o\":{\"a\":1,\"a\":1}}", 19, ERR_INVALID_REQUEST, "duplicate");
    assert_refused("\"a\\u0000b\"", 10, ERR_INVALID_REQUEST, "U+0000");
    assert_refused("\"a\0b\"", 5, ERR_INVALID_REQUEST, "not valid JSON");
    assert_refused("1\0", 2, ERR_INVALID_REQUEST, "not valid JSON");
    assert_refused("[1\0]", 4, ERR_INVALID_REQUEST, "not valid JSON");
    static const char *const bad[] = { "\"\xff\"",         "\"\xc3\"",     "\"\xc0\xaf\"",
                                       "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "\"\xf4\x90\x80\x80\"",
                                       "\"\x80\"",         "{\"\xff\":1}" };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_refused(bad[i], strlen(bad[i]), ERR_INVALID_REQUEST, "not valid JSON");
}

/* A reader with this option gets text with an escaped NUL. An unescaped NUL is still invalid JSON. */
static void test_nul_is_taken_where_it_is_wanted(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct json_bounds taking = { .max_bytes = 100, .allow_nul = true };
    const json_t *json;
    err = (struct error){ .code = ERR_NONE };
    assert_true(json_read(arena, "\"a\\u0000b\"", 10, taking, &json, &err));
    assert_int_equal(json_string_length(json), 3);
    assert_memory_equal(json_string_value(json), "a\0b", 4);
    assert_false(json_read(arena, "[1\0]", 4, taking, &json, &err));
}

static void test_members(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const json_t *object = read_text(arena, "{\"t\":\"x\",\"i\":5,\"r\":5.5,\"b\":true,\"f\":false,\"n\":null}");
    assert_string_equal(json_get_text(object, "t"), "x");
    assert_null(json_get_text(object, "i"));
    assert_null(json_get_text(object, "absent"));
    assert_null(json_get_text(NULL, "t"));
    assert_int_equal(json_get_int(object, "i", -1), 5);
    assert_int_equal(json_get_int(object, "r", -1), -1);
    assert_int_equal(json_get_int(object, "t", -1), -1);
    assert_true(json_get_bool(object, "b", false));
    assert_false(json_get_bool(object, "f", true));
    assert_true(json_get_bool(object, "n", true));
    assert_int_equal(json_get_int(NULL, "i", 9), 9);
}

static void test_canonical_text(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    const json_t *left = read_text(arena, "{\"b\": [1, 2],\n \"a\": {\"d\":\"\\u00e9\", \"c\":null}}");
    const json_t *right = read_text(arena, "{\"a\":{\"c\":null,\"d\":\"\xc3\xa9\"},\"b\":[1,2]}");
    assert_string_equal(json_canonical(arena, left), "{\"a\":{\"c\":null,\"d\":\"\xc3\xa9\"},\"b\":[1,2]}");
    assert_string_equal(json_canonical(arena, left), json_canonical(arena, right));
    assert_string_equal(json_compact(arena, left), "{\"b\":[1,2],\"a\":{\"d\":\"\xc3\xa9\",\"c\":null}}");
    assert_string_equal(json_compact(arena, read_text(arena, " \"x\" ")), "\"x\"");
    const char *values =
        "[0.1,0.3333333333333333,-2.5,1.0,1e300,0.30000000000000004,9223372036854775807,true,false,null,\"a\\nb\",{},[]]";
    assert_string_equal(
        json_compact(arena, read_text(arena, values)),
        "[0.1,0.3333333333333333,-2.5,1.0,1e+300,0.30000000000000004,9223372036854775807,true,false,null,\"a\\nb\",{},[]]");
    assert_true(json_equal(read_text(arena, json_compact(arena, read_text(arena, values))), read_text(arena, values)));
    assert_null(json_in_arena(arena, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_and_nesting),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_escapes_at_every_place_of_a_word),
        cmocka_unit_test(test_every_byte_comes_back),
        cmocka_unit_test(test_a_text_past_the_maximum_overflows),
        cmocka_unit_test(test_lists_are_members),
        cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_raw_bytes),
        cmocka_unit_test(test_reads_every_type),
        cmocka_unit_test(test_long_integers_of_the_database_are_reals),
        cmocka_unit_test(test_malformed_text_is_refused_with_its_place),
        cmocka_unit_test(test_the_input_is_not_repeated),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_depth_is_counted_before_parsing),
        cmocka_unit_test(test_the_memory_of_a_tree_is_known_before_parsing),
        cmocka_unit_test(test_a_tree_is_refused_before_it_is_built),
        cmocka_unit_test(test_duplicates_nul_and_bad_utf8_are_refused),
        cmocka_unit_test(test_nul_is_taken_where_it_is_wanted),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_canonical_text),
    };
    return cmocka_run_group_tests_name("base: json", tests, NULL, NULL);
}
