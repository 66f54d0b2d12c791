#include "engine/core/page_cursor.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/core/short_tokens.h"

#include <assert.h>
#include <string.h>

enum { LIST_HASH_BYTES = 16 };

/*
 * The payload of a cursor: fixed fields in host byte order, then the text key if
 * there is one. Host order suffices, because the machines of an installation
 * have the same byte order.
 */
struct cursor_payload {
    int64_t made_at_us;
    int64_t number;
    int64_t id;
    unsigned char list_hash[LIST_HASH_BYTES];
    uint8_t has_text;
    uint8_t is_null;
} __attribute__((packed));
static_assert(TOKEN_CHARS(sizeof(struct cursor_payload) + PAGE_TEXT_KEY_MAX_BYTES) <= PAGE_CURSOR_MAX_CHARS,
              "a cursor is accepted by the operation that made it");

static const char purpose[] = "page";

/* Identifies a list: its organization, its brand and the binding. */
static void hash_list(const struct work *work, const char *binding, unsigned char ret_hash[LIST_HASH_BYTES])
{
    struct {
        int64_t organization_id;
        int64_t brand_id;
        unsigned char binding_hash[SECRET_HASH_BYTES];
    } list = { .organization_id = work->organization_id, .brand_id = work->brand_id };
    static_assert(sizeof(list) == 2 * sizeof(int64_t) + SECRET_HASH_BYTES, "the hashed bytes have no gaps");
    unsigned char whole[SECRET_HASH_BYTES];
    sha256(binding, strlen(binding), list.binding_hash);
    sha256(&list, sizeof(list), whole);
    memcpy(ret_hash, whole, LIST_HASH_BYTES);
}

const char *page_cursor(const struct work *work, const char *binding, const struct page_cursor *position)
{
    struct cursor_payload payload = {
        .made_at_us = work->now_us,
        .number = position->number,
        .id = position->id,
        .has_text = position->text != NULL,
        .is_null = position->is_null,
    };
    hash_list(work, binding, payload.list_hash);

    size_t text_size = position->text != NULL ? strnlen(position->text, PAGE_TEXT_KEY_MAX_BYTES) : 0;
    unsigned char *bytes = arena_alloc(work->arena, sizeof(payload) + text_size);
    memcpy(bytes, &payload, sizeof(payload));
    if (text_size > 0)
        memcpy(bytes + sizeof(payload), position->text, text_size);
    const char *sealed = token_seal(work->arena, &work->engine->token_keys, purpose, bytes, sizeof(payload) + text_size);
    /* The short token of a position is the same at any time. */
    memset(bytes + offsetof(struct cursor_payload, made_at_us), 0, sizeof(payload.made_at_us));
    return short_token_issue(work, SHORT_CURSOR, bytes, sizeof(payload) + text_size, sealed);
}

static bool refuse_cursor(const struct work *work, struct error *err, const char *reason)
{
    const char *tool = short_token_tool(work);
    fail(err, ERR_INVALID_REQUEST, "cursor", "%s Start again without a cursor.", reason);
    return tool != NULL ? error_suggest(err, "Call %s without cursor.", tool) : error_suggest(err, "Leave out cursor.");
}

bool page_cursor_read(const struct work *work, const char *binding, const char *cursor, struct page_cursor *ret_position,
                      struct error *err)
{
    *ret_position = (struct page_cursor){ .set = false };
    if (cursor == NULL)
        return true;

    struct bytes token;
    struct cursor_payload payload;
    const char *sealed = short_token_sealed(work, cursor);
    if (sealed == NULL || !token_open(work->arena, &work->engine->token_keys, purpose, sealed, &token) ||
        token.size < sizeof(payload))
        return refuse_cursor(work, err, "The cursor is not valid.");
    memcpy(&payload, token.data, sizeof(payload));

    unsigned char hash[LIST_HASH_BYTES];
    hash_list(work, binding, hash);
    if (memcmp(hash, payload.list_hash, sizeof(hash)) != 0)
        return refuse_cursor(work, err, "The cursor belongs to another list, filter or order.");
    if (work->now_us - payload.made_at_us > PAGE_CURSOR_MAX_HOURS * INT64_C(3600) * US_PER_S)
        return refuse_cursor(work, err, "The cursor is older than 24 hours.");

    *ret_position = (struct page_cursor){
        .set = true,
        .number = payload.number,
        .id = payload.id,
        .is_null = payload.is_null != 0,
    };
    if (payload.has_text)
        ret_position->text = arena_dup_bytes(work->arena, token.data + sizeof(payload), token.size - sizeof(payload));
    return true;
}
