#include "crypto/ids.h"

#include "base/text.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { FEISTEL_ROUNDS = 8 };

static_assert(ID_KEY_BYTES == crypto_shorthash_KEYBYTES, "the round function is SipHash with its own key size");

static const char *const prefixes[ID_KIND_COUNT] = {
    [ID_ORG] = "org",          [ID_BRAND] = "brd",      [ID_KEY] = "key",      [ID_EMAIL] = "eml",
    [ID_VERSION] = "ver",      [ID_SEND] = "snd",       [ID_CONTACT] = "con",  [ID_DOMAIN] = "dom",
    [ID_AUDIENCE] = "aud",     [ID_GROUP] = "grp",      [ID_RUN] = "run",      [ID_JOB] = "job",
    [ID_EVENT] = "evt",        [ID_TRIGGER] = "trg",    [ID_INSTANCE] = "ins", [ID_AUTOMATION] = "aut",
    [ID_AUDIENCE_RUN] = "aru", [ID_INSIGHT] = "isg",    [ID_FIELD] = "fld",    [ID_AUDIT] = "adt",
    [ID_PREVIEW] = "prv",      [ID_TEST] = "tst",       [ID_USER] = "usr",     [ID_SESSION] = "ses",
    [ID_RECIPIENT] = "rcp",    [ID_IMPORT] = "imp",     [ID_ASSET] = "ast",    [ID_REPORT_SOURCE] = "rps",
    [ID_INTEGRATION] = "itg",  [ID_GENERATION] = "gen",
};

void id_codec_init(struct id_codec *codec, const unsigned char key[ID_KEY_BYTES])
{
    memcpy(codec->key, key, ID_KEY_BYTES);
}

static uint32_t round_value(const struct id_codec *codec, enum id_kind kind, int round, uint32_t half)
{
    unsigned char input[6] = { (unsigned char)kind,        (unsigned char)round,        (unsigned char)half,
                               (unsigned char)(half >> 8), (unsigned char)(half >> 16), (unsigned char)(half >> 24) };
    unsigned char output[crypto_shorthash_BYTES];
    crypto_shorthash(output, input, sizeof(input), codec->key);
    uint32_t value;
    memcpy(&value, output, sizeof(value));
    return value;
}

/* A balanced Feistel network over 64 bits, which is a permutation for any round function. */
static uint64_t permute(const struct id_codec *codec, enum id_kind kind, uint64_t value)
{
    uint32_t left = (uint32_t)(value >> 32);
    uint32_t right = (uint32_t)value;
    for (int round = 0; round < FEISTEL_ROUNDS; round++) {
        uint32_t next = left ^ round_value(codec, kind, round, right);
        left = right;
        right = next;
    }
    return (uint64_t)left << 32 | right;
}

static uint64_t permute_inverse(const struct id_codec *codec, enum id_kind kind, uint64_t value)
{
    uint32_t left = (uint32_t)(value >> 32);
    uint32_t right = (uint32_t)value;
    for (int round = FEISTEL_ROUNDS - 1; round >= 0; round--) {
        uint32_t previous = right ^ round_value(codec, kind, round, left);
        right = left;
        left = previous;
    }
    return (uint64_t)left << 32 | right;
}

void id_encode(const struct id_codec *codec, enum id_kind kind, int64_t id, char ret_text[ID_MAX_CHARS])
{
    char digits[BASE32_U64_CHARS + 1];
    base32_encode_u64(permute(codec, kind, (uint64_t)id), digits);
    snprintf(ret_text, ID_MAX_CHARS, "%s_%s", prefixes[kind], digits);
}

char *id_text(const struct id_codec *codec, struct arena *arena, enum id_kind kind, int64_t id)
{
    char *text = arena_alloc(arena, ID_MAX_CHARS);
    id_encode(codec, kind, id, text);
    return text;
}

/* The digits of an id of this kind; false when the text does not have its form. */
static bool read_digits(enum id_kind kind, const char *text, uint64_t *ret_value)
{
    size_t prefix_size = strlen(prefixes[kind]);
    return strncmp(text, prefixes[kind], prefix_size) == 0 && text[prefix_size] == '_' &&
           base32_decode_u64(text + prefix_size + 1, ret_value);
}

bool id_has_form(enum id_kind kind, const char *text)
{
    uint64_t value;
    return read_digits(kind, text, &value);
}

int64_t id_decode(const struct id_codec *codec, enum id_kind kind, const char *text)
{
    uint64_t value;
    if (!read_digits(kind, text, &value))
        return 0;
    int64_t id = (int64_t)permute_inverse(codec, kind, value);
    return id > 0 ? id : 0;
}
