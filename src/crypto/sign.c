#include "crypto/sign.h"

#include "base/panic.h"

#include "crypto/secret.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

struct sign_key {
    enum sign_algorithm algorithm;
    EVP_PKEY *pkey;
};

struct sign_context {
    enum sign_algorithm algorithm;
    EVP_PKEY_CTX *rsa;   /* ready to sign digests */
    EVP_MD_CTX *ed25519; /* ready to sign messages */
};

struct digest {
    EVP_MD_CTX *context;
};

/* The message of OpenSSL is the private cause, which is only logged. */
static bool fail_openssl(struct error *err, const char *what)
{
    char reason[256];
    ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
    ERR_clear_error();
    fail(err, ERR_INTERNAL_ERROR, NULL, "A signing key cannot be used.");
    return error_because(err, "%s: %s", what, reason);
}

/* ---- Keys ---- */

static void release_pkey(void *object)
{
    EVP_PKEY_free(object); /* wipes private parts */
}

static struct sign_key *key_in_arena(struct arena *arena, enum sign_algorithm algorithm, EVP_PKEY *pkey)
{
    struct sign_key *key = arena_alloc(arena, sizeof(*key));
    *key = (struct sign_key){ .algorithm = algorithm, .pkey = pkey };
    arena_defer(arena, release_pkey, pkey);
    return key;
}

bool sign_key_generate(struct arena *arena, enum sign_algorithm algorithm, struct sign_key **ret_key, struct error *err)
{
    EVP_PKEY *pkey = algorithm == SIGN_RSA_SHA256 ? EVP_RSA_gen((size_t)SIGN_RSA_BITS) : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    if (pkey == NULL)
        return fail_openssl(err, "generate");
    *ret_key = key_in_arena(arena, algorithm, pkey);
    return true;
}

/* NULL when the bytes are not an RSA key, or its size is not allowed in DKIM. */
static EVP_PKEY *read_rsa(struct bytes der)
{
    const unsigned char *at = der.data;
    EVP_PKEY *pkey = d2i_AutoPrivateKey(NULL, &at, (long)der.size);
    if (pkey == NULL || (EVP_PKEY_is_a(pkey, "RSA") == 1 && EVP_PKEY_get_bits(pkey) >= SIGN_RSA_MIN_BITS &&
                         EVP_PKEY_get_bits(pkey) <= SIGN_RSA_MAX_BITS))
        return pkey;
    EVP_PKEY_free(pkey);
    return NULL;
}

bool sign_key_load(struct arena *arena, enum sign_algorithm algorithm, struct bytes private_key, struct sign_key **ret_key,
                   struct error *err)
{
    EVP_PKEY *pkey = algorithm == SIGN_RSA_SHA256
                         ? read_rsa(private_key)
                         : EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key.data, private_key.size);
    if (pkey == NULL)
        return fail_openssl(err, "load");
    *ret_key = key_in_arena(arena, algorithm, pkey);
    return true;
}

static void free_pkcs8(PKCS8_PRIV_KEY_INFO **info)
{
    PKCS8_PRIV_KEY_INFO_free(*info);
}

static bool rsa_private(struct arena *arena, const struct sign_key *key, struct bytes *ret_private, struct error *err)
{
    CLEANUP(free_pkcs8) PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key->pkey);
    int size = info != NULL ? i2d_PKCS8_PRIV_KEY_INFO(info, NULL) : 0;
    if (size <= 0)
        return fail_openssl(err, "write the private key");
    unsigned char *der = secret_alloc(arena, (size_t)size);
    unsigned char *at = der;
    if (i2d_PKCS8_PRIV_KEY_INFO(info, &at) != size)
        return fail_openssl(err, "write the private key");
    *ret_private = (struct bytes){ der, (size_t)size };
    return true;
}

bool sign_key_private(struct arena *arena, const struct sign_key *key, struct bytes *ret_private, struct error *err)
{
    if (key->algorithm == SIGN_RSA_SHA256)
        return rsa_private(arena, key, ret_private, err);
    size_t size = SIGN_ED25519_KEY_BYTES;
    unsigned char *seed = secret_alloc(arena, size);
    if (EVP_PKEY_get_raw_private_key(key->pkey, seed, &size) != 1)
        return fail_openssl(err, "write the private key");
    *ret_private = (struct bytes){ seed, size };
    return true;
}

