/*
 * the words and ranges that decide the actor of a hit equal those of a search through
 * all of them.
 */
#include "engine/hits/hit_matcher.h"

#include "fixtures/own_fail.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 120, RANGES = 60, SEARCHES = 3000 };

static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static int draw(int below)
{
    return (int)(random() % below);
}

static const char *random_text(int least, int most)
{
    int size = least + draw(most - least + 1);
    char *text = arena_alloc(arena, (size_t)size + 1);
    for (int i = 0; i < size; i++)
        text[i] = (char)('a' + draw(3));
    return text;
}

/* ---- Words ---- */

static int64_t search_words(const struct hit_match *words, size_t count, const char *agent)
{
    const struct hit_match *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcasestr(agent, words[i].text) != NULL && (best == NULL || strlen(words[i].text) > strlen(best->text)))
            best = &words[i];
    return best != NULL ? best->id : 0;
}

static void test_words(void **state)
{
    (void)state;
    struct hit_match words[WORDS];
    int found = 0;
    for (int i = 0; i < WORDS; i++)
        words[i] = (struct hit_match){ .id = i + 1, .text = random_text(3, 7) };
    const struct hit_matcher *matcher = hit_matcher_new(arena, words, WORDS);
    for (int i = 0; i < SEARCHES; i++) {
        const char *agent = random_text(0, 12);
        int64_t expected = search_words(words, WORDS, agent);
        assert_int_equal(hit_matcher_word(matcher, agent), expected);
        found += expected != 0;
    }
    assert_in_range(found, 1, SEARCHES - 1);
}

static void test_long_agents(void **state)
{
    (void)state;
    struct hit_match word = { .id = 5, .text = "guard/" };
    const struct hit_matcher *matcher = hit_matcher_new(arena, &word, 1);
    char agent[1100];
    memset(agent, 'x', sizeof(agent));
    memcpy(agent + 1018, "GUARD/", sizeof("GUARD/"));
    assert_int_equal(hit_matcher_word(matcher, agent), 5);
    memset(agent, 'x', sizeof(agent));
    memcpy(agent + 1019, "GUARD/", sizeof("GUARD/"));
    assert_int_equal(hit_matcher_word(matcher, agent), 0);
    assert_int_equal(hit_matcher_word(hit_matcher_new(arena, NULL, 0), "guard/"), 0);
}

/* ---- Ranges ---- */

static bool is_bit_equal(const unsigned char *left, const unsigned char *right, unsigned bit)
{
    return ((left[bit / 8] ^ right[bit / 8]) & (0x80u >> bit % 8)) == 0;
}

static bool is_inside(const unsigned char *address, const char *text, unsigned bits, unsigned *ret_bits)
{
    struct hit_range range;
    struct error err;
    assert_true(hit_range_read(text, &range, &err));
    *ret_bits = range.bits;
    for (unsigned bit = 0; bit < range.bits; bit++)
        if (!is_bit_equal(address, range.prefix, bit))
            return false;
    return range.bits <= bits;
}

static int64_t search_ranges(const struct hit_match *ranges, size_t count, const char *address, unsigned most_bits)
{
    unsigned char bytes[HIT_ADDRESS_BYTES];
    unsigned best_bits = 0;
    int64_t best = 0;
    assert_true(hit_address_read(address, bytes));
    for (size_t i = 0; i < count; i++) {
        unsigned bits;
        if (is_inside(bytes, ranges[i].text, most_bits, &bits) && bits > best_bits) {
            best_bits = bits;
            best = ranges[i].id;
        }
    }
    return best;
}

/* Few different bytes, so that ranges lie in each other. */
static const char *random_address(void)
{
    if (draw(3) == 0)
        return arena_printf(arena, "2001:db%d:%d:%d::%d", draw(2), draw(3), draw(3), draw(3));
    return arena_printf(arena, "10.%d.%d.%d", 8 * draw(9), draw(4), draw(4));
}

static const char *random_range(void)
{
    struct hit_range range;
    const char *address = random_address();
    bool is_ipv4 = strchr(address, ':') == NULL;
    assert_true(hit_address_read(address, range.prefix));
    range.bits = is_ipv4 ? 96 + 22 + (unsigned)draw(11) : 40 + (unsigned)draw(89);
    for (unsigned bit = range.bits; bit < 128; bit++)
        range.prefix[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
    return hit_range_text(arena, &range);
}

static bool has_text(const struct hit_match *matches, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(matches[i].text, text) == 0)
            return true;
    return false;
}

static void test_ranges(void **state)
{
    (void)state;
    struct hit_match ranges[RANGES];
    size_t count = 0;
    int found = 0;
    for (int i = 0; i < RANGES; i++) {
        const char *text = random_range();
        if (!has_text(ranges, count, text)) {
            ranges[count] = (struct hit_match){ .id = i + 1, .is_range = true, .text = text };
            count++;
        }
    }
    const struct hit_matcher *matcher = hit_matcher_new(arena, ranges, count);
    for (int i = 0; i < SEARCHES; i++) {
        const char *address = random_address();
        bool is_ipv4 = strchr(address, ':') == NULL;
        int64_t expected = search_ranges(ranges, count, address, 128);
        assert_int_equal(hit_matcher_range(matcher, address), expected);
        found += expected != 0;
        const char *truncated = is_ipv4 ? arena_printf(arena, "10.%d.%d.0", 8 * draw(9), draw(4)) : "2001:db1:2::";
        const char *with_bits = arena_printf(arena, "%s/%d", truncated, is_ipv4 ? 24 : 48);
        assert_int_equal(hit_matcher_truncated(matcher, with_bits, 0), search_ranges(ranges, count, truncated, is_ipv4 ? 120 : 48));
    }
    assert_in_range(found, 1, SEARCHES - 1);
}

static void test_addresses_that_are_none(void **state)
{
    (void)state;
    struct hit_match range = { .id = 3, .is_range = true, .text = "203.0.113.64/26" };
    const struct hit_matcher *matcher = hit_matcher_new(arena, &range, 1);
    assert_int_equal(hit_matcher_range(matcher, NULL), 0);
    assert_int_equal(hit_matcher_range(matcher, "somewhere"), 0);
    assert_int_equal(hit_matcher_range(matcher, "203.0.113.100"), 3);
    assert_int_equal(hit_matcher_range(matcher, "::ffff:203.0.113.100"), 3);
    assert_int_equal(hit_matcher_truncated(matcher, "203.0.113.0/24", 0), 0);
    assert_int_equal(hit_matcher_truncated(matcher, "203.0.113.0/24", 3), 3);
    assert_int_equal(hit_matcher_truncated(matcher, "203.0.113.0/24", 4), 0);
}

int main(void)
{
    srandom(20261123);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words, begin, end),
        cmocka_unit_test_setup_teardown(test_long_agents, begin, end),
        cmocka_unit_test_setup_teardown(test_ranges, begin, end),
        cmocka_unit_test_setup_teardown(test_addresses_that_are_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
