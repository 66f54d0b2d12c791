/* Text: UTF-8, visible characters, and each encoding with its invalid input. */
#include "fixtures/base_case.h"

#include "base/text.h"

#include <string.h>

static struct arena *arena; /* one per test */

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* ---- UTF-8 ---- */

static const char *const well_formed[] = {
    "\x01",         "\x7f",         "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80",     "\xec\x80\x80",     "\xed\x9f\xbf",
    "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf1\x80\x80\x80", "\xf4\x8f\xbf\xbf", "\xf0\x9f\x98\x80",
};

static const char *const malformed[] = {
    "\x80",
    "\xbf",
    "\xc0\x80",
    "\xc1\xbf",
    "\xc2",
    "\xc2\x41",
    "\xc2\xc2\x80",
    "\xe0\x80\x80",
    "\xe0\x9f\xbf",
    "\xe2\x82",
    "\xe2\x82\x41",
    "\xed\xa0\x80",
    "\xed\xbf\xbf",
    "\xf0\x80\x80\x80",
    "\xf0\x8f\xbf\xbf",
    "\xf0\x9f\x98",
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xf8\x88\x80\x80\x80",
    "\xfe",
    "\xff",
    "\xe2\x82\xc0",
    "\xf0\x9f\xc0\x80",
};

/* Every place of an eight-byte word, with ASCII of any length behind. */
static bool valid_inside(const char *piece, size_t piece_size, size_t before, size_t behind)
{
    char text[64];
    memset(text, 'a', sizeof(text));
    memcpy(text + before, piece, piece_size);
    /* An allocation of the exact size, so that reading too far is seen. */
    return utf8_is_valid(arena_dup_bytes(arena, text, before + piece_size + behind), before + piece_size + behind);
}

static void test_utf8_at_every_place(void **state)
{
    (void)state;
    assert_true(utf8_is_valid("", 0));
    assert_true(utf8_is_valid(NULL, 0));
    for (size_t before = 0; before < 18; before++) {
        for (size_t behind = 0; behind < 18; behind += 3) {
            for (size_t i = 0; i < ARRAY_COUNT(well_formed); i++)
                if (!valid_inside(well_formed[i], strlen(well_formed[i]), before, behind))
                    fail_msg("well-formed %zu refused between %zu and %zu", i, before, behind);
            for (size_t i = 0; i < ARRAY_COUNT(malformed); i++)
                if (valid_inside(malformed[i], strlen(malformed[i]), before, behind))
                    fail_msg("malformed %zu accepted between %zu and %zu", i, before, behind);
            assert_false(valid_inside("\0", 1, before, behind));
        }
    }
}

/* The fast path looks at eight bytes at once: each byte value at each place must be judged as if alone. */
static void test_utf8_words(void **state)
{
    (void)state;
    char word[8];
    for (int byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < sizeof(word); place++) {
            memset(word, byte % 2 == 0 ? 0x01 : 0x7f, sizeof(word));
            word[place] = (char)byte;
            assert_int_equal(utf8_is_valid(word, sizeof(word)), byte > 0 && byte < 0x80);
        }
    }
}