bool sign_key_public(struct arena *arena, const struct sign_key *key, struct bytes *ret_public, struct error *err)
{
    if (key->algorithm == SIGN_ED25519) {
        size_t size = SIGN_ED25519_KEY_BYTES;
        unsigned char *point = arena_alloc(arena, size);
        if (EVP_PKEY_get_raw_public_key(key->pkey, point, &size) != 1)
            return fail_openssl(err, "write the public key");
        *ret_public = (struct bytes){ point, size };
        return true;
    }
    int size = i2d_PUBKEY(key->pkey, NULL);
    if (size <= 0)
        return fail_openssl(err, "write the public key");
    unsigned char *der = arena_alloc(arena, (size_t)size);
    unsigned char *at = der;
    if (i2d_PUBKEY(key->pkey, &at) != size)
        return fail_openssl(err, "write the public key");
    *ret_public = (struct bytes){ der, (size_t)size };
    return true;
}

/* ---- Signing ---- */

static void release_context(void *object)
{
    struct sign_context *context = object;
    EVP_PKEY_CTX_free(context->rsa);
    EVP_MD_CTX_free(context->ed25519);
}

static bool begin_rsa(struct sign_context *context, EVP_PKEY *pkey)
{
    context->rsa = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
    return context->rsa != NULL && EVP_PKEY_sign_init(context->rsa) == 1 &&
           EVP_PKEY_CTX_set_rsa_padding(context->rsa, RSA_PKCS1_PADDING) == 1 &&
           EVP_PKEY_CTX_set_signature_md(context->rsa, EVP_sha256()) == 1;
}

static bool begin_ed25519(struct sign_context *context, EVP_PKEY *pkey)
{
    context->ed25519 = EVP_MD_CTX_new();
    return context->ed25519 != NULL && EVP_DigestSignInit(context->ed25519, NULL, NULL, NULL, pkey) == 1;
}

struct sign_context *sign_context_new(struct arena *arena, const struct sign_key *key)
{
    struct sign_context *context = arena_alloc(arena, sizeof(*context));
    arena_defer(arena, release_context, context);
    context->algorithm = key->algorithm;
    /* A loaded key can sign, so a failure means that memory is exhausted. */
    if (!(key->algorithm == SIGN_RSA_SHA256 ? begin_rsa(context, key->pkey) : begin_ed25519(context, key->pkey)))
        panic(PANIC_NO_MEMORY);
    return context;
}

bool sign_digest(struct sign_context *context, const unsigned char digest[DIGEST_BYTES], unsigned char *ret_signature,
                 size_t *ret_size, struct error *err)
{
    *ret_size = SIGN_MAX_BYTES;
    int done = context->algorithm == SIGN_RSA_SHA256
                   ? EVP_PKEY_sign(context->rsa, ret_signature, ret_size, digest, DIGEST_BYTES)
                   : EVP_DigestSign(context->ed25519, ret_signature, ret_size, digest, DIGEST_BYTES);
    return done == 1 || fail_openssl(err, "sign");
}

void sign_text(const unsigned char *bytes, size_t size, char *ret_text)
{
    EVP_EncodeBlock((unsigned char *)ret_text, bytes, (int)size);
}

/* ---- Incremental SHA-256 ---- */

static void release_digest(void *object)
{
    EVP_MD_CTX_free(object);
}

struct digest *digest_new(struct arena *arena)
{
    struct digest *digest = arena_alloc(arena, sizeof(*digest));
    digest->context = EVP_MD_CTX_new();
    if (digest->context == NULL || EVP_DigestInit_ex2(digest->context, EVP_sha256(), NULL) != 1)
        panic(PANIC_NO_MEMORY);
    arena_defer(arena, release_digest, digest->context);
    return digest;
}

/* SHA-256 itself cannot fail; only digest_new allocates memory. */
static void require(int done)
{
    if (done != 1)
        panic(PANIC_NO_MEMORY);
}

void digest_begin(struct digest *digest)
{
    require(EVP_DigestInit_ex2(digest->context, NULL, NULL));
}

void digest_add(struct digest *digest, const void *bytes, size_t size)
{
    require(EVP_DigestUpdate(digest->context, bytes, size));
}

void digest_continue(struct digest *digest, const struct digest *from)
{
    require(EVP_MD_CTX_copy_ex(digest->context, from->context));
}

void digest_end(struct digest *digest, unsigned char ret_hash[DIGEST_BYTES])
{
    unsigned int size = DIGEST_BYTES;
    require(EVP_DigestFinal_ex(digest->context, ret_hash, &size));
}
