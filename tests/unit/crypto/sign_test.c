/* Signing keys: validity, storage, and signatures by their standards. */
#include "crypto/sign.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <pthread.h>

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

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static struct sign_key *generate(enum sign_algorithm algorithm)
{
    struct error err = { .code = ERR_NONE };
    struct sign_key *key = NULL;
    if (!sign_key_generate(arena, algorithm, &key, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return key;
}

static struct bytes public_of(const struct sign_key *key)
{
    struct error err = { .code = ERR_NONE };
    struct bytes bytes = { NULL, 0 };
    assert_true(sign_key_public(arena, key, &bytes, &err));
    return bytes;
}

static struct bytes private_of(const struct sign_key *key)
{
    struct error err = { .code = ERR_NONE };
    struct bytes bytes = { NULL, 0 };
    assert_true(sign_key_private(arena, key, &bytes, &err));
    return bytes;
}

static size_t sign(const struct sign_key *key, const unsigned char digest[DIGEST_BYTES], unsigned char *ret_signature)
{
    struct error err = { .code = ERR_NONE };
    size_t size = 0;
    assert_true(sign_digest(sign_context_new(arena, key), digest, ret_signature, &size, &err));
    return size;
}

static void test_rsa_keys_are_read_by_openssl(void **state)
{
    (void)state;
    struct sign_key *key = generate(SIGN_RSA_SHA256);
    struct bytes public = public_of(key);
    const unsigned char *at = public.data;
    EVP_PKEY *pkey = d2i_PUBKEY(NULL, &at, (long)public.size);
    assert_non_null(pkey);
    assert_int_equal(EVP_PKEY_get_bits(pkey), 2048);

    unsigned char hash[DIGEST_BYTES];
    unsigned char signature[SIGN_MAX_BYTES];
    struct digest *digest = digest_new(arena);
    digest_begin(digest);
    digest_add(digest, "some", 4);
    digest_add(digest, " words", 6);
    digest_end(digest, hash);
    size_t size = sign(key, hash, signature);
    assert_int_equal(size, 256);

    EVP_MD_CTX *verify = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(verify, NULL, EVP_sha256(), NULL, pkey), 1);
    assert_int_equal(EVP_DigestVerify(verify, signature, size, (const unsigned char *)"some words", 10), 1);
    EVP_MD_CTX_free(verify);
    EVP_PKEY_free(pkey);
}

/* Keys that were stored and loaded are the same keys: both signatures are deterministic. */
static void test_keys_survive_being_stored(void **state)
{
    (void)state;
    static const unsigned char digest[DIGEST_BYTES] = { 1, 2, 3 };
    static const enum sign_algorithm algorithms[] = { SIGN_RSA_SHA256, SIGN_ED25519 };
    for (size_t i = 0; i < ARRAY_COUNT(algorithms); i++) {
        struct error err = { .code = ERR_NONE };
        unsigned char first[SIGN_MAX_BYTES];
        unsigned char second[SIGN_MAX_BYTES];
        struct sign_key *key = generate(algorithms[i]);
        struct sign_key *again = NULL;
        assert_true(sign_key_load(arena, algorithms[i], private_of(key), &again, &err));
        size_t size = sign(key, digest, first);
        assert_int_equal(sign(again, digest, second), size);
        assert_memory_equal(first, second, size);
        assert_int_equal(public_of(key).size, public_of(again).size);
        assert_memory_equal(public_of(key).data, public_of(again).data, public_of(key).size);
    }
}

/* One context signs any number of digests, and the order does not matter. */
static void test_contexts_are_used_again(void **state)
{
    (void)state;
    static const enum sign_algorithm algorithms[] = { SIGN_RSA_SHA256, SIGN_ED25519 };
    for (size_t i = 0; i < ARRAY_COUNT(algorithms); i++) {
        struct error err = { .code = ERR_NONE };
        struct sign_key *key = generate(algorithms[i]);
        struct sign_context *context = sign_context_new(arena, key);
        for (unsigned char round = 0; round < 20; round++) {
            unsigned char digest[DIGEST_BYTES] = { (unsigned char)(round % 3) };
            unsigned char first[SIGN_MAX_BYTES];
            unsigned char second[SIGN_MAX_BYTES];
            size_t size = 0;
            assert_true(sign_digest(context, digest, first, &size, &err));
            assert_int_equal(sign(key, digest, second), size);
            assert_memory_equal(first, second, size);
        }
    }
}

struct shared_work {
    const struct sign_key *key;
    size_t good;
};

enum { SHARED_ROUNDS = 50 };

static void *sign_in_thread(void *object)
{
    static const unsigned char digest[DIGEST_BYTES] = { 7 };
    struct shared_work *shared = object;
    struct error err = { .code = ERR_NONE };
    ARENA_SCOPE own = arena_new(0);
    struct sign_context *context = sign_context_new(own, shared->key);
    unsigned char first[SIGN_MAX_BYTES];
    unsigned char again[SIGN_MAX_BYTES];
    size_t size = 0;
    for (int i = 0; i < SHARED_ROUNDS; i++) {
        unsigned char *signature = i == 0 ? first : again;
        if (sign_digest(context, digest, signature, &size, &err) && memcmp(first, signature, size) == 0)
            shared->good++;
    }
    return NULL;
}

static void test_threads_share_a_key(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct shared_work shared[THREADS];
    pthread_t threads[THREADS];
    struct sign_key *key = generate(SIGN_RSA_SHA256);
    for (int i = 0; i < THREADS; i++) {
        shared[i] = (struct shared_work){ .key = key };
        assert_int_equal(pthread_create(&threads[i], NULL, sign_in_thread, &shared[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(shared[i].good, SHARED_ROUNDS);
    }
}

static void test_a_digest_goes_on_from_another(void **state)
{
    (void)state;
    unsigned char hash[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES + 1];
    struct digest *first = digest_new(arena);
    struct digest *second = digest_new(arena);
    digest_begin(first);
    digest_add(first, "ab", 2);
    for (int round = 0; round < 2; round++) {
        digest_continue(second, first);
        digest_add(second, "c", 1);
        digest_end(second, hash);
        hex_encode(hash, sizeof(hash), hex);
        /* FIPS 180-4, the example "abc". */
        assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

static void assert_not_loaded(enum sign_algorithm algorithm, const void *bytes, size_t size)
{
    struct error err = { .code = ERR_NONE };
    struct sign_key *key = NULL;
    assert_false(sign_key_load(arena, algorithm, (struct bytes){ bytes, size }, &key, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
}

static void test_what_is_no_key_is_refused(void **state)
{
    (void)state;
    struct bytes ed25519 = private_of(generate(SIGN_ED25519));
    struct bytes rsa = private_of(generate(SIGN_RSA_SHA256));
    assert_not_loaded(SIGN_RSA_SHA256, "no key", 6);
    assert_not_loaded(SIGN_RSA_SHA256, rsa.data, rsa.size / 2);
    assert_not_loaded(SIGN_RSA_SHA256, ed25519.data, ed25519.size);
    assert_not_loaded(SIGN_ED25519, rsa.data, rsa.size);
    assert_not_loaded(SIGN_ED25519, ed25519.data, ed25519.size - 1);
}

/* RFC 8301 §3.2: less than 1024 bits never; and nothing that a TXT record does not hold. */
static void test_rsa_keys_of_wrong_sizes_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = { 768, 5120 };
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        EVP_PKEY *pkey = EVP_RSA_gen(sizes[i]);
        unsigned char *der = NULL;
        int size = i2d_PrivateKey(pkey, &der);
        assert_true(size > 0);
        assert_not_loaded(SIGN_RSA_SHA256, der, (size_t)size);
        OPENSSL_free(der);
        EVP_PKEY_free(pkey);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rsa_keys_are_read_by_openssl),
        TEST(test_keys_survive_being_stored),
        TEST(test_contexts_are_used_again),
        TEST(test_threads_share_a_key),
        TEST(test_a_digest_goes_on_from_another),
        TEST(test_what_is_no_key_is_refused),
        TEST(test_rsa_keys_of_wrong_sizes_are_refused),
    };
    return cmocka_run_group_tests_name("crypto: signatures", tests, NULL, NULL);
}
