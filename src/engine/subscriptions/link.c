#include "engine/subscriptions/link.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

static const char purpose[] = "unsubscribe";

/* The sealed bytes. Numbers are big-endian, so that a token is valid on any machine after a restore. */
struct payload {
    uint64_t brand_id;
    uint64_t send_id;
    uint64_t ordinal;
    unsigned char address_hash[SECRET_HASH_BYTES];
};
static_assert(sizeof(struct payload) == 56, "the sealed bytes have no gaps");
static_assert(TOKEN_CHARS(sizeof(struct payload)) == UNSUBSCRIBE_TOKEN_CHARS, "the length of a token");

char *unsubscribe_token(const struct engine *engine, struct arena *arena, const struct unsubscribe_link *link)
{
    struct payload payload = {
        .brand_id = htobe64((uint64_t)link->brand_id),
        .send_id = htobe64((uint64_t)link->send_id),
        .ordinal = htobe64((uint64_t)link->ordinal),
    };
    memcpy(payload.address_hash, link->address_hash, sizeof(payload.address_hash));
    return token_seal(arena, &engine->token_keys, purpose, &payload, sizeof(payload));
}

bool unsubscribe_token_open(const struct engine *engine, struct arena *arena, const char *token, struct unsubscribe_link *ret_link)
{
    struct bytes bytes;
    struct payload payload;
    if (strlen(token) != UNSUBSCRIBE_TOKEN_CHARS || !token_open(arena, &engine->token_keys, purpose, token, &bytes) ||
        bytes.size != sizeof(payload))
        return false;
    memcpy(&payload, bytes.data, sizeof(payload));
    *ret_link = (struct unsubscribe_link){
        .brand_id = (int64_t)be64toh(payload.brand_id),
        .send_id = (int64_t)be64toh(payload.send_id),
        .ordinal = (int64_t)be64toh(payload.ordinal),
    };
    memcpy(ret_link->address_hash, payload.address_hash, sizeof(payload.address_hash));
    return true;
}