static void test_utf8_length(void **state)
{
    (void)state;
    assert_int_equal(utf8_length(""), 0);
    assert_int_equal(utf8_length("abc"), 3);
    assert_int_equal(utf8_length("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), 4);
}

static void test_utf8_has_length(void **state)
{
    (void)state;
    const char *two = "a\xe2\x82\xac";
    assert_true(utf8_has_length(two, 2, 2));
    assert_false(utf8_has_length(two, 3, 4));
    assert_false(utf8_has_length(two, 0, 1));
    assert_true(utf8_has_length("", 0, 1));
    assert_false(utf8_has_length("", 1, 1));
    assert_false(utf8_has_length("a\xe2\x82", 0, 9));
    assert_false(utf8_has_length(NULL, 0, 9));
}

static void assert_repaired(const char *given, const char *expected)
{
    char *text = arena_dup(arena, given);
    utf8_drop_malformed(text);
    assert_string_equal(text, expected);
}

static void test_malformed_bytes_are_dropped(void **state)
{
    (void)state;
    assert_repaired("", "");
    assert_repaired("plain", "plain");
    assert_repaired("caf\xc3\xa9", "caf\xc3\xa9");
    assert_repaired("caf\xc3", "caf");
    assert_repaired("\xf0\x9f\x98", "");
    assert_repaired("a\xff\xc3\xa9\x80z", "a\xc3\xa9z");
    assert_repaired("\xe2\x82\xe2\x82\xac", "\xe2\x82\xac");
}

/* ---- Visible characters ---- */

static void test_invisible_characters_go(void **state)
{
    (void)state;
    assert_string_equal(text_visible(arena, "", 10), "");
    assert_string_equal(text_visible(arena, "a\tb\nc\rd", 10), "a\tb\nc\rd");
    assert_string_equal(text_visible(arena,
                                     "a\x01\x08\x0b\x0c\x0e\x1f\x7f\xc2\x80\xc2\x9f"
                                     "b",
                                     10),
                        "ab");
    /* Zero-width, bidirectional controls, tags, byte order mark, soft hyphen, annotations. */
    static const char *const invisible[] = {
        "\xe2\x80\x8b", "\xe2\x80\x8d",     "\xe2\x80\x8f",     "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa0",
        "\xe2\x81\xa6", "\xe2\x81\xa9",     "\xe2\x81\xaf",     "\xef\xbb\xbf", "\xc2\xad",     "\xd8\x9c",
        "\xe1\xa0\x8e", "\xf3\xa0\x80\x81", "\xf3\xa0\x81\xbf", "\xef\xbf\xb9", "\xef\xb8\x80",
    };
    for (size_t i = 0; i < ARRAY_COUNT(invisible); i++)
        assert_string_equal(text_visible(arena, arena_printf(arena, "x%sy", invisible[i]), 10), "xy");
    static const char *const visible[] = { "\xc2\xa0",     "\xc3\xa9",         "\xe2\x80\x90", "\xe2\x82\xac",
                                           "\xef\xb8\x8f", "\xf0\x9f\x98\x80", "\xc2\xae" };
    for (size_t i = 0; i < ARRAY_COUNT(visible); i++) {
        const char *text = arena_printf(arena, "x%sy", visible[i]);
        assert_string_equal(text_visible(arena, text, 10), text);
    }
}

static void test_visible_text_is_cut_by_characters(void **state)
{
    (void)state;
    assert_string_equal(text_visible(arena, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 3), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(text_visible(arena, "abc", 0), "");
    /* Invisible characters do not count. */
    assert_string_equal(text_visible(arena,
                                     "\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b"
                                     "ab",
                                     2),
                        "ab");
    assert_string_equal(text_visible(arena, "a\xff\xc3(", 10), "a(");
}

/* ---- Small things ---- */

static void test_comparing(void **state)
{
    (void)state;
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_false(text_equal("a", NULL));
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "A"));
    assert_true(text_starts_with("abc", "ab"));
    assert_true(text_starts_with("abc", ""));
    assert_false(text_starts_with("ab", "abc"));
}

static void test_lower_and_trim(void **state)
{
    (void)state;
    assert_string_equal(text_lower(arena, "AZaz09[@`{\xc3\x89"), "azaz09[@`{\xc3\x89");
    assert_string_equal(text_trim(arena, " \t\r\n\f\v a b \n"), "a b");
    assert_string_equal(text_trim(arena, "   "), "");
    assert_string_equal(text_trim(arena, ""), "");
    assert_string_equal(text_trim(arena, "\xc2\xa0x"), "\xc2\xa0x");
}

static void test_fold(void **state)
{
    (void)state;
    assert_string_equal(text_fold(arena, ""), "");
    assert_string_equal(text_fold(arena, "A\xc3\x89"), "ae\xcc\x81"); /* É: the accent is a code point */
    assert_string_equal(text_fold(arena, "Stra\xc3\x9f"
                                         "e"),
                        "strasse");                                           /* ß */
    assert_string_equal(text_fold(arena, "\xef\xbc\xa1\xef\xac\x81"), "afi"); /* a wide A, a ligature */
    assert_string_equal(text_fold(arena, "A\xc3"), "a\xef\xbf\xbd");
}

/* ---- Encodings ---- */

static const char *decoded(const char *text)
{
    return percent_decode(arena, text, strlen(text));
}

/* decoded once. */
static void test_percent_decoding(void **state)
{
    (void)state;
    assert_string_equal(decoded(""), "");
    assert_string_equal(decoded("a%40b%2Bc+d"), "a@b+c+d");
    assert_string_equal(decoded("%c3%A9"), "\xc3\xa9");
    assert_string_equal(decoded("%2540"), "%40");
    assert_string_equal(decoded("%41"), "A");
    static const char *const refused[] = { "%",   "%4",  "a%",    "a%4", "%4g", "%g4",    "%%41",     "% 41",
                                           "%-1", "%00", "a%00b", "%ff", "%c3", "%c3%28", "%ed%a0%80" };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        if (decoded(refused[i]) != NULL)
            fail_msg("'%s' was accepted", refused[i]);
    assert_null(percent_decode(arena, "%41", 2));
    assert_null(percent_decode(arena, "a\0b", 3));
}

static void test_percent_encoding(void **state)
{
    (void)state;
    assert_string_equal(percent_encode(arena, ""), "");
    assert_string_equal(percent_encode(arena, "AZaz09-._~"), "AZaz09-._~");
    assert_string_equal(percent_encode(arena, "a b/@+%\xc3\xa9\x7f"), "a%20b%2F%40%2B%25%C3%A9%7F");
    for (int byte = 1; byte < 0x80; byte++) {
        char text[2] = { (char)byte, '\0' };
        assert_string_equal(decoded(percent_encode(arena, text)), text);
    }
}

static void test_hex(void **state)
{
    (void)state;
    char hex[9];
    hex_encode("\x00\x01\xab\xff", 4, hex);
    assert_string_equal(hex, "0001abff");
    hex_encode("", 0, hex);
    assert_string_equal(hex, "");
}

/* RFC 4648 §10 */
static void test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *standard, *url;
    } pairs[] = {
        { "", "", "" },
        { "f", "Zg==", "Zg" },
        { "fo", "Zm8=", "Zm8" },
        { "foo", "Zm9v", "Zm9v" },
        { "foob", "Zm9vYg==", "Zm9vYg" },
        { "foobar", "Zm9vYmFy", "Zm9vYmFy" },
        { "\xfb\xff\xbf", "+/+/", "-_-_" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
        size_t size = strlen(pairs[i].bytes);
        assert_string_equal(base64_encode(arena, pairs[i].bytes, size), pairs[i].standard);
        assert_string_equal(base64url_encode(arena, pairs[i].bytes, size), pairs[i].url);
        size_t back;
        unsigned char *bytes = base64_decode(arena, pairs[i].standard, &back);
        assert_non_null(bytes);
        assert_int_equal(back, size);
        assert_memory_equal(bytes, pairs[i].bytes, size);
        bytes = base64url_decode(arena, pairs[i].url, &back);
        assert_non_null(bytes);
        assert_int_equal(back, size);
        assert_memory_equal(bytes, pairs[i].bytes, size);
    }
}

