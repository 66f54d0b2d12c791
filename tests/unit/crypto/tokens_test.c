/* Sealed tokens: nobody without the keys can read or change one. */
#include "crypto/tokens.h"

#include "base/text.h"
#include "crypto/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static struct token_keys keys;
static struct token_keys other_keys;

static int begin(void **state)
{
    (void)state;
    crypto_start();
    token_keys_init(&keys, (const unsigned char *)"the secret of the tokens in test");
    token_keys_init(&other_keys, (const unsigned char *)"the secret of the tokens in tesT");
    return 0;
}

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

static bool opens(const struct token_keys *with, const char *purpose, const char *token)
{
    struct bytes payload;
    return token_open(arena, with, purpose, token, &payload);
}

static void test_tokens_come_back(void **state)
{
    (void)state;
    struct bytes payload;
    const char *token = token_seal(arena, &keys, "page", "a\0b", 3);
    assert_true(token_open(arena, &keys, "page", token, &payload));
    assert_int_equal(payload.size, 3);
    assert_memory_equal(payload.data, "a\0b", 3);
    /* Nothing of it needs escaping in a URL. */
    assert_string_equal(percent_encode(arena, token), token);

    token = token_seal(arena, &keys, "page", "", 0);
    assert_true(token_open(arena, &keys, "page", token, &payload));
    assert_int_equal(payload.size, 0);
}

static void test_the_length(void **state)
{
    (void)state;
    char text[200];
    memset(text, 'x', sizeof(text));
    for (size_t size = 0; size <= sizeof(text); size++)
        assert_int_equal(strlen(token_seal(arena, &keys, "page", text, size)), TOKEN_CHARS(size));
}

static void test_bound_to_keys_and_purpose(void **state)
{
    (void)state;
    const char *token = token_seal(arena, &keys, "page", "payload", 7);
    assert_false(opens(&other_keys, "page", token));
    assert_false(opens(&keys, "link", token));
    assert_false(opens(&keys, "", token));
    assert_string_not_equal(token, token_seal(arena, &keys, "link", "payload", 7));
    /* The end of the purpose is part of the hashed bytes. */
    token = token_seal(arena, &keys, "ab", "c", 1);
    assert_string_not_equal(token, token_seal(arena, &keys, "a", "bc", 2));
    assert_false(opens(&keys, "a", token));

    /* Each of the two derived keys is needed. */
    struct token_keys mixed = keys;
    memcpy(mixed.tag, other_keys.tag, sizeof(mixed.tag));
    assert_false(opens(&mixed, "ab", token));
    mixed = keys;
    memcpy(mixed.cipher, other_keys.cipher, sizeof(mixed.cipher));
    assert_false(opens(&mixed, "ab", token));
    assert_memory_not_equal(keys.tag, keys.cipher, sizeof(keys.tag));
}

static void test_changes_are_seen(void **state)
{
    (void)state;
    const char *token = token_seal(arena, &keys, "page", "some payload", 12);
    size_t size;
    unsigned char *bytes = base64url_decode(arena, token, &size);
    assert_int_equal(size, TOKEN_TAG_BYTES + 12);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            assert_false(opens(&keys, "page", base64url_encode(arena, bytes, size)));
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    assert_true(opens(&keys, "page", base64url_encode(arena, bytes, size)));
    for (size_t shorter = 0; shorter < size; shorter++)
        assert_false(opens(&keys, "page", base64url_encode(arena, bytes, shorter)));
    assert_false(opens(&keys, "page", arena_printf(arena, "%sAA", token)));
    assert_false(opens(&keys, "page", arena_printf(arena, "%s=", token)));
    assert_false(opens(&keys, "page", ""));
    assert_false(opens(&keys, "page", "not a token"));
}

/* Counts how often each bit of the tokens of consecutive numbers is set. A bit that shows a number is set always, never, or as the
 * number counts. */
