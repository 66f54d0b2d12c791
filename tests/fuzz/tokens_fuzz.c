/*
 * Fuzzes tokens, cursors, public ids and sealed secrets. The first byte chooses:
 * text of somebody else, a payload of ours, or a secret. Besides not crashing:
 * text is refused, or is exactly one that we give out; what we give out comes
 * back; and a changed bit, another purpose, list or row is refused.
 */
#include "base/clock.h"
#include "base/text.h"
#include "crypto/seal.h"
#include "engine/core/page.h"
#include "engine/core/page_cursor.h"
#include "fuzz.h"

#include <string.h>

enum { TEXT_MAX_BYTES = 4096 };

static struct engine engine = { .ids = { .key = "fuzzed ids......" } };

static struct work make_work(struct arena *arena)
{
    return (
        struct work){ .engine = &engine, .arena = arena, .organization_id = 3, .brand_id = 11, .now_us = 1795253400 * US_PER_S };
}

/* ---- Text of somebody else ---- */

static void refuse_cursor(struct arena *arena, const char *text)
{
    struct work work = make_work(arena);
    struct page_cursor place = { .set = true };
    struct error err = { .code = ERR_NONE };
    size_t offset;
    require(!page_cursor_read(&work, "contacts.search", text, &place, &err));
    require(!place.set && err.code == ERR_INVALID_REQUEST && strcmp(err.param, "cursor") == 0);
    require(!page_offset_read(&work, "contacts.search", text, &offset, &err));
}

static void read_text(struct arena *arena, const unsigned char *data, size_t size)
{
    const char *text = arena_dup_bytes(arena, data, size);
    struct bytes payload;
    size_t decoded;
    require(!token_open(arena, &engine.token_keys, "fuzz", text, &payload));
    refuse_cursor(arena, text);
    struct token_owner owner;
    uint16_t number;
    require(strlen(text) < TOKEN_LINK_CHARS || !token_link_open(&engine.token_keys, text, &owner, &number));
    for (enum id_kind kind = ID_ORG; kind < ID_KIND_COUNT; kind++) {
        int64_t id = id_decode(&engine.ids, kind, text);
        require(id >= 0 && (id == 0 || strcmp(id_text(&engine.ids, arena, kind, id), text) == 0));
    }
    require(!api_key_is_well_formed(text) || strlen(text) == API_KEY_CHARS);
    require(!api_key_is_well_formed(text) || !session_token_is_well_formed(text));
    const unsigned char *bytes = base64url_decode(arena, text, &decoded);
    require(bytes == NULL || strcmp(base64url_encode(arena, bytes, decoded), text) == 0);
    bytes = base64_decode(arena, text, &decoded);
    require(bytes == NULL || strcmp(base64_encode(arena, bytes, decoded), text) == 0);
}

/* ---- What we give out ---- */

/* The first byte of the input chooses what is changed. */
static char *changed(struct arena *arena, const char *text, unsigned char choice)
{
    char *copy = arena_dup(arena, text);
    size_t at = choice % strlen(copy);
    copy[at] = copy[at] == 'A' ? 'B' : 'A';
    return copy;
}

static void check_token(struct arena *arena, const unsigned char *data, size_t size)
{
    struct bytes payload;
    const char *token = token_seal(arena, &engine.token_keys, "fuzz", data, size);
    require(strlen(token) == TOKEN_CHARS(size));
    require(token_open(arena, &engine.token_keys, "fuzz", token, &payload));
    require(payload.size == size && memcmp(payload.data, data, size) == 0);
    require(!token_open(arena, &engine.token_keys, "other", token, &payload));
    require(!token_open(arena, &engine.token_keys, "fuzz", changed(arena, token, data[0]), &payload));
    require(!token_open(arena, &engine.token_keys, "fuzz", arena_printf(arena, "%s=", token), &payload));
    refuse_cursor(arena, token);
}

static void check_id(struct arena *arena, int64_t id)
{
    for (enum id_kind kind = ID_ORG; kind < ID_KIND_COUNT; kind++) {
        const char *text = id_text(&engine.ids, arena, kind, id);
        require(strlen(text) < ID_MAX_CHARS && id_decode(&engine.ids, kind, text) == (id > 0 ? id : 0));
        require(id_decode(&engine.ids, kind == ID_ORG ? ID_BRAND : ID_ORG, text) == 0);
    }
}

