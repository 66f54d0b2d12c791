#include "crypto/seal.h"

#include "crypto/secret.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

enum {
    VERSION = 1,
    HEAD_BYTES = 2,
    NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
};

static_assert(SEAL_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "a master key is a key of the cipher");
static_assert((int)SEAL_OVERHEAD_BYTES == (int)HEAD_BYTES + (int)NONCE_BYTES + (int)TAG_BYTES, "the overhead of a sealed value");

struct seal_ring {
    struct {
        int id;
        unsigned char key[SEAL_KEY_BYTES];
    } keys[SEAL_MAX_KEYS];
    size_t count;
};

struct seal_ring *seal_ring_new(struct arena *arena)
{
    return secret_alloc(arena, sizeof(struct seal_ring));
}

static const unsigned char *find_key(const struct seal_ring *ring, int id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id == id)
            return ring->keys[i].key;
    return NULL;
}

bool seal_ring_add(struct seal_ring *ring, int id, const unsigned char key[SEAL_KEY_BYTES])
{
    if (ring->count == SEAL_MAX_KEYS || id < 1 || id > SEAL_MAX_KEY_ID || find_key(ring, id) != NULL)
        return false;
    ring->keys[ring->count].id = id;
    memcpy(ring->keys[ring->count].key, key, SEAL_KEY_BYTES);
    ring->count++;
    return true;
}

size_t seal_ring_count(const struct seal_ring *ring)
{
    return ring->count;
}

int seal_ring_newest(const struct seal_ring *ring)
{
    return ring->count > 0 ? ring->keys[ring->count - 1].id : 0;
}

int seal_ring_next(const struct seal_ring *ring)
{
    int highest = 0;
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id > highest)
            highest = ring->keys[i].id;
    return ring->count < SEAL_MAX_KEYS && highest < SEAL_MAX_KEY_ID ? highest + 1 : 0;
}

static void fingerprint_of(const unsigned char *key, unsigned char ret_fingerprint[SEAL_FINGERPRINT_BYTES])
{
    static const unsigned char what[] = "fingerprint of a master key";
    crypto_generichash(ret_fingerprint, SEAL_FINGERPRINT_BYTES, what, sizeof(what), key, SEAL_KEY_BYTES);
}

void seal_ring_fingerprint(const struct seal_ring *ring, unsigned char ret_fingerprint[SEAL_FINGERPRINT_BYTES])
{
    fingerprint_of(ring->keys[ring->count - 1].key, ret_fingerprint);
}

bool seal_ring_has(const struct seal_ring *ring, int id, struct bytes fingerprint)
{
    unsigned char own[SEAL_FINGERPRINT_BYTES];
    const unsigned char *key = find_key(ring, id);
    if (key == NULL || fingerprint.size != sizeof(own))
        return false;
    fingerprint_of(key, own);
    return memcmp(own, fingerprint.data, sizeof(own)) == 0;
}

int sealed_key_id(struct bytes sealed)
{
    return sealed.size >= SEAL_OVERHEAD_BYTES && sealed.data[0] == VERSION ? sealed.data[1] : 0;
}

/* The associated data of the cipher: head, purpose and identity. A zero byte separates purpose and identity. */
static struct bytes associated_data(struct arena *arena, const unsigned char head[HEAD_BYTES], const char *purpose,
                                    const char *identity)
{
    size_t purpose_size = strlen(purpose) + 1;
    size_t identity_size = strlen(identity);
    unsigned char *associated = arena_alloc(arena, HEAD_BYTES + purpose_size + identity_size);
    memcpy(associated, head, HEAD_BYTES);
    memcpy(associated + HEAD_BYTES, purpose, purpose_size);
    memcpy(associated + HEAD_BYTES + purpose_size, identity, identity_size);
    return (struct bytes){ associated, HEAD_BYTES + purpose_size + identity_size };
}

struct bytes seal(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity, struct bytes secret)
{
    unsigned char *sealed = arena_alloc(arena, SEAL_OVERHEAD_BYTES + secret.size);
    unsigned char *nonce = sealed + HEAD_BYTES;
    sealed[0] = VERSION;
    sealed[1] = (unsigned char)seal_ring_newest(ring);
    randombytes_buf(nonce, NONCE_BYTES);
    struct bytes associated = associated_data(arena, sealed, purpose, identity);
    crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE_BYTES, NULL, secret.data, secret.size, associated.data,
                                               associated.size, NULL, nonce, find_key(ring, sealed[1]));
    return (struct bytes){ sealed, SEAL_OVERHEAD_BYTES + secret.size };
}

static bool fail_open_secret(struct error *err)
{
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "A secret of this installation cannot be decrypted.");
}

bool seal_open(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity, struct bytes sealed,
               struct bytes *ret_secret, struct error *err)
{
    if (sealed.size < SEAL_OVERHEAD_BYTES || sealed.data[0] != VERSION)
        return fail_open_secret(err) || error_because(err, "%s %s is not a sealed value", purpose, identity);
    int id = sealed.data[1];
    const unsigned char *key = find_key(ring, id);
    if (key == NULL)
        return fail_open_secret(err) ||
               error_because(err, "%s %s is sealed with master key %d, which is not in the key file", purpose, identity, id);
    const unsigned char *nonce = sealed.data + HEAD_BYTES;
    size_t size = sealed.size - SEAL_OVERHEAD_BYTES;
    unsigned char *secret = secret_alloc(arena, size);
    struct bytes associated = associated_data(arena, sealed.data, purpose, identity);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(secret, NULL, NULL, nonce + NONCE_BYTES, size + TAG_BYTES, associated.data,
                                                   associated.size, nonce, key) != 0)
        return fail_open_secret(err) ||
               error_because(err, "%s %s was sealed with another master key %d or for another row, or was changed", purpose,
                             identity, id);
    *ret_secret = (struct bytes){ secret, size };
    return true;
}
