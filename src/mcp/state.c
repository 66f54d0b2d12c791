/*
 * requestState of 2026-07-28: state that the client carries between two calls.
 * It comes back from outside, so it is sealed (XChaCha20-Poly1305, with a key
 * of this process) together with its expiry, and bound to the caller and the
 * call. Each state is opened once: its nonce is stored until the state expires.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"
#include "mcp/core.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { USED_SLOTS = 16384, USED_PROBES = 64, STATE_MAX_BYTES = 64 * 1024 };

struct used_slot {
    uint64_t tag;
    int64_t expires_us;
};

struct mcp_state_table {
    pthread_mutex_t lock;
    unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
    struct used_slot *used; /* created with the first state */
};

struct mcp_state_table *mcp_state_table_new(void)
{
    struct mcp_state_table *states = calloc(1, sizeof(*states));
    if (states == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&states->lock, NULL);
    return states;
}

void mcp_state_table_free(struct mcp_state_table *states)
{
    sodium_memzero(states->key, sizeof(states->key));
    pthread_mutex_destroy(&states->lock);
    free(states->used);
    free(states);
}

/* The key is created with the first use, so that start-up does no work. */
static void ensure_key(struct mcp_state_table *states)
{
    pthread_mutex_lock(&states->lock);
    if (states->used == NULL) {
        if (sodium_init() < 0)
            panic("libsodium cannot be initialized");
        states->used = calloc(USED_SLOTS, sizeof(*states->used));
        if (states->used == NULL)
            panic(PANIC_NO_MEMORY);
        randombytes_buf(states->key, sizeof(states->key));
    }
    pthread_mutex_unlock(&states->lock);
}

/* The caller, the method and the arguments. A state is valid for exactly these. */
static char *binding(struct mcp_request *request, size_t *ret_size)
{
    json_t *call = json_in_arena(request->arena, json_object());
    static const char *const members[] = { "name", "uri", "arguments" };
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        json_t *member = json_object_get(request->params, members[i]);
        if (member != NULL)
            json_object_set(call, members[i], member);
    }
    const char *secret = request->credentials.secret != NULL ? request->credentials.secret : "";
    const char *brand = request->credentials.brand != NULL ? request->credentials.brand : "";
    char *text = arena_printf(request->arena, "%d\n%d\n%s\n%s\n%s", (int)request->method, (int)request->credentials.kind, secret,
                              brand, json_canonical(request->arena, call));
    *ret_size = strlen(text);
    return text;
}

char *mcp_state_seal(struct mcp_request *request, const char *state_json)
{
    struct mcp_state_table *states = request->server->states;
    ensure_key(states);
    size_t bound_size = 0;
    const char *bound = binding(request, &bound_size);
    int64_t expires_us = clock_monotonic_us() + MCP_STATE_LIFETIME_S * US_PER_S;
    char *plain = arena_printf(request->arena, "{\"expires\":%lld,\"state\":%s}", (long long)expires_us, state_json);
    size_t plain_size = strlen(plain);

    const size_t nonce_size = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
    size_t size = nonce_size + plain_size + crypto_aead_xchacha20poly1305_ietf_ABYTES;
    unsigned char *sealed = arena_alloc(request->arena, size);
    randombytes_buf(sealed, nonce_size);
    crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + nonce_size, NULL, (const unsigned char *)plain, plain_size,
                                               (const unsigned char *)bound, bound_size, NULL, sealed, states->key);
    return base64url_encode(request->arena, sealed, size);
}

/* Stores a nonce until its state expires. False when it was used before, or when the table is full. */
static bool mark_nonce_used(struct mcp_state_table *states, const unsigned char *nonce, int64_t expires_us)
{
    uint64_t tag;
    memcpy(&tag, nonce, sizeof(tag));
    int64_t now_us = clock_monotonic_us();
    bool fresh = false;
    struct used_slot *free_slot = NULL;
    pthread_mutex_lock(&states->lock);
    for (size_t i = 0; i < USED_PROBES; i++) {
        struct used_slot *slot = &states->used[(tag + i) % USED_SLOTS];
        bool is_free = slot->expires_us <= now_us;
        if (is_free && free_slot == NULL)
            free_slot = slot;
        if (!is_free && slot->tag == tag) {
            free_slot = NULL;
            break;
        }
    }
    if (free_slot != NULL) {
        *free_slot = (struct used_slot){ .tag = tag, .expires_us = expires_us };
        fresh = true;
    }
    pthread_mutex_unlock(&states->lock);
    return fresh;
}

const json_t *mcp_state_open(struct mcp_request *request, bool *ret_absent)
{
    struct mcp_state_table *states = request->server->states;
    const json_t *given = json_object_get(request->params, "requestState");
    *ret_absent = given == NULL;
    if (!json_is_string(given) || json_string_length(given) > STATE_MAX_BYTES)
        return NULL;
    ensure_key(states);

    const size_t frame = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES;
    size_t size = 0;
    const unsigned char *sealed = base64url_decode(request->arena, json_string_value(given), &size);
    if (sealed == NULL || size <= frame)
        return NULL;
    const unsigned char *nonce = sealed;
    const unsigned char *cipher = sealed + crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
    size_t bound_size = 0;
    const char *bound = binding(request, &bound_size);
    char *plain = arena_alloc(request->arena, size - frame + 1);
    unsigned long long plain_size = 0;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)plain, &plain_size, NULL, cipher,
                                                   size - crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
                                                   (const unsigned char *)bound, bound_size, nonce, states->key) != 0)
        return NULL;

    const json_t *content = NULL;
    struct error err = { 0 };
    struct json_bounds bounds = { .max_bytes = STATE_MAX_BYTES };
    if (!json_read(request->arena, plain, plain_size, bounds, &content, &err))
        return NULL;
    int64_t expires_us = json_get_int(content, "expires", 0);
    if (expires_us <= clock_monotonic_us() || !mark_nonce_used(states, nonce, expires_us))
        return NULL;
    return json_object_get(content, "state");
}