static void check_place(struct arena *arena, const struct page_cursor *given)
{
    struct work work = make_work(arena);
    struct work elsewhere = work;
    struct page_cursor place;
    struct error err = { .code = ERR_NONE };
    const char *cursor = page_cursor(&work, "contacts.search", given);
    require(strlen(cursor) <= PAGE_CURSOR_MAX_CHARS);
    require(page_cursor_read(&work, "contacts.search", cursor, &place, &err));
    require(place.set && place.number == given->number && place.id == given->id && place.is_null == given->is_null);
    require((place.text != NULL) == (given->text != NULL));
    require(place.text == NULL || strcmp(place.text, given->text) == 0);
    elsewhere.brand_id++;
    require(!page_cursor_read(&elsewhere, "contacts.search", cursor, &place, &err));
    require(!page_cursor_read(&work, "emails.list", cursor, &place, &err));
    require(!page_cursor_read(&work, "contacts.search", changed(arena, cursor, (unsigned char)given->id), &place, &err));
}

/* A token of a link opens as it was made; a changed one does not. */
static void check_link_token(struct arena *arena, const struct token_owner *owner, uint16_t number)
{
    char token[TOKEN_LINK_CHARS + 1];
    struct token_owner read;
    uint16_t read_number;
    if (!token_owner_write(&engine.token_keys, owner, token))
        return;
    token_number_write(&engine.token_keys, token, number, token + TOKEN_OWNER_CHARS);
    require(token_link_open(&engine.token_keys, token, &read, &read_number));
    require(memcmp(&read, owner, sizeof(read)) == 0 && read_number == number);
    require(!token_link_open(&engine.token_keys, changed(arena, token, (unsigned char)number), &read, &read_number));
}

static void give_out(struct arena *arena, const unsigned char *data, size_t size)
{
    int64_t numbers[2];
    check_token(arena, data, size);
    if (size < sizeof(numbers))
        return;
    memcpy(numbers, data, sizeof(numbers));
    const char *text = arena_dup_bytes(arena, data + sizeof(numbers), size - sizeof(numbers));
    check_id(arena, numbers[0]);
    check_link_token(arena, &(struct token_owner){ numbers[0] >> 24, numbers[1] >> 24, (int64_t)size }, (uint16_t)numbers[1]);
    check_place(arena, &(struct page_cursor){ .number = numbers[0], .id = numbers[1], .is_null = size % 2 == 0 });
    if (strlen(text) <= PAGE_TEXT_KEY_MAX_BYTES)
        check_place(arena, &(struct page_cursor){ .id = numbers[1], .text = text });
}

/* ---- Secrets ---- */

static struct bytes copy_bytes(struct arena *arena, struct bytes bytes)
{
    return (struct bytes){ (unsigned char *)arena_dup_bytes(arena, bytes.data, bytes.size), bytes.size };
}

static void check_secret(struct arena *arena, const unsigned char *data, size_t size)
{
    static const unsigned char keys[2][SEAL_KEY_BYTES] = { "first key", "second key" };
    struct seal_ring *ring = seal_ring_new(arena);
    struct bytes opened;
    struct error err = { .code = ERR_NONE };
    require(seal_ring_add(ring, 1, keys[0]));
    struct bytes sealed = seal(arena, ring, "purpose", "row 1", (struct bytes){ data, size });
    require(seal_ring_add(ring, 2, keys[1]) && sealed.size == size + SEAL_OVERHEAD_BYTES);
    require(seal_open(arena, ring, "purpose", "row 1", sealed, &opened, &err));
    require(opened.size == size && memcmp(opened.data, data, size) == 0);
    require(!seal_open(arena, ring, "purpose", "row 2", sealed, &opened, &err) && err.code == ERR_SERVICE_UNAVAILABLE);
    struct bytes broken = copy_bytes(arena, sealed);
    ((unsigned char *)(uintptr_t)broken.data)[data[0] % broken.size] ^= (unsigned char)(1 << data[0] % 8);
    require(!seal_open(arena, ring, "purpose", "row 1", broken, &opened, &err));
    require(!seal_open(arena, ring, "purpose", "row 1", (struct bytes){ sealed.data, sealed.size - 1 }, &opened, &err));
    require(!seal_open(arena, ring, "purpose", "row 1", (struct bytes){ data, size }, &opened, &err));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static bool is_started;
    if (!is_started) {
        static const unsigned char secret[TOKEN_KEY_BYTES] = "the secret of an installation";
        crypto_start();
        token_keys_init(&engine.token_keys, secret);
        is_started = true;
    }
    if (size < 2 || size > TEXT_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    if (data[0] == 'o')
        give_out(arena, data + 1, size - 1);
    else if (data[0] == 's')
        check_secret(arena, data + 1, size - 1);
    else
        read_text(arena, data + 1, size - 1);
    return 0;
}
