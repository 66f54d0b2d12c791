#include "base/text.h"
#include "mail/template_build.h"
#include "mail/template_context.h"
#include "mail/template_expression.h"

#include <stdio.h>
#include <string.h>

struct compiler {
    enum template_kind kind;
    const char *source;
    const char *end;
    struct template_build build;
    struct html_scanner html; /* of TEMPLATE_HTML */
    size_t slot_count;
};

enum { SHOWN_EXPRESSION_BYTES = 80 };

/* Fails with "Line 3, column 7: {{ … }}: reason." The place is counted in characters, from 1. */
static bool refuse_at(const struct compiler *compiler, const char *at, const char *close, const char *reason, struct error *err)
{
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
    const char *found = memmem(at, left, close, strlen(close));
    size_t size = found != NULL ? (size_t)(found - at) + strlen(close) : left;
    const char *dots = "";
    if (size > SHOWN_EXPRESSION_BYTES) {
        size = SHOWN_EXPRESSION_BYTES;
        while (((unsigned char)at[size] & 0xC0) == 0x80)
            size--;
        dots = "…";
    }
    return fail(err, ERR_INVALID_REQUEST, NULL, "Line %zu, column %zu: %.*s%s: %s.", line, column, (int)size, at, dots, reason);
}

/* The code point of a numeric character reference at `text` ("&#39;", "&#x27;"), its size in bytes; 0 when it is none. */
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

/* A character reference (WHATWG HTML §13.5): those that serialisers write, and numbers. 0 when it is none. */
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

/* Room for one more character is there: a reference is longer than what it stands for. */
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

/* The expression as its author meant it, before the serialiser encoded it. Gives its size. */
static size_t decode_expression(const struct compiler *compiler, const char *text, size_t size,
                                char ret_text[TEMPLATE_MAX_EXPRESSION_BYTES])
{
    size_t written = 0;
    for (size_t i = 0; i < size;) {
        uint32_t point = 0;
        size_t reference = 0;
        if (compiler->kind == TEMPLATE_HTML && text[i] == '&')
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

static bool slot_escape(struct compiler *compiler, const char *at, enum template_escape *ret_escape, struct error *err)
{
    const char *where = "";
    switch (compiler->kind) {
    case TEMPLATE_TEXT:
        *ret_escape = TEMPLATE_ESCAPE_NONE;
        return true;
    case TEMPLATE_HEADER:
        *ret_escape = TEMPLATE_ESCAPE_HEADER;
        return true;
    case TEMPLATE_HTML:
        if (html_scan_slot(&compiler->html, ret_escape, &where))
            return true;
        break;
    }
    char reason[TEMPLATE_REASON_BYTES];
    snprintf(reason, sizeof(reason), "it stands %s, where no value can be inserted safely", where);
    return refuse_at(compiler, at, "}}", reason, err);
}

/* The slot at `at`; `ret_next` is behind it. */
static bool compile_slot(struct compiler *compiler, const char *at, const char **ret_next, struct error *err)
{
    const char *from = at + 2;
    const char *close = memmem(from, (size_t)(compiler->end - from), "}}", 2);
    if (close == NULL)
        return refuse_at(compiler, at, "}}", "'{{' has no '}}'", err);
    size_t size = (size_t)(close - from);
    if (size > TEMPLATE_MAX_EXPRESSION_BYTES)
        return refuse_at(compiler, at, "}}", "the expression is too long, or '{{' has no '}}'", err);
    compiler->slot_count++;
    if (compiler->slot_count > TEMPLATE_MAX_SLOTS)
        return refuse_at(compiler, at, "}}", "the template has more than 10,000 slots", err);

    enum template_escape escape = TEMPLATE_ESCAPE_NONE;
    if (!slot_escape(compiler, at, &escape, err))
        return false;
    char expression[TEMPLATE_MAX_EXPRESSION_BYTES];
    size_t expression_size = decode_expression(compiler, from, size, expression);
    char reason[TEMPLATE_REASON_BYTES];
    if (!template_expression_compile(&compiler->build, expression, expression_size, reason))
        return refuse_at(compiler, at, "}}", reason, err);
    template_build_op(&compiler->build, TEMPLATE_OP_EMIT, escape, 0, 0);
    *ret_next = close + 2;
    return true;
}

/* The next "{{" or "{%", or the end. */
static const char *find_markup(const char *at, const char *end)
{
    while (at < end) {
        at = memchr(at, '{', (size_t)(end - at));
        if (at == NULL)
            return end;
        if (at + 1 < end && (at[1] == '{' || at[1] == '%'))
            return at;
        at++;
    }
    return end;
}

static void compile_text(struct compiler *compiler, const char *from, const char *to)
{
    if (from == to)
        return;
    size_t size = (size_t)(to - from);
    if (compiler->kind == TEMPLATE_HTML)
        html_scan(&compiler->html, from, size);
    template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, from, size));
}

static bool compile_all(struct compiler *compiler, struct error *err)
{
    const char *at = compiler->source;
    while (at < compiler->end) {
        const char *markup = find_markup(at, compiler->end);
        compile_text(compiler, at, markup);
        at = markup;
        if (at == compiler->end)
            break;
        if (at[1] == '%')
            return refuse_at(compiler, at, "%}", "tags such as {% if %} are not supported", err);
        if (!compile_slot(compiler, at, &at, err))
            return false;
    }
    template_build_op(&compiler->build, TEMPLATE_OP_END, 0, 0, 0);
    return true;
}

/* RFC 5322 §2.2: a header line has no controls; those of values are replaced, those of the author are a mistake. */
static bool check_header_source(const struct compiler *compiler, struct error *err)
{
    for (const char *at = compiler->source; at < compiler->end; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return fail(err, ERR_INVALID_REQUEST, NULL, "It contains a line break or another control character.");
    return true;
}

bool template_compile(struct arena *arena, enum template_kind kind, const char *source, size_t size, struct bytes *ret_blob,
                      struct error *err)
{
    if (size > TEMPLATE_MAX_SOURCE_BYTES)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template is larger than %d bytes.", TEMPLATE_MAX_SOURCE_BYTES);
    if (!utf8_is_valid(source, size))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template is not valid UTF-8.");

    struct compiler compiler = { .kind = kind, .source = source, .end = source + size };
    if (kind == TEMPLATE_HEADER && !check_header_source(&compiler, err))
        return false;
    html_scanner_init(&compiler.html);
    template_build_init(&compiler.build, arena);
    return compile_all(&compiler, err) && template_build_finish(&compiler.build, kind, ret_blob, err);
}