static void test_malformed_base64(void **state)
{
    (void)state;
    size_t size;
    static const char *const standard[] = { "Z",     "Zg",    "Zg=",    "Zg===", "Zm8", "Zh==", "Zm9=",      "Zm9v=",
                                            "Zg==x", "Z g==", "Zg==\n", "-_-_",  "=",   "====", "Zm\xc3\xa9" };
    for (size_t i = 0; i < ARRAY_COUNT(standard); i++)
        if (base64_decode(arena, standard[i], &size) != NULL)
            fail_msg("base64 '%s' was accepted", standard[i]);
    static const char *const url[] = { "Z", "Zh", "Zm9", "Zg==", "Zg=", "+/+/", "Zm8=", "Zg\n", " Zg", "Zm9v.", "Zm9vYg==" };
    for (size_t i = 0; i < ARRAY_COUNT(url); i++)
        if (base64url_decode(arena, url[i], &size) != NULL)
            fail_msg("base64url '%s' was accepted", url[i]);
    /* Every byte in every place: the alphabet and nothing else. */
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (int byte = 1; byte < 256; byte++) {
        for (size_t place = 0; place < 4; place++) {
            char text[5] = "AAAA";
            text[place] = (char)byte;
            bool common = strchr(alphabet, byte) != NULL;
            bool ends = byte == '=' && place == 3;
            assert_int_equal(base64_decode(arena, text, &size) != NULL, common || byte == '+' || byte == '/' || ends);
            assert_int_equal(base64url_decode(arena, text, &size) != NULL, common || byte == '-' || byte == '_');
        }
    }
}