static void test_numbers_do_not_show(void **state)
{
    (void)state;
    enum { TOKENS = 4096, BITS = 8 * (TOKEN_TAG_BYTES + sizeof(uint64_t)) };
    int set[BITS] = { 0 };
    int flips[BITS] = { 0 };
    unsigned char before[BITS / 8] = { 0 };
    for (uint64_t number = 1; number <= TOKENS; number++) {
        size_t size;
        unsigned char *bytes = base64url_decode(arena, token_seal(arena, &keys, "page", &number, sizeof(number)), &size);
        for (size_t bit = 0; bit < BITS; bit++) {
            set[bit] += bytes[bit / 8] >> bit % 8 & 1;
            flips[bit] += (bytes[bit / 8] ^ before[bit / 8]) >> bit % 8 & 1;
        }
        memcpy(before, bytes, size);
    }
    /* Half of the tokens; 400 is more than ten standard deviations, and the tokens of the fixed keys never change. */
    for (size_t bit = 0; bit < BITS; bit++) {
        if (set[bit] < TOKENS / 2 - 400 || set[bit] > TOKENS / 2 + 400)
            fail_msg("bit %zu is set in %d of %d tokens", bit, set[bit], (int)TOKENS);
        if (flips[bit] < TOKENS / 2 - 400 || flips[bit] > TOKENS / 2 + 400)
            fail_msg("bit %zu changes in %d of %d tokens", bit, flips[bit], (int)TOKENS);
    }
}

/* A message that is composed again has the same bytes. */
static void test_equal_payloads_have_equal_tokens(void **state)
{
    (void)state;
    assert_string_equal(token_seal(arena, &keys, "page", "payload", 7), token_seal(arena, &keys, "page", "payload", 7));
}

/* The form of tokens does not change: links in delivered mail stay valid. */
static void test_the_form_of_a_token(void **state)
{
    (void)state;
    const char *token = token_seal(arena, &keys, "unsubscribe", "payload", 7);
    assert_string_equal(token, "bH_1J6FFbGnk2XaNy5fey4maMI2Jnjk");
}

/* ---- Short tokens ---- */

static void assert_easy_to_copy(const char *token)
{
    assert_int_equal(strlen(token), TOKEN_SHORT_CHARS);
    for (size_t i = TOKEN_SHORT_PREFIX_CHARS; i < TOKEN_SHORT_CHARS; i++) {
        if (token[i] == token[i - 1] || strchr("0o1il2z5s69gq8buv", token[i]) != NULL)
            fail_msg("%s is hard to copy", token);
    }
}

static void test_short_tokens_are_easy_to_copy(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++)
        assert_easy_to_copy(token_short(arena, &keys, "cur_", &i, sizeof(i)));
    assert_easy_to_copy(token_short(arena, &keys, "cur_", "", 0));
}

static void test_short_tokens_name_their_payload(void **state)
{
    (void)state;
    const char *token = token_short(arena, &keys, "cur_", "abc", 3);
    assert_string_equal(token_short(arena, &keys, "cur_", "abc", 3), token);
    assert_string_not_equal(token_short(arena, &keys, "cur_", "abd", 3), token);
    assert_string_not_equal(token_short(arena, &other_keys, "cur_", "abc", 3), token);
    assert_string_not_equal(token_short(arena, &keys, "yes_", "abc", 3) + TOKEN_SHORT_PREFIX_CHARS,
                            token + TOKEN_SHORT_PREFIX_CHARS);
}

/* Every letter of the alphabet occurs at every place, so no place gives its share of the bits away. */
static void test_short_tokens_use_all_letters(void **state)
{
    (void)state;
    bool seen[TOKEN_SHORT_CHARS][128] = { { false } };
    for (int i = 0; i < 2000; i++) {
        const char *token = token_short(arena, &keys, "cur_", &i, sizeof(i));
        for (size_t j = TOKEN_SHORT_PREFIX_CHARS; j < TOKEN_SHORT_CHARS; j++)
            seen[j][(unsigned char)token[j]] = true;
    }
    for (size_t j = TOKEN_SHORT_PREFIX_CHARS; j < TOKEN_SHORT_CHARS; j++) {
        int letters = 0;
        for (int letter = 0; letter < 128; letter++)
            letters += seen[j][letter];
        assert_int_equal(letters, 19);
    }
}

