/*
 * Signatures of other services (D-119): by the key of a certificate, within its time,
 * and by a key of P-256. Keys and certificates are made here.
 */
#include "base/arena.h"
#include "crypto/verify.h"
#include "fixtures/temp_folder.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

enum { NOW_S = 1800000000, DAY_S = 86400 };

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

static struct bytes text_bytes(const char *text)
{
    return (struct bytes){ (const unsigned char *)text, strlen(text) };
}

static struct bytes keep(const void *data, size_t size)
{
    return (struct bytes){ (const unsigned char *)arena_dup_bytes(arena, data, size), size };
}

static struct bytes signature_of(EVP_PKEY *key, const EVP_MD *hash, const char *text)
{
    unsigned char signature[1024];
    size_t size = sizeof(signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(context, NULL, hash, NULL, key), 1);
    assert_int_equal(EVP_DigestSign(context, signature, &size, (const unsigned char *)text, strlen(text)), 1);
    EVP_MD_CTX_free(context);
    return keep(signature, size);
}

/* A certificate from `from_s` to `to_s`, as PEM. */
static struct bytes certificate_of(EVP_PKEY *key, time_t from_s, time_t to_s)
{
    X509 *certificate = X509_new();
    ASN1_TIME_set(X509_getm_notBefore(certificate), from_s);
    ASN1_TIME_set(X509_getm_notAfter(certificate), to_s);
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    BIO *memory = BIO_new(BIO_s_mem());
    char *data;
    assert_int_equal(PEM_write_bio_X509(memory, certificate), 1);
    long size = BIO_get_mem_data(memory, &data);
    struct bytes pem = keep(data, (size_t)size);
    BIO_free(memory);
    X509_free(certificate);
    return pem;
}

static void test_certificates(void **state)
{
    (void)state;
    EVP_PKEY *key = EVP_RSA_gen(2048);
    EVP_PKEY *short_key = EVP_RSA_gen(1024);
    EVP_PKEY *ec_key = EVP_EC_gen("P-256");
    struct bytes pem = certificate_of(key, NOW_S - DAY_S, NOW_S + DAY_S);
    struct bytes text = text_bytes("Message\nhello\n");
    struct bytes old = signature_of(key, EVP_sha1(), "Message\nhello\n");
    struct bytes signature = signature_of(key, EVP_sha256(), "Message\nhello\n");
    assert_int_equal(verify_by_certificate(pem, NOW_S, VERIFY_SHA1, text, old), VERIFY_OK);
    assert_int_equal(verify_by_certificate(pem, NOW_S, VERIFY_SHA256, text, signature), VERIFY_OK);
    assert_int_equal(verify_by_certificate(pem, NOW_S, VERIFY_SHA256, text, old), VERIFY_WRONG);
    assert_int_equal(verify_by_certificate(pem, NOW_S, VERIFY_SHA256, text_bytes("Message\nhallo\n"), signature), VERIFY_WRONG);
    assert_int_equal(verify_by_certificate(pem, NOW_S, VERIFY_SHA256, text, (struct bytes){ signature.data, 0 }), VERIFY_WRONG);
    assert_int_equal(verify_by_certificate(pem, NOW_S + 2 * DAY_S, VERIFY_SHA256, text, signature), VERIFY_OUT_OF_DATE);
    assert_int_equal(verify_by_certificate(pem, NOW_S - 2 * DAY_S, VERIFY_SHA256, text, signature), VERIFY_OUT_OF_DATE);
    assert_int_equal(verify_by_certificate(text, NOW_S, VERIFY_SHA256, text, signature), VERIFY_NO_KEY);
    struct bytes weak = certificate_of(short_key, NOW_S - DAY_S, NOW_S + DAY_S);
    struct bytes weak_signature = signature_of(short_key, EVP_sha256(), "Message\nhello\n");
    assert_int_equal(verify_by_certificate(weak, NOW_S, VERIFY_SHA256, text, weak_signature), VERIFY_NO_KEY);
    struct bytes other = certificate_of(ec_key, NOW_S - DAY_S, NOW_S + DAY_S);
    assert_int_equal(verify_by_certificate(other, NOW_S, VERIFY_SHA256, text, signature), VERIFY_NO_KEY);
    EVP_PKEY_free(key);
    EVP_PKEY_free(short_key);
    EVP_PKEY_free(ec_key);
}

static struct bytes public_key_of(EVP_PKEY *key)
{
    unsigned char *der = NULL;
    int size = i2d_PUBKEY(key, &der);
    assert_true(size > 0);
    struct bytes kept = keep(der, (size_t)size);
    OPENSSL_free(der);
    return kept;
}

static void test_p256(void **state)
{
    (void)state;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_PKEY *larger = EVP_EC_gen("P-384");
    struct bytes public_key = public_key_of(key);
    struct bytes signature = signature_of(key, EVP_sha256(), "1700000000[]");
    assert_true(verify_key_is_p256(public_key));
    assert_false(verify_key_is_p256(public_key_of(larger)));
    assert_false(verify_key_is_p256((struct bytes){ public_key.data, public_key.size - 1 }));
    assert_false(verify_key_is_p256((struct bytes){ NULL, 0 }));
    assert_int_equal(verify_p256(public_key, text_bytes("1700000000[]"), signature), VERIFY_OK);
    assert_int_equal(verify_p256(public_key, text_bytes("1700000001[]"), signature), VERIFY_WRONG);
    assert_int_equal(verify_p256(public_key, text_bytes("1700000000[]"), text_bytes("no signature")), VERIFY_WRONG);
    assert_int_equal(verify_p256(text_bytes("no key"), text_bytes(""), signature), VERIFY_NO_KEY);
    EVP_PKEY_free(key);
    EVP_PKEY_free(larger);
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(verify_equal("abc", "abc", 3));
    assert_false(verify_equal("abc", "abd", 3));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_certificates), TEST(test_p256), TEST(test_equal) };
    return cmocka_run_group_tests_name("crypto_verify", tests, NULL, NULL);
}