static void test_base32(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } pairs[] = {
        { 0, "0000000000000" },
        { 1, "0000000000001" },
        { 31, "000000000000z" },
        { 32, "0000000000010" },
        { UINT64_C(1) << 63, "8000000000000" },
        { UINT64_MAX, "fzzzzzzzzzzzz" },
        { 0x0123456789abcdef, "028t5cy4tqkff" },
    };
    char text[BASE32_U64_CHARS + 1];
    uint64_t value;
    for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
        base32_encode_u64(pairs[i].value, text);
        assert_string_equal(text, pairs[i].text);
        assert_true(base32_decode_u64(text, &value));
        assert_true(value == pairs[i].value);
    }
    /* Letters that Crockford leaves out, capitals, a 65th bit, other lengths. */
    static const char *const refused[] = { "",
                                           "000000000000",
                                           "00000000000000",
                                           "000000000000i",
                                           "000000000000l",
                                           "000000000000o",
                                           "000000000000u",
                                           "000000000000Z",
                                           "000000000000-",
                                           "g000000000000",
                                           "zzzzzzzzzzzzz",
                                           "00000000000\xc3\xa9" };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        if (base32_decode_u64(refused[i], &value))
            fail_msg("base32 '%s' was accepted", refused[i]);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    int64_t value;
    assert_true(int64_parse("0", &value) && value == 0);
    assert_true(int64_parse("-1", &value) && value == -1);
    assert_true(int64_parse("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(int64_parse("-9223372036854775808", &value) && value == INT64_MIN);
    static const char *const refused[] = {
        "", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "--1", "- 1", "9223372036854775808", "-9223372036854775809", "one", "1_000"
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        if (int64_parse(refused[i], &value))
            fail_msg("'%s' was accepted", refused[i]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static void test_words_of_ascii(void **state)
{
    (void)state;
    assert_true(text_is_word("sk-1~!", 6));
    assert_false(text_is_word("sk-1~!", 5));
    assert_false(text_is_word("", 5));
    assert_false(text_is_word("a b", 5));
    assert_false(text_is_word("a\n", 5));
    assert_false(text_is_word("a\x7f", 5));
    assert_false(text_is_word("\xc3\xa9", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_utf8_at_every_place),
        TEST(test_utf8_words),
        TEST(test_utf8_length),
        TEST(test_utf8_has_length),
        TEST(test_malformed_bytes_are_dropped),
        TEST(test_invisible_characters_go),
        TEST(test_visible_text_is_cut_by_characters),
        TEST(test_comparing),
        TEST(test_words_of_ascii),
        TEST(test_lower_and_trim),
        TEST(test_fold),
        TEST(test_percent_decoding),
        TEST(test_percent_encoding),
        TEST(test_hex),
        TEST(test_base64),
        TEST(test_malformed_base64),
        TEST(test_base32),
        TEST(test_whole_numbers),
    };
    return cmocka_run_group_tests_name("base: text", tests, NULL, NULL);
}
