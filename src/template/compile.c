#include "base/text.h"
#include "template/compiler.h"

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

/* ---- Character references ---- */

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

/* Decodes the character references that a serialiser wrote. The text never grows. */
static size_t decode(const struct template_compiler *compiler, const char *text, size_t size, char *ret_text)
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

struct template_parser template_compiler_parser(struct template_compiler *compiler, const char *text, size_t size)
{
    char *decoded = arena_alloc(compiler->build.arena, size + 1);
    size_t decoded_size = decode(compiler, text, size, decoded);
    return (struct template_parser){
        .build = &compiler->build, .names = &compiler->names, .at = decoded, .end = decoded + decoded_size
    };
}

/* ---- Text ---- */

static bool is_white_space(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memchr(" \t\r\n\f\v", text[i], 6) == NULL)
            return false;
    return true;
}

/* Captured text is a value: it is escaped where it is shown, so it must not contain markup. */
static bool compile_captured(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    const struct template_block *block = template_compiler_block(compiler);
    const char *markup = compiler->kind == TEMPLATE_HTML ? memchr(piece->text, '<', piece->size) : NULL;
    if (markup != NULL)
        return template_compiler_refuse(compiler, block != NULL ? block->at : piece->at, err,
                                        "it can capture text and values, but not HTML");
    char *text = arena_alloc(compiler->build.arena, piece->size + 1);
    size_t size = decode(compiler, piece->text, piece->size, text);
    template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, text, size));
    return true;
}

static bool compile_text_piece(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    if (piece->size == 0)
        return true;
    const struct template_block *block = template_compiler_block(compiler);
    if (block != NULL && template_compiler_expects_when(compiler))
        return is_white_space(piece->text, piece->size) ||
               template_compiler_refuse(compiler, block->at, err,
                                        "only white space is allowed between it and its first {%% when %%}");
    if (compiler->capture_depth > 0)
        return compile_captured(compiler, piece, err);
    if (compiler->kind == TEMPLATE_HTML)
        html_scan(&compiler->html, piece->text, piece->size);
    template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, piece->text, piece->size));
    return true;
}

/* A comment is removed, so the HTML before and after it must fit together. */
static bool compile_comment(const struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    struct html_scanner inside = compiler->html;
    const char *where;
    if (compiler->kind != TEMPLATE_HTML || compiler->capture_depth > 0)
        return true;
    html_scan(&inside, piece->text, piece->size);
    struct html_scanner outside = compiler->html;
    return html_scan_join(&outside, &inside, &where) || template_compiler_refuse(compiler, piece->at, err, "it %s", where);
}

/* ---- Placeholders ---- */

static bool placeholder_escape(struct template_compiler *compiler, const char *at, enum template_escape *ret_escape,
                               struct error *err)
{
    const char *where = "";
    *ret_escape = TEMPLATE_ESCAPE_NONE;
    if (compiler->capture_depth > 0)
        return true;
    switch (compiler->kind) {
    case TEMPLATE_TEXT:
        return true;
    case TEMPLATE_HEADER:
        *ret_escape = TEMPLATE_ESCAPE_HEADER;
        return true;
    case TEMPLATE_HTML:
        if (html_scan_placeholder(&compiler->html, ret_escape, &where))
            return true;
        break;
    }
    return template_compiler_refuse(compiler, at, err, "it is %s, where no value can be inserted safely", where);
}

/* Line breaks become markup only in the text of elements. The result of url_encode is not encoded again in a URL. */
static enum template_escape final_escape(const struct template_compiler *compiler, const struct template_expression *expression,
                                         enum template_escape escape)
{
    bool is_component = escape == TEMPLATE_ESCAPE_URL_PART || escape == TEMPLATE_ESCAPE_URL_OPAQUE;
    if (expression->shows_breaks && escape == TEMPLATE_ESCAPE_HTML && compiler->html.state == HTML_TEXT)
        return TEMPLATE_ESCAPE_HTML_BREAKS;
    if (expression->is_url_encoded && is_component)
        return TEMPLATE_ESCAPE_HTML;
    return escape;
}

static bool compile_placeholder(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    compiler->placeholder_count++;
    if (compiler->placeholder_count > TEMPLATE_MAX_PLACEHOLDERS)
        return template_compiler_refuse(compiler, piece->at, err, "the template has more than 10,000 placeholders");
    if (template_compiler_expects_when(compiler))
        return template_compiler_refuse(compiler, piece->at, err, "it is between {%% case %%} and its first {%% when %%}");

    enum template_escape escape = TEMPLATE_ESCAPE_NONE;
    struct template_expression expression;
    if (!placeholder_escape(compiler, piece->at, &escape, err))
        return false;
    struct template_parser parser = template_compiler_parser(compiler, piece->text, piece->size);
    if (!template_parse_expression(&parser, &expression) || !template_parse_end(&parser, "'|' or the end"))
        return template_compiler_refuse(compiler, piece->at, err, "%s", parser.reason);
    template_build_op(&compiler->build, TEMPLATE_OP_EMIT, final_escape(compiler, &expression, escape), 0, 0);
    return true;
}

/* ---- Template ---- */

static bool compile_piece(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    switch (piece->kind) {
    case TEMPLATE_PIECE_TEXT:
        return compile_text_piece(compiler, piece, err);
    case TEMPLATE_PIECE_PLACEHOLDER:
        return compile_placeholder(compiler, piece, err);
    case TEMPLATE_PIECE_TAG:
        return template_compile_tag(compiler, piece, err);
    case TEMPLATE_PIECE_COMMENT:
        return compile_comment(compiler, piece, err);
    case TEMPLATE_PIECE_BROKEN:
        return template_compiler_refuse(compiler, piece->at, err, "%s", piece->reason);
    case TEMPLATE_PIECE_END:
        break;
    }
    const struct template_block *open = template_compiler_block(compiler);
    if (open != NULL)
        return template_compiler_refuse(compiler, open->at, err, "it has no {%% %s %%}", open->end_tag);
    template_build_op(&compiler->build, TEMPLATE_OP_END, 0, 0, 0);
    return true;
}

static bool compile_all(struct template_compiler *compiler, struct error *err)
{
    struct template_markup markup;
    struct template_piece piece;
    template_markup_init(&markup, compiler->source, (size_t)(compiler->end - compiler->source));
    do {
        piece = template_markup_next(&markup);
        if (!compile_piece(compiler, &piece, err))
            return false;
    } while (piece.kind != TEMPLATE_PIECE_END);
    return true;
}

/* RFC 5322 §2.2: a header line has no control characters. Those in values are replaced; those in the source are an error. */
static bool check_header_source(const struct template_compiler *compiler, struct error *err)
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

    struct template_compiler *compiler = arena_alloc(arena, sizeof(*compiler));
    compiler->kind = kind;
    compiler->source = source;
    compiler->end = source + size;
    if (kind == TEMPLATE_HEADER && !check_header_source(compiler, err))
        return false;
    if (!template_names_collect(&compiler->names, arena, source, size))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template assigns more than %d names.", TEMPLATE_MAX_VARIABLES);
    html_scanner_init(&compiler->html);
    template_build_init(&compiler->build, arena);
    return compile_all(compiler, err) && template_build_finish(&compiler->build, kind, ret_blob, err);
}
