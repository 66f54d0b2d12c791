#include "crypto/keys.h"

#include "base/panic.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const char key_prefix[] = "ph_";
static const char session_prefix[] = "phs_";
static const char key_digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void crypto_start(void)
{
    if (sodium_init() < 0)
        panic("libsodium cannot be initialized");
}

void random_bytes(void *bytes, size_t size)
{
    randombytes_buf(bytes, size);
}

static char *credential_new(struct arena *arena, const char *prefix)
{
    size_t prefix_size = strlen(prefix);
    char *secret = arena_alloc(arena, prefix_size + CREDENTIAL_DIGITS + 1);
    memcpy(secret, prefix, prefix_size);
    for (size_t i = 0; i < CREDENTIAL_DIGITS; i++)
        secret[prefix_size + i] = key_digits[randombytes_uniform((uint32_t)strlen(key_digits))];
    return secret;
}

static bool credential_is_well_formed(const char *text, const char *prefix)
{
    size_t prefix_size = strlen(prefix);
    return strncmp(text, prefix, prefix_size) == 0 && strlen(text) == prefix_size + CREDENTIAL_DIGITS &&
           strspn(text + prefix_size, key_digits) == CREDENTIAL_DIGITS;
}

char *api_key_new(struct arena *arena)
{
    return credential_new(arena, key_prefix);
}

bool api_key_is_well_formed(const char *text)
{
    return credential_is_well_formed(text, key_prefix);
}

char *session_token_new(struct arena *arena)
{
    return credential_new(arena, session_prefix);
}

bool session_token_is_well_formed(const char *text)
{
    return credential_is_well_formed(text, session_prefix);
}

void sha256(const void *bytes, size_t size, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    crypto_hash_sha256(ret_hash, bytes, size);
}

void secret_hash(const char *secret, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    sha256(secret, strlen(secret), ret_hash);
}

void address_hash(const unsigned char key[ADDRESS_KEY_BYTES], const char *address, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    crypto_generichash(ret_hash, SECRET_HASH_BYTES, (const unsigned char *)address, strlen(address), key, ADDRESS_KEY_BYTES);
}
