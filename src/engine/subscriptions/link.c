#include "engine/subscriptions/link.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* Each kind of link has its own purpose, so a token of one kind cannot be read as the other. */
static const char message_purpose[] = "unsubscribe";
static const char asked_purpose[] = "unsubscribe link that was asked for";

/* The sealed bytes. Numbers are big-endian, so that a token is valid on any machine after a restore. */
struct payload {
    uint64_t brand_id;
    uint64_t send_id;
    uint64_t ordinal; /* of the recipient; of a link that was asked for: the contact */
    unsigned char address_hash[SECRET_HASH_BYTES];
};
static_assert(sizeof(struct payload) == 56, "the sealed bytes have no gaps");
static_assert(TOKEN_CHARS(sizeof(struct payload)) == UNSUBSCRIBE_TOKEN_CHARS, "the length of a token");

char *unsubscribe_token(const struct engine *engine, struct arena *arena, const struct unsubscribe_link *link)
{
    struct payload payload = {
        .brand_id = htobe64((uint64_t)link->brand_id),
        .send_id = htobe64((uint64_t)link->send_id),
        .ordinal = htobe64((uint64_t)(link->was_asked_for ? link->contact_id : link->ordinal)),
    };
    memcpy(payload.address_hash, link->address_hash, sizeof(payload.address_hash));
    return token_seal(arena, &engine->token_keys, link->was_asked_for ? asked_purpose : message_purpose, &payload, sizeof(payload));
}

bool unsubscribe_token_open(const struct engine *engine, struct arena *arena, const char *token, struct unsubscribe_link *ret_link)
{
    struct bytes bytes;
    struct payload payload;
    if (strlen(token) != UNSUBSCRIBE_TOKEN_CHARS)
        return false;
    bool is_of_message = token_open(arena, &engine->token_keys, message_purpose, token, &bytes);
    if ((!is_of_message && !token_open(arena, &engine->token_keys, asked_purpose, token, &bytes)) || bytes.size != sizeof(payload))
        return false;
    memcpy(&payload, bytes.data, sizeof(payload));
    *ret_link = (struct unsubscribe_link){
        .brand_id = (int64_t)be64toh(payload.brand_id),
        .send_id = (int64_t)be64toh(payload.send_id),
        .was_asked_for = !is_of_message,
    };
    *(is_of_message ? &ret_link->ordinal : &ret_link->contact_id) = (int64_t)be64toh(payload.ordinal);
    memcpy(ret_link->address_hash, payload.address_hash, sizeof(payload.address_hash));
    return true;
}
