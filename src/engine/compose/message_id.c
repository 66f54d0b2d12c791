#include "engine/compose/message_id.h"

#include <endian.h>
#include <string.h>

static const char purpose[] = "message";

enum { ORIGIN_NUMBERS = 3 };

/* Numbers are big-endian, so that a token is valid on any machine after a restore. */
char *message_id_token(const struct engine *engine, struct arena *arena, const struct message_origin *origin)
{
    const uint64_t numbers[ORIGIN_NUMBERS] = {
        htobe64((uint64_t)origin->brand_id),
        htobe64((uint64_t)origin->send_id),
        htobe64((uint64_t)origin->ordinal),
    };
    return token_seal(arena, &engine->token_keys, purpose, numbers, sizeof(numbers));
}

bool message_id_open(const struct engine *engine, struct arena *arena, const char *message_id, struct message_origin *ret_origin)
{
    uint64_t numbers[ORIGIN_NUMBERS];
    struct bytes payload;
    message_id += strspn(message_id, "< \t");
    const char *token = arena_dup_bytes(arena, message_id, strcspn(message_id, "@> \t"));
    if (strlen(token) != TOKEN_CHARS(sizeof(numbers)) || !token_open(arena, &engine->token_keys, purpose, token, &payload) ||
        payload.size != sizeof(numbers))
        return false;
    memcpy(numbers, payload.data, sizeof(numbers));
    *ret_origin = (struct message_origin){
        .brand_id = (int64_t)be64toh(numbers[0]),
        .send_id = (int64_t)be64toh(numbers[1]),
        .ordinal = (int64_t)be64toh(numbers[2]),
    };
    return true;
}
