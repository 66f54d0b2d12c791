#include "base/json_write.h"

#include "base/panic.h"

#include <endian.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *json, struct buf *out)
{
    *json = (struct json_writer){ .out = out };
}

static void begin_value(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth >= JSON_WRITE_MAX_DEPTH)
        return;
    uint64_t bit = UINT64_C(1) << json->depth;
    if (json->has_item & bit)
        buf_add_char(json->out, ',');
    json->has_item |= bit;
}

static void open_level(struct json_writer *json, char bracket)
{
    begin_value(json);
    buf_add_char(json->out, bracket);
    json->depth++;
    if (json->depth < JSON_WRITE_MAX_DEPTH)
        json->has_item &= ~(UINT64_C(1) << json->depth);
    else
        json->out->overflowed = true;
}

static void close_level(struct json_writer *json, char bracket)
{
    if (json->depth == 0)
        panic("a JSON level is closed that was not opened");
    json->depth--;
    buf_add_char(json->out, bracket);
}

void json_object_begin(struct json_writer *json)
{
    open_level(json, '{');
}

void json_object_end(struct json_writer *json)
{
    close_level(json, '}');
}

void json_array_begin(struct json_writer *json)
{
    open_level(json, '[');
}

void json_array_end(struct json_writer *json)
{
    close_level(json, ']');
}

/* The character after the backslash for each byte to escape (RFC 8259 §7); 'u' means \u00XX, 0 no escape. */
static const char escapes[256] = {
    [0x00] = 'u', [0x01] = 'u', [0x02] = 'u', [0x03] = 'u', [0x04] = 'u', [0x05] = 'u', [0x06] = 'u',  [0x07] = 'u', ['\b'] = 'b',
    ['\t'] = 't', ['\n'] = 'n', [0x0b] = 'u', ['\f'] = 'f', ['\r'] = 'r', [0x0e] = 'u', [0x0f] = 'u',  [0x10] = 'u', [0x11] = 'u',
    [0x12] = 'u', [0x13] = 'u', [0x14] = 'u', [0x15] = 'u', [0x16] = 'u', [0x17] = 'u', [0x18] = 'u',  [0x19] = 'u', [0x1a] = 'u',
    [0x1b] = 'u', [0x1c] = 'u', [0x1d] = 'u', [0x1e] = 'u', [0x1f] = 'u', ['"'] = '"',  ['\\'] = '\\', [0x7f] = 'u',
};

enum { QUOTE_CHUNK_BYTES = 256, ESCAPE_MAX_BYTES = 6 };

static char *put_escape(char *out, unsigned char byte, char escape)
{
    static const char digits[] = "0123456789abcdef";
    *out++ = '\\';
    *out++ = escape;
    if (escape != 'u')
        return out;
    *out++ = '0';
    *out++ = '0';
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
    return out;
}

/* `value` in each of the eight bytes of a word. */
#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Marks the bytes of a word that have an entry in `escapes`, in their highest bits. A subtraction gives a byte below the subtracted
 * value its highest bit, and a quote differs in one bit from a space, so that one subtraction finds it with the control
 * characters. Only a byte that is marked borrows from the next one, so the lowest mark is exact; higher ones may be wrong. */
static uint64_t bytes_to_escape(uint64_t word)
{
    uint64_t control_or_quote = (word ^ EACH_BYTE('"' ^ ' ')) - EACH_BYTE(' ' + 1);
    uint64_t backslash = (word ^ EACH_BYTE('\\')) - EACH_BYTE(1);
    uint64_t delete = (word ^ EACH_BYTE(0x7f)) - EACH_BYTE(1);
    return (control_or_quote | backslash | delete) & ~word & EACH_BYTE(0x80);
}

/* Copies eight bytes at a time up to the first one that must be escaped. The copy may write more bytes than count, within the
 * worst case that the caller provides room for. */
static char *put_escaped(char *to, const char *text, size_t size)
{
    size_t i = 0;
    while (size - i >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text + i, sizeof(word));
        memcpy(to, &word, sizeof(word));
        uint64_t marks = bytes_to_escape(le64toh(word));
        size_t plain = marks == 0 ? sizeof(word) : (size_t)__builtin_ctzll(marks) / 8;
        to += plain;
        i += plain;
        if (marks != 0) {
            unsigned char byte = (unsigned char)text[i++];
            to = put_escape(to, byte, escapes[byte]);
        }
    }
    for (; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        char escape = escapes[byte];
        if (escape == 0)
            *to++ = (char)byte;
        else
            to = put_escape(to, byte, escape);
    }
    return to;
}

