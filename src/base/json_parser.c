#include "base/json_parser.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdint.h>
#include <string.h>
#include <unistr.h>

enum {
    SHORT_INTEGER_DIGITS = 18, /* 64 bits hold any such integer */
    UNICODE_ESCAPE_BYTES = 6,  /* \uXXXX */
    FIRST_HIGH_SURROGATE = 0xd800,
    FIRST_LOW_SURROGATE = 0xdc00,
    LAST_LOW_SURROGATE = 0xdfff,
    SURROGATE_BITS = 10,
    FIRST_SUPPLEMENTARY = 0x10000,
    UTF8_MAX_BYTES = 4,
};

struct parser {
    const char *at;
    const char *end;
    unsigned levels; /* a value may be nested so much deeper */
    bool allow_nul;
};

/* The bytes between two quotes, without escapes. */
struct token {
    const char *bytes;
    size_t size;
};

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\n' || *parser->at == '\r' || *parser->at == '\t'))
        parser->at++;
}

/* Skips space and one punctuation mark. False when there is another byte. */
static bool take_mark(struct parser *parser, char mark)
{
    skip_space(parser);
    if (parser->at == parser->end || *parser->at != mark)
        return false;
    parser->at++;
    return true;
}

/* ---- Texts ---- */

size_t json_text_end(const char *text, size_t size, size_t at)
{
    const char *quote = NULL;
    while (at < size) {
        if (quote == NULL || quote < text + at)
            quote = memchr(text + at, '"', size - at);
        if (quote == NULL)
            return size;
        const char *escape = memchr(text + at, '\\', (size_t)(quote - text) - at);
        if (escape == NULL)
            return (size_t)(quote - text);
        at = (size_t)(escape - text) + 2;
    }
    return size;
}

