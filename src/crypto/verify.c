#include "crypto/verify.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

enum { RSA_MIN_BITS = 2048, GROUP_NAME_BYTES = 32 };

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void free_certificate(X509 **certificate)
{
    X509_free(*certificate);
}

static enum verify_outcome check_signature(EVP_PKEY *key, const EVP_MD *hash, struct bytes message, struct bytes signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context != NULL && EVP_DigestVerifyInit(context, NULL, hash, NULL, key) == 1 &&
              EVP_DigestVerify(context, signature.data, signature.size, message.data, message.size) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return ok ? VERIFY_OK : VERIFY_WRONG;
}

/* ---- Certificates ---- */

static X509 *read_certificate(struct bytes pem)
{
    if (pem.size > INT_MAX)
        return NULL;
    BIO *memory = BIO_new_mem_buf(pem.data, (int)pem.size);
    X509 *certificate = memory != NULL ? PEM_read_bio_X509(memory, NULL, NULL, NULL) : NULL;
    BIO_free(memory);
    ERR_clear_error();
    return certificate;
}

static bool is_valid_at(const X509 *certificate, int64_t now_s)
{
    time_t now = (time_t)now_s;
    return X509_cmp_time(X509_get0_notBefore(certificate), &now) < 0 && X509_cmp_time(X509_get0_notAfter(certificate), &now) > 0;
}

enum verify_outcome verify_by_certificate(struct bytes pem, int64_t now_s, enum verify_hash hash, struct bytes message,
                                          struct bytes signature)
{
    CLEANUP(free_certificate) X509 *certificate = read_certificate(pem);
    if (certificate == NULL)
        return VERIFY_NO_KEY;
    if (!is_valid_at(certificate, now_s))
        return VERIFY_OUT_OF_DATE;
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < RSA_MIN_BITS)
        return VERIFY_NO_KEY;
    return check_signature(key, hash == VERIFY_SHA1 ? EVP_sha1() : EVP_sha256(), message, signature);
}

/* ---- P-256 ---- */

static EVP_PKEY *read_p256(struct bytes key)
{
    const unsigned char *at = key.data;
    EVP_PKEY *read = key.size > 0 && key.size <= LONG_MAX ? d2i_PUBKEY(NULL, &at, (long)key.size) : NULL;
    char group[GROUP_NAME_BYTES] = "";
    size_t size;
    bool is_p256 = read != NULL && at == key.data + key.size && EVP_PKEY_get_base_id(read) == EVP_PKEY_EC &&
                   EVP_PKEY_get_group_name(read, group, sizeof(group), &size) == 1 && strcmp(group, "prime256v1") == 0;
    ERR_clear_error();
    if (is_p256)
        return read;
    EVP_PKEY_free(read);
    return NULL;
}

bool verify_key_is_p256(struct bytes key)
{
    CLEANUP(free_key) EVP_PKEY *read = read_p256(key);
    return read != NULL;
}

enum verify_outcome verify_p256(struct bytes key, struct bytes message, struct bytes signature)
{
    CLEANUP(free_key) EVP_PKEY *read = read_p256(key);
    return read != NULL ? check_signature(read, EVP_sha256(), message, signature) : VERIFY_NO_KEY;
}

/* ---- Shared secrets ---- */

void verify_hmac_sha256(struct bytes key, struct bytes message, unsigned char ret_mac[VERIFY_HMAC_BYTES])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key.data, key.size);
    crypto_auth_hmacsha256_update(&state, message.data, message.size);
    crypto_auth_hmacsha256_final(&state, ret_mac);
    sodium_memzero(&state, sizeof(state));
}

bool verify_equal(const void *left, const void *right, size_t size)
{
    return CRYPTO_memcmp(left, right, size) == 0;
}
