/* Keys and fingerprints. */
#include "crypto/keys.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static unsigned char address_key[ADDRESS_KEY_BYTES] = "the key of addresses in a test.";
static unsigned char other_key[ADDRESS_KEY_BYTES] = "the key of addresses in a tesT.";

static int begin(void **state)
{
    (void)state;
    crypto_start();
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

/* ---- Sessions ---- */

static void test_session_tokens(void **state)
{
    (void)state;
    const char *token = session_token_new(arena);
    assert_true(session_token_is_well_formed(token));
    assert_string_not_equal(token, session_token_new(arena));
    assert_false(api_key_is_well_formed(token));
    assert_false(session_token_is_well_formed(api_key_new(arena)));
    assert_false(session_token_is_well_formed(""));
    assert_false(session_token_is_well_formed(arena_printf(arena, "%sa", token)));
}

/* ---- API keys ---- */

static void test_fresh_keys(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    const char *keys[COUNT];
    for (int i = 0; i < COUNT; i++) {
        keys[i] = api_key_new(arena);
        assert_int_equal(strlen(keys[i]), API_KEY_CHARS);
        assert_true(api_key_is_well_formed(keys[i]));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    }
    /* All 32 digits occur, so the whole alphabet is drawn from. */
    char seen[33] = "";
    for (int i = 0; i < COUNT; i++)
        for (const char *digit = keys[i] + 3; *digit != '\0'; digit++)
            if (strchr(seen, *digit) == NULL)
                seen[strlen(seen)] = *digit;
    assert_int_equal(strlen(seen), 32);
}

static void test_the_form_of_a_key(void **state)
{
    (void)state;
    char *key = api_key_new(arena);
    assert_false(api_key_is_well_formed(arena_printf(arena, "%s0", key)));
    assert_false(api_key_is_well_formed(arena_printf(arena, "%s ", key)));
    assert_false(api_key_is_well_formed(arena_printf(arena, " %s", key)));
    assert_false(api_key_is_well_formed(key + 1));
    assert_false(api_key_is_well_formed(""));
    assert_false(api_key_is_well_formed("ph_"));
    for (size_t i = 0; i < API_KEY_CHARS; i++) {
        char *changed = arena_dup(arena, key);
        changed[i] = 'U';
        assert_false(api_key_is_well_formed(changed));
        changed[i] = '\0';
        assert_false(api_key_is_well_formed(changed));
    }
}

/* ---- Hashes ---- */

static const char *hex_of(const unsigned char hash[SECRET_HASH_BYTES])
{
    char *hex = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
    hex_encode(hash, SECRET_HASH_BYTES, hex);
    return hex;
}

/* FIPS 180-4, the example "abc". */
static void test_sha256(void **state)
{
    (void)state;
    unsigned char hash[SECRET_HASH_BYTES];
    sha256("abc", 3, hash);
    assert_string_equal(hex_of(hash), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unsigned char secret[SECRET_HASH_BYTES];
    secret_hash("abc", secret);
    assert_memory_equal(secret, hash, sizeof(hash));
    sha256("", 0, hash);
    assert_string_equal(hex_of(hash), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_address_hashes_need_their_key(void **state)
{
    (void)state;
    unsigned char first[SECRET_HASH_BYTES];
    unsigned char again[SECRET_HASH_BYTES];
    address_hash(address_key, "ada@example.com", first);
    address_hash(address_key, "ada@example.com", again);
    assert_memory_equal(first, again, sizeof(first));
    address_hash(other_key, "ada@example.com", again);
    assert_memory_not_equal(first, again, sizeof(first));
    address_hash(address_key, "ada@example.org", again);
    assert_memory_not_equal(first, again, sizeof(first));
}

static void test_random_bytes_differ(void **state)
{
    (void)state;
    unsigned char first[32] = { 0 };
    unsigned char second[32] = { 0 };
    random_bytes(first, sizeof(first));
    random_bytes(second, sizeof(second));
    assert_memory_not_equal(first, second, sizeof(first));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_session_tokens),
        TEST(test_fresh_keys),
        TEST(test_the_form_of_a_key),
        TEST(test_sha256),
        TEST(test_address_hashes_need_their_key),
        TEST(test_random_bytes_differ),
    };
    return cmocka_run_group_tests_name("crypto: keys", tests, begin, NULL);
}