static void test_the_form_of_a_short_token(void **state)
{
    (void)state;
    const char *token = token_short(arena, &keys, "cur_", "abc", 3);
    assert_true(token_short_is_well_formed("cur_", token));
    assert_false(token_short_is_well_formed("yes_", token));
    char *changed = arena_dup(arena, token);
    changed[TOKEN_SHORT_CHARS - 1] = '\0';
    assert_false(token_short_is_well_formed("cur_", changed));
    changed[TOKEN_SHORT_CHARS - 1] = '0';
    assert_false(token_short_is_well_formed("cur_", changed));
    assert_false(token_short_is_well_formed("cur_", arena_printf(arena, "%s3", token)));
    assert_false(token_short_is_well_formed("cur_", ""));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* ---- Tokens of links (A-52) ---- */

static const char *link_token(const struct token_owner *owner, uint16_t number)
{
    char *token = arena_alloc(arena, TOKEN_LINK_CHARS + 1);
    assert_true(token_owner_write(&keys, owner, token));
    token_number_write(&keys, token, number, token + TOKEN_OWNER_CHARS);
    return token;
}

static void test_tokens_of_links_come_back(void **state)
{
    (void)state;
    static const int64_t values[] = { 0, 1, 255, 256, INT64_C(0xFFFFFFFFFF) };
    static const uint16_t numbers[] = { 0, 1, 999, UINT16_MAX };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
            const struct token_owner owner = { values[i], values[4 - i], values[(i + 2) % 5] };
            struct token_owner read;
            uint16_t number;
            const char *token = link_token(&owner, numbers[j]);
            assert_int_equal(strlen(token), TOKEN_LINK_CHARS);
            assert_string_equal(percent_encode(arena, token), token);
            assert_true(token_link_open(&keys, token, &read, &number));
            assert_memory_equal(&read, &owner, sizeof(owner));
            assert_int_equal(number, numbers[j]);
            assert_false(token_link_open(&other_keys, token, &read, &number));
        }
}

static void test_too_large_numbers_have_no_token(void **state)
{
    (void)state;
    char text[TOKEN_OWNER_CHARS + 1];
    assert_false(token_owner_write(&keys, &(struct token_owner){ INT64_C(1) << 40, 1, 1 }, text));
    assert_false(token_owner_write(&keys, &(struct token_owner){ 1, INT64_C(1) << 40, 1 }, text));
    assert_false(token_owner_write(&keys, &(struct token_owner){ 1, 1, -1 }, text));
}

static void test_a_changed_token_of_a_link_does_not_open(void **state)
{
    (void)state;
    const struct token_owner owner = { 2, 5, 17 };
    struct token_owner read;
    uint16_t number;
    for (size_t at = 0; at < TOKEN_LINK_CHARS; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            char *token = arena_dup(arena, link_token(&owner, 3));
            token[at] ^= (char)(1U << bit);
            assert_false(token_link_open(&keys, token, &read, &number));
        }
    /* The number of another recipient's link does not fit. */
    char *mixed = arena_dup(arena, link_token(&owner, 3));
    memcpy(mixed + TOKEN_OWNER_CHARS, link_token(&(struct token_owner){ 2, 5, 18 }, 3) + TOKEN_OWNER_CHARS, TOKEN_NUMBER_CHARS);
    assert_false(token_link_open(&keys, mixed, &read, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tokens_come_back),
        TEST(test_the_length),
        TEST(test_bound_to_keys_and_purpose),
        TEST(test_changes_are_seen),
        TEST(test_numbers_do_not_show),
        TEST(test_equal_payloads_have_equal_tokens),
        TEST(test_the_form_of_a_token),
        TEST(test_short_tokens_are_easy_to_copy),
        TEST(test_short_tokens_name_their_payload),
        TEST(test_short_tokens_use_all_letters),
        TEST(test_the_form_of_a_short_token),
        cmocka_unit_test_setup_teardown(test_tokens_of_links_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_large_numbers_have_no_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_changed_token_of_a_link_does_not_open, setup, teardown),
    };
    return cmocka_run_group_tests_name("crypto: tokens", tests, begin, NULL);
}
