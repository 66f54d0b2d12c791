#include "engine/assets/asset_store.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { HASH_WORDS = SECRET_HASH_BYTES / 8, HASH_CHARS = HASH_WORDS * BASE32_U64_CHARS };

static_assert(HASH_CHARS + 1 + 4 + 1 == ASSET_NAME_BYTES, "a name is a hash, a dot and an extension of up to four characters");

static const struct {
    const char *name;
    const char *extension;
} types[] = {
    [ASSET_JPEG] = { "jpeg", "jpg" },  [ASSET_PNG] = { "png", "png" },    [ASSET_GIF] = { "gif", "gif" },
    [ASSET_WEBP] = { "webp", "webp" }, [ASSET_AVIF] = { "avif", "avif" },
};

const char *asset_type_name(enum asset_type type)
{
    return types[type].name;
}

enum asset_type asset_type_named(const char *name)
{
    size_t i = 0;
    while (i + 1 < ARRAY_COUNT(types) && strcmp(types[i].name, name) != 0)
        i++;
    return (enum asset_type)i;
}

struct asset_name asset_name_of(const unsigned char hash[SECRET_HASH_BYTES], enum asset_type type)
{
    struct asset_name name;
    for (size_t word = 0; word < HASH_WORDS; word++) {
        uint64_t value = 0;
        for (size_t i = 0; i < 8; i++)
            value = value << 8 | hash[word * 8 + i];
        base32_encode_u64(value, name.text + word * BASE32_U64_CHARS);
    }
    snprintf(name.text + HASH_CHARS, sizeof(name.text) - HASH_CHARS, ".%s", types[type].extension);
    return name;
}

static bool read_hash(const char *text, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    for (size_t word = 0; word < HASH_WORDS; word++) {
        char digits[BASE32_U64_CHARS + 1];
        uint64_t value;
        memcpy(digits, text + word * BASE32_U64_CHARS, BASE32_U64_CHARS);
        digits[BASE32_U64_CHARS] = '\0';
        if (!base32_decode_u64(digits, &value))
            return false;
        for (size_t i = 0; i < 8; i++)
            ret_hash[word * 8 + i] = (unsigned char)(value >> (56 - 8 * i));
    }
    return true;
}

void asset_name_hash(const struct asset_name *name, unsigned char ret_hash[SECRET_HASH_BYTES])
{
    if (!read_hash(name->text, ret_hash))
        memset(ret_hash, 0, SECRET_HASH_BYTES);
}

bool asset_name_read(const char *text, struct asset_name *ret_name, enum asset_type *ret_type)
{
    unsigned char hash[SECRET_HASH_BYTES];
    bool has_extension =
        strnlen(text, ASSET_NAME_BYTES) < ASSET_NAME_BYTES && strcspn(text, ".") == HASH_CHARS && text[HASH_CHARS] == '.';
    if (!has_extension || !read_hash(text, hash))
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(text + HASH_CHARS + 1, types[i].extension) != 0)
            continue;
        snprintf(ret_name->text, sizeof(ret_name->text), "%s", text);
        *ret_type = (enum asset_type)i;
        return true;
    }
    return false;
}

bool asset_put(struct asset_store *store, const struct asset_name *name, const void *bytes, size_t size, struct error *err)
{
    return store->operations->put(store, name, bytes, size, err);
}

bool asset_open(struct asset_store *store, const struct asset_name *name, struct asset_file *ret_file, bool *ret_found,
                struct error *err)
{
    return store->operations->open(store, name, ret_file, ret_found, err);
}

bool asset_exists(struct asset_store *store, const struct asset_name *name, bool *ret_exists, struct error *err)
{
    return store->operations->exists(store, name, ret_exists, err);
}

bool asset_remove(struct asset_store *store, const struct asset_name *name, int64_t since_s, bool *ret_removed, struct error *err)
{
    return store->operations->remove(store, name, since_s, ret_removed, err);
}

void asset_store_free(struct asset_store *store)
{
    if (store != NULL)
        store->operations->close(store);
}
