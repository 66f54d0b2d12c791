/*
 * What the parts of the compiler share: errors with line, column and the
 * expression, and parsers of expressions whose character references are decoded.
 */
#include "template/compiler.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_EXPRESSION_BYTES = 80 };

bool template_compiler_refuse(const struct template_compiler *compiler, const char *at, struct error *err, const char *format, ...)
{
    char reason[TEMPLATE_REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);

    size_t line = 1;
    size_t column = 1;
    for (const char *byte = compiler->source; byte < at; byte++) {
        column += ((unsigned char)*byte & 0xC0) != 0x80;
        if (*byte == '\n') {
            line++;
            column = 1;
        }
    }
    size_t left = (size_t)(compiler->end - at);
    const char *found = memmem(at, left, left > 1 && at[1] == '%' ? "%}" : "}}", 2);
    size_t size = found != NULL ? (size_t)(found - at) + 2 : left;
    const char *dots = "";
    if (size > SHOWN_EXPRESSION_BYTES) {
        size = SHOWN_EXPRESSION_BYTES;
        while (((unsigned char)at[size] & 0xC0) == 0x80)
            size--;
        dots = "…";
    }
    return fail(err, ERR_INVALID_REQUEST, NULL, "Line %zu, column %zu: %.*s%s: %s.", line, column, (int)size, at, dots, reason);
}

/* Parses a numeric character reference at `text` ("&#39;", "&#x27;"). Returns its size in bytes; 0 when there is none. */
static size_t numeric_reference(const char *text, size_t size, uint32_t *ret_point)
{
    size_t i = 2;
    uint32_t base = 10;
    if (i < size && (text[i] == 'x' || text[i] == 'X')) {
        base = 16;
        i++;
    }
    size_t first = i;
    uint32_t point = 0;
    for (; i < size && i < first + 7; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
        uint32_t value = digit != NULL ? (uint32_t)(digit - digits) % 16 : 16;
        if (value >= base)
            break;
        point = point * base + value;
    }
    if (i == first || i >= size || text[i] != ';')
        return 0;
    *ret_point = point;
    return i + 1;
}

/* Parses a character reference (WHATWG HTML §13.5): the names that serialisers write, and numbers. 0 when there is none. */
static size_t character_reference(const char *text, size_t size, uint32_t *ret_point)
{
    static const struct {
        const char *text;
        uint32_t point;
    } named[] = { { "&quot;", '"' }, { "&apos;", '\'' }, { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&nbsp;", 0xA0 } };
    if (size >= 3 && text[1] == '#')
        return numeric_reference(text, size, ret_point);
    for (size_t i = 0; i < ARRAY_COUNT(named); i++) {
        size_t length = strlen(named[i].text);
        if (size >= length && memcmp(text, named[i].text, length) == 0) {
            *ret_point = named[i].point;
            return length;
        }
    }
    return 0;
}

/* Writes a code point. A reference is longer than its character, so the buffer is large enough. */
static size_t put_utf8(char *at, uint32_t point)
{
    if (point < 0x80) {
        at[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        at[0] = (char)(0xC0 | point >> 6);
        at[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        at[0] = (char)(0xE0 | point >> 12);
        at[1] = (char)(0x80 | (point >> 6 & 0x3F));
        at[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    at[0] = (char)(0xF0 | point >> 18);
    at[1] = (char)(0x80 | (point >> 12 & 0x3F));
    at[2] = (char)(0x80 | (point >> 6 & 0x3F));
    at[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

static bool is_scalar_value(uint32_t point)
{
    return point != 0 && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
}

/* The text never grows. */
size_t template_decode_html(const char *text, size_t size, char *ret_text)
{
    size_t written = 0;
    for (size_t i = 0; i < size;) {
        uint32_t point = 0;
        size_t reference = 0;
        if (text[i] == '&')
            reference = character_reference(text + i, size - i, &point);
        if (reference == 0 || !is_scalar_value(point)) {
            ret_text[written++] = text[i++];
            continue;
        }
        written += put_utf8(ret_text + written, point);
        i += reference;
    }
    return written;
}

size_t template_compiler_decode(const struct template_compiler *compiler, const char *text, size_t size, char *ret_text)
{
    if (compiler->kind == TEMPLATE_HTML)
        return template_decode_html(text, size, ret_text);
    memcpy(ret_text, text, size);
    return size;
}

struct template_parser template_compiler_parser(struct template_compiler *compiler, const char *text, size_t size)
{
    char *decoded = arena_alloc(compiler->build.arena, size + 1);
    size_t decoded_size = template_compiler_decode(compiler, text, size, decoded);
    return (struct template_parser){
        .build = &compiler->build, .names = &compiler->names, .at = decoded, .end = decoded + decoded_size
    };
}
