/* The JSON parser builds the trees of jansson, and refuses what jansson refuses. */
#include "fixtures/base_case.h"

#include "base/json_parser.h"
#include "base/json_read.h"

#include <string.h>

enum { MAX_BYTES = 256 };

static const char *const documents[] = {
    "{\"email\": \"ada@example.com\", \"n\": [1, -2.5e3, true, false, null], \"o\": {}}",
    " [\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\\b\\f\\r\\t\", \"caf\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x82\xac\", [[]], \"\"]\n",
    "{\"\\u0061\\n\":\"a\",\"b\":{\"c\":[{\"d\":\"\\u0000\"}]}}",
    "[0, -0, 10, 01, 123456789012345678, 1234567890123456789, 0.5, 1E+2]",
    "[999999999999999999, -999999999999999999, 9223372036854775807, -9223372036854775808]",
    "\"a text of one value\"",
    "-17",
};

/* ---- The same as jansson ---- */

static json_t *load(const char *text, size_t size, bool allow_nul)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | (allow_nul ? JSON_ALLOW_NUL : 0);
    return json_loadb(text, size, flags, NULL);
}

/* Equal values with their members in the same order. */
static void assert_same_tree(const char *text, size_t size, const json_t *json, const json_t *expected)
{
    if ((json == NULL) != (expected == NULL))
        fail_msg("'%.*s' was %s", (int)size, text, json != NULL ? "accepted" : "refused");
    if (json == NULL)
        return;
    char *dumped = json_dumps(json, JSON_ENCODE_ANY);
    char *expected_dump = json_dumps(expected, JSON_ENCODE_ANY);
    if (!json_equal(json, expected) || strcmp(dumped, expected_dump) != 0)
        fail_msg("'%.*s' became %s", (int)size, text, dumped);
    free(dumped);
    free(expected_dump);
}

/* The text is parsed from a block of its own size, so that AddressSanitizer sees a read beyond it. */
static void compare(const char *text, size_t size)
{
    char *exact = malloc(size > 0 ? size : 1);
    assert_non_null(exact);
    memcpy(exact, text, size);
    for (int allow_nul = 0; allow_nul < 2; allow_nul++) {
        json_auto_t *json = json_parse(exact, size, JSON_READ_MAX_DEPTH, allow_nul);
        json_auto_t *expected = load(exact, size, allow_nul);
        assert_same_tree(text, size, json, expected);
    }
    free(exact);
}

static void test_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++)
        compare(documents[i], strlen(documents[i]));
    json_auto_t *json = json_parse(documents[0], strlen(documents[0]), JSON_READ_MAX_DEPTH, false);
    assert_string_equal(json_string_value(json_object_get(json, "email")), "ada@example.com");
}

static void test_every_beginning(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++)
        for (size_t size = 0; size < strlen(documents[i]); size++)
            compare(documents[i], size);
}

/* Without NUL, which jansson ignores after a number, and which json_read refuses before it parses. */
static void test_every_byte_at_every_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++) {
        char text[MAX_BYTES];
        size_t size = strlen(documents[i]);
        for (size_t place = 0; place < size; place++) {
            memcpy(text, documents[i], size);
            for (int byte = 1; byte < 0x100; byte++) {
                text[place] = (char)byte;
                compare(text, size);
            }
        }
    }
}

/* A byte more and a byte less. */
static void test_every_insertion_and_omission(void **state)
{
    (void)state;
    static const char bytes[] = "\"\\,:{}[] \n0-.eu\x0b\x1f\x7f\x80\xc3\xed";
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++) {
        char text[MAX_BYTES];
        size_t size = strlen(documents[i]);
        for (size_t place = 0; place < size; place++) {
            memcpy(text, documents[i], place);
            memcpy(text + place, documents[i] + place + 1, size - place - 1);
            compare(text, size - 1);
            memcpy(text + place + 1, documents[i] + place, size - place);
            for (size_t byte = 0; byte < sizeof(bytes) - 1; byte++) {
                text[place] = bytes[byte];
                compare(text, size + 1);
            }
        }
    }
}

static void test_code_units(void **state)
{
    (void)state;
    static const char *const seconds[] = { "", "x", "\\u0041", "\\ud800", "\\udbff", "\\udc00", "\\udfff", "\\udc0", "\\n" };
    for (unsigned unit = 0; unit < 0x10000; unit += unit < 0x100 ? 1 : 7) {
        char text[MAX_BYTES];
        int size = snprintf(text, sizeof(text), "\"\\u%04x\"", unit);
        compare(text, (size_t)size);
    }
    for (unsigned unit = 0xd700; unit < 0xe100; unit += 0x33) {
        for (size_t i = 0; i < ARRAY_COUNT(seconds); i++) {
            char text[MAX_BYTES];
            int size = snprintf(text, sizeof(text), "\"\\u%04X%s\"", unit, seconds[i]);
            compare(text, (size_t)size);
        }
    }
}

/* Each text has one malformed or unusual character, at each place of a longer text, of which the parser looks at many bytes at
 * once. */
static void test_every_place_of_a_long_text(void **state)
{
    (void)state;
    static const char *const parts[] = { "\x1f",     "\x7f", "\x80", "\xc3\xa9", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                         "\xc0\xaf", "\\n",  "\\q",  "\"" };
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        for (size_t place = 1; place < 70; place++) {
            char text[MAX_BYTES];
            memset(text, 'x', 80);
            text[0] = text[79] = '"';
            memcpy(text + place, parts[i], strlen(parts[i]));
            compare(text, 80);
        }
    }
}

static void test_duplicates_and_names(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
        "{\"\":1}",
        "{\"\":1,\"\":2}",
        "{\"a\\u0000\":1}",
        "{\"a\" : 1 , \"b\" : 2}",
        "{1:2}",
        "{\"a\"}",
        "{,}",
        "{\"a\":1,}",
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        compare(texts[i], strlen(texts[i]));
}

/* ---- Depth ---- */

static void test_nesting_is_bounded(void **state)
{
    (void)state;
    json_auto_t *two = json_parse("[{}]", 4, 2, false);
    assert_non_null(two);
    assert_null(json_parse("[{}]", 4, 1, false));
    assert_null(json_parse("[{\"a\":[]}]", 10, 2, false));
    json_auto_t *number = json_parse("1", 1, 0, false);
    assert_non_null(number);
    assert_null(json_parse("[]", 2, 0, false));
    json_auto_t *siblings = json_parse("[[],[],[{}],[]]", 15, 3, false);
    assert_non_null(siblings);
}

static void test_the_end_of_a_text(void **state)
{
    (void)state;
    assert_int_equal(json_text_end("ab\"", 3, 0), 2);
    assert_int_equal(json_text_end("a\\\"b\"c", 6, 0), 4);
    assert_int_equal(json_text_end("\\\\\"", 3, 0), 2);
    assert_int_equal(json_text_end("\"", 1, 0), 0);
    assert_int_equal(json_text_end("ab", 2, 0), 2);
    assert_int_equal(json_text_end("a\\", 2, 0), 2);
    assert_int_equal(json_text_end("\"a\"", 3, 1), 2);
    assert_int_equal(json_text_end("", 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_every_byte_at_every_place),
        cmocka_unit_test(test_every_insertion_and_omission),
        cmocka_unit_test(test_code_units),
        cmocka_unit_test(test_every_place_of_a_long_text),
        cmocka_unit_test(test_duplicates_and_names),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_the_end_of_a_text),
    };
    return cmocka_run_group_tests_name("base: json_parser", tests, NULL, NULL);
}