/* The UTF-16 code unit of \uXXXX; -1 when another byte is there. */
static int32_t read_code_unit(const char *at, const char *end)
{
    if (end - at < UNICODE_ESCAPE_BYTES || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < UNICODE_ESCAPE_BYTES; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Decodes \uXXXX or the two of a surrogate pair (RFC 8259 §7), and moves `at` past them. */
static bool decode_unicode(const struct parser *parser, const char **at, const char *end, struct buf *out)
{
    int32_t point = read_code_unit(*at, end);
    if (point < 0 || (point == 0 && !parser->allow_nul))
        return false;
    *at += UNICODE_ESCAPE_BYTES;
    if (point >= FIRST_HIGH_SURROGATE && point < FIRST_LOW_SURROGATE) {
        int32_t low = read_code_unit(*at, end);
        if (low < FIRST_LOW_SURROGATE || low > LAST_LOW_SURROGATE)
            return false;
        *at += UNICODE_ESCAPE_BYTES;
        point = FIRST_SUPPLEMENTARY + ((point - FIRST_HIGH_SURROGATE) << SURROGATE_BITS) + (low - FIRST_LOW_SURROGATE);
    }
    uint8_t bytes[UTF8_MAX_BYTES];
    int size = u8_uctomb(bytes, (ucs4_t)point, sizeof(bytes)); /* refuses a surrogate without its pair */
    if (size < 0)
        return false;
    buf_add(out, bytes, (size_t)size);
    return true;
}

/* Decodes the escape at `at`, and moves past it. The byte behind the backslash is before the end. */
static bool decode_escape(const struct parser *parser, const char **at, const char *end, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    char name = (*at)[1];
    if (name == 'u')
        return decode_unicode(parser, at, end, out);
    const char *found = memchr(names, name, sizeof(names) - 1);
    if (found == NULL)
        return false;
    buf_add_char(out, bytes[found - names]);
    *at += 2;
    return true;
}

static bool decode_escapes(const struct parser *parser, struct token token, struct buf *out)
{
    const char *at = token.bytes;
    const char *end = at + token.size;
    (void)buf_room(out, token.size); /* at once: an escape is never shorter than its character */
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *stop = escape != NULL ? escape : end;
        buf_add(out, at, (size_t)(stop - at));
        at = stop;
        if (at < end && !decode_escape(parser, &at, end, out))
            return false;
    }
    return true;
}

static bool has_control_character(struct token token)
{
    bool found = false;
    for (size_t i = 0; i < token.size; i++) /* without an early end: the compiler looks at many bytes at once */
        found |= (unsigned char)token.bytes[i] < ' ';
    return found;
}

/* Takes a text with its quotes. `decoded` is empty, and holds the text when it has escapes. */
static bool take_text(struct parser *parser, struct buf *decoded, struct token *ret_token)
{
    if (!take_mark(parser, '"'))
        return false;
    size_t left = (size_t)(parser->end - parser->at);
    struct token token = { parser->at, json_text_end(parser->at, left, 0) };
    if (token.size == left || has_control_character(token) || !utf8_is_valid(token.bytes, token.size))
        return false;
    parser->at += token.size + 1;
    *ret_token = token;
    if (token.size == 0 || memchr(token.bytes, '\\', token.size) == NULL)
        return true;
    if (!decode_escapes(parser, token, decoded))
        return false;
    *ret_token = (struct token){ buf_text(decoded), decoded->size };
    return true;
}

static json_t *parse_text(struct parser *parser)
{
    BUF_SCOPE decoded;
    buf_init(&decoded, SIZE_MAX - 1);
    struct token token;
    return take_text(parser, &decoded, &token) ? json_stringn_nocheck(token.bytes, token.size) : NULL;
}

/* ---- Numbers and words ---- */

static bool token_is(struct token token, const char *word)
{
    return token.size == strlen(word) && memcmp(token.bytes, word, token.size) == 0;
}

static bool read_short_integer(struct token token, json_int_t *ret_value)
{
    size_t signs = token.size > 0 && token.bytes[0] == '-';
    size_t digits = token.size - signs;
    if (digits == 0 || digits > SHORT_INTEGER_DIGITS || (digits > 1 && token.bytes[signs] == '0'))
        return false;
    json_int_t value = 0;
    for (size_t i = signs; i < token.size; i++) {
        if (token.bytes[i] < '0' || token.bytes[i] > '9')
            return false;
        value = value * 10 + (token.bytes[i] - '0');
    }
    *ret_value = signs > 0 ? -value : value;
    return true;
}

/* jansson parses other numbers, so that their values and bounds are its own. */
static json_t *parse_number(struct token token)
{
    json_int_t value;
    return read_short_integer(token, &value) ? json_integer(value) : json_loadb(token.bytes, token.size, JSON_DECODE_ANY, NULL);
}

static json_t *parse_plain(struct parser *parser)
{
    struct token token = { parser->at, 0 };
    while (parser->at < parser->end && json_is_plain(*parser->at))
        parser->at++;
    token.size = (size_t)(parser->at - token.bytes);
    if (token_is(token, "true"))
        return json_true();
    if (token_is(token, "false"))
        return json_false();
    if (token_is(token, "null"))
        return json_null();
    return parse_number(token);
}

/* ---- Objects and arrays ---- */

static json_t *parse_value(struct parser *parser);

static bool take_member(struct parser *parser, json_t *object)
{
    BUF_SCOPE decoded;
    buf_init(&decoded, SIZE_MAX - 1);
    struct token name;
    if (!take_text(parser, &decoded, &name) || (name.size > 0 && memchr(name.bytes, '\0', name.size) != NULL))
        return false;
    if (json_object_getn(object, name.bytes, name.size) != NULL || !take_mark(parser, ':'))
        return false;
    json_t *value = parse_value(parser);
    return value != NULL && json_object_setn_new_nocheck(object, name.bytes, name.size, value) == 0;
}

static bool fill_object(struct parser *parser, json_t *object)
{
    if (take_mark(parser, '}'))
        return true;
    do {
        if (!take_member(parser, object))
            return false;
    } while (take_mark(parser, ','));
    return take_mark(parser, '}');
}

static bool fill_array(struct parser *parser, json_t *array)
{
    if (take_mark(parser, ']'))
        return true;
    do {
        json_t *item = parse_value(parser);
        if (item == NULL || json_array_append_new(array, item) != 0)
            return false;
    } while (take_mark(parser, ','));
    return take_mark(parser, ']');
}

static json_t *parse_nested(struct parser *parser, json_t *container, bool (*fill)(struct parser *parser, json_t *container))
{
    json_auto_t *owned = container;
    if (container == NULL || parser->levels == 0)
        return NULL;
    parser->levels--;
    bool filled = fill(parser, container);
    parser->levels++;
    return filled ? TAKE_PTR(owned) : NULL;
}

static json_t *parse_value(struct parser *parser)
{
    if (take_mark(parser, '{'))
        return parse_nested(parser, json_object(), fill_object);
    if (take_mark(parser, '['))
        return parse_nested(parser, json_array(), fill_array);
    if (parser->at < parser->end && *parser->at == '"')
        return parse_text(parser);
    return parse_plain(parser);
}

json_t *json_parse(const char *text, size_t size, unsigned max_depth, bool allow_nul)
{
    struct parser parser = { .at = text, .end = text + size, .levels = max_depth, .allow_nul = allow_nul };
    json_auto_t *json = parse_value(&parser);
    skip_space(&parser);
    return parser.at == parser.end ? TAKE_PTR(json) : NULL;
}