/* Optimised for speed, because every tool result is quoted as text and lists have many short texts: it reserves the worst case
 * of a chunk and both quotation marks once, and copies plain bytes eight at a time. A buffer that is within one chunk of its
 * maximum may therefore overflow although the text would fit. */
void json_quote(struct buf *out, const char *text, size_t size)
{
    size_t start = 0;
    do {
        size_t end = size - start < QUOTE_CHUNK_BYTES ? size : start + QUOTE_CHUNK_BYTES;
        char *room = buf_room(out, (end - start) * ESCAPE_MAX_BYTES + 2);
        if (room == NULL)
            return;
        char *to = room;
        if (start == 0)
            *to++ = '"';
        to = put_escaped(to, text + start, end - start);
        if (end == size)
            *to++ = '"';
        buf_grown(out, (size_t)(to - room));
        start = end;
    } while (start < size);
}

size_t json_quoted_size(const char *text, size_t size)
{
    size_t quoted = size + 2;
    for (size_t i = 0; i < size; i++) {
        char escape = escapes[(unsigned char)text[i]];
        quoted += escape == 0 ? 0 : escape == 'u' ? ESCAPE_MAX_BYTES - 1 : 1;
    }
    return quoted;
}

void json_key(struct json_writer *json, const char *name)
{
    begin_value(json);
    json_quote(json->out, name, strlen(name));
    buf_add_char(json->out, ':');
    json->after_key = true;
}

void json_bytes(struct json_writer *json, const char *text, size_t size)
{
    begin_value(json);
    json_quote(json->out, text, size);
}

void json_text(struct json_writer *json, const char *text)
{
    if (text == NULL)
        json_null_value(json);
    else
        json_bytes(json, text, strlen(text));
}

void json_int(struct json_writer *json, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, value);
    begin_value(json);
    buf_add(json->out, digits, (size_t)length);
}

size_t json_digits(double value, char ret_digits[JSON_NUMBER_MAX_CHARS])
{
    int length = 0;
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        length = snprintf(ret_digits, JSON_NUMBER_MAX_CHARS, "%.*g", digits, value);
        if (strtod(ret_digits, NULL) == value)
            break;
    }
    return (size_t)length;
}

void json_number(struct json_writer *json, double value)
{
    if (!isfinite(value)) {
        json_null_value(json);
        return;
    }
    char digits[JSON_NUMBER_MAX_CHARS];
    begin_value(json);
    buf_add(json->out, digits, json_digits(value, digits));
}

void json_bool(struct json_writer *json, bool value)
{
    begin_value(json);
    buf_add_text(json->out, value ? "true" : "false");
}

void json_null_value(struct json_writer *json)
{
    begin_value(json);
    buf_add_text(json->out, "null");
}

void json_raw_bytes(struct json_writer *json, const char *text, size_t size)
{
    begin_value(json);
    buf_add(json->out, text, size);
}

void json_raw(struct json_writer *json, const char *text)
{
    if (text == NULL)
        json_null_value(json);
    else
        json_raw_bytes(json, text, strlen(text));
}

void json_list_begin(struct json_writer *json)
{
    json_object_begin(json);
    json_key(json, "data");
    json_array_begin(json);
}

void json_list_end(struct json_writer *json)
{
    json_array_end(json);
    json_object_end(json);
}

void json_member_text(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_text(json, text);
}

void json_member_int(struct json_writer *json, const char *name, int64_t value)
{
    json_key(json, name);
    json_int(json, value);
}

void json_member_bool(struct json_writer *json, const char *name, bool value)
{
    json_key(json, name);
    json_bool(json, value);
}

void json_member_raw(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_raw(json, text);
}

void json_member_texts(struct json_writer *json, const char *name, struct text_list texts)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < texts.count; i++)
        json_text(json, texts.items[i]);
    json_array_end(json);
}

void json_member_ints(struct json_writer *json, const char *name, struct int_list values)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < values.count; i++)
        json_int(json, values.items[i]);
    json_array_end(json);
}

void json_member_text_if(struct json_writer *json, const char *name, const char *text)
{
    if (text != NULL)
        json_member_text(json, name, text);
}
