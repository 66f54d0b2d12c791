#include "template/parser.h"

#include "base/text.h"
#include "template/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ---- */

bool template_parse_refuse(struct template_parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->reason, TEMPLATE_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

bool template_parse_refuse_here(struct template_parser *parser, const char *expected)
{
    if (parser->at == parser->end)
        return template_parse_refuse(parser, "%s is missing", expected);
    return template_parse_refuse(parser, "%s is expected instead of '%.*s'", expected, template_parser_character_size(parser),
                                 parser->at);
}

/* ---- Reading ---- */

void template_parse_blanks(struct template_parser *parser)
{
    for (;;) {
        size_t left = (size_t)(parser->end - parser->at);
        if (left >= 1 && memchr(" \t\r\n\f\v", *parser->at, 6) != NULL)
            parser->at++;
        else if (left >= 2 && memcmp(parser->at, "\xC2\xA0", 2) == 0) /* no-break space */
            parser->at += 2;
        else
            return;
    }
}

bool template_parse_sign(struct template_parser *parser, char sign)
{
    template_parse_blanks(parser);
    if (template_parser_peek(parser) != sign)
        return false;
    parser->at++;
    return true;
}

bool template_parse_word(struct template_parser *parser, const char *word)
{
    template_parse_blanks(parser);
    size_t size = template_name_size(parser->at, parser->end);
    if (size != strlen(word) || memcmp(parser->at, word, size) != 0)
        return false;
    parser->at += size;
    return true;
}

bool template_parse_end(struct template_parser *parser, const char *expected)
{
    template_parse_blanks(parser);
    return parser->at == parser->end || template_parse_refuse_here(parser, expected);
}

bool template_parse_name(struct template_parser *parser, const char *what, const char **ret_name, size_t *ret_size)
{
    template_parse_blanks(parser);
    *ret_name = parser->at;
    *ret_size = template_name_size(parser->at, parser->end);
    if (*ret_size == 0)
        return template_parse_refuse_here(parser, what);
    parser->at += *ret_size;
    return true;
}

/* ---- Constants ---- */

/* Decodes "\u00e9" at `at`; surrogates and NUL are refused. */
static bool unescape_code(struct template_parser *parser, const char *at, const char *close, struct buf *out)
{
    int point = 0;
    for (int i = 2; i < 6; i++) {
        int digit = at + i < close ? hex_digit(at[i]) : -1;
        if (digit < 0)
            return template_parse_refuse(parser, "\\u needs four hexadecimal digits");
        point = point * 16 + digit;
    }
    if (point == 0 || (point >= 0xD800 && point <= 0xDFFF))
        return template_parse_refuse(parser, "'%.6s' is not a valid character", at);
    if (point < 0x80) {
        buf_add_char(out, (char)point);
    } else if (point < 0x800) {
        buf_add_char(out, (char)(0xC0 | point >> 6));
        buf_add_char(out, (char)(0x80 | (point & 0x3F)));
    } else {
        buf_add_char(out, (char)(0xE0 | point >> 12));
        buf_add_char(out, (char)(0x80 | (point >> 6 & 0x3F)));
        buf_add_char(out, (char)(0x80 | (point & 0x3F)));
    }
    return true;
}

static bool unescape_quoted(struct template_parser *parser, const char *text, const char *close, struct buf *out)
{
    static const char letters[] = "bfnrtv";
    static const char controls[] = "\b\f\n\r\t\v";
    for (const char *at = text; at < close; at++) {
        if (*at != '\\' || at + 1 == close) {
            buf_add_char(out, *at);
            continue;
        }
        const char *letter = strchr(letters, at[1]);
        if (at[1] == 'u') {
            if (!unescape_code(parser, at, close, out))
                return false;
            at += 5;
            continue;
        }
        buf_add_char(out, letter != NULL ? controls[letter - letters] : at[1]);
        at++;
    }
    return true;
}

bool template_parse_quoted(struct template_parser *parser, const char **ret_text, size_t *ret_size)
{
    char quote = *parser->at++;
    const char *close = parser->at;
    bool has_escapes = false;
    for (; close < parser->end && *close != quote; close++) {
        if (*close == '\\' && close + 1 < parser->end) {
            has_escapes = true;
            close++;
        }
    }
    if (close == parser->end)
        return template_parse_refuse(parser, "a quoted text has no closing quote");
    *ret_text = parser->at;
    *ret_size = (size_t)(close - parser->at);
    if (has_escapes) {
        struct buf *out = buf_in_arena(parser->build->arena, TEMPLATE_MAX_EXPRESSION_BYTES);
        if (!unescape_quoted(parser, parser->at, close, out))
            return false;
        *ret_text = buf_text(out);
        *ret_size = out->size;
    }
    parser->at = close + 1;
    return true;
}

/* Parses digits with an optional sign and fraction. The dots of the range "1..3" are not a fraction. */
bool template_parse_number(struct template_parser *parser)
{
    const char *from = parser->at;
    bool is_whole = true;
    if (template_parser_peek(parser) == '-' || template_parser_peek(parser) == '+')
        parser->at++;
    if (!template_parser_is_digit(template_parser_peek(parser)))
        return template_parse_refuse_here(parser, "a digit");
    while (template_parser_is_digit(template_parser_peek(parser)))
        parser->at++;
    if (template_parser_peek(parser) == '.' && template_parser_second(parser) != '.') {
        is_whole = false;
        parser->at++;
        if (!template_parser_is_digit(template_parser_peek(parser)))
            return template_parse_refuse_here(parser, "a digit");
        while (template_parser_is_digit(template_parser_peek(parser)))
            parser->at++;
    }
    size_t size = (size_t)(parser->at - from);
    if (is_whole && size <= 9)
        template_build_op(parser->build, TEMPLATE_OP_INTEGER, 0, 0, (uint32_t)(int32_t)strtol(from, NULL, 10));
    else
        template_build_op(parser->build, TEMPLATE_OP_NUMBER, 0, 0, template_build_string(parser->build, from, size));
    return true;
}

bool template_parse_literal(struct template_parser *parser)
{
    static const struct {
        const char *word;
        enum template_literal literal;
    } literals[] = { { "true", TEMPLATE_LITERAL_TRUE }, { "false", TEMPLATE_LITERAL_FALSE }, { "nil", TEMPLATE_LITERAL_NIL },
                     { "null", TEMPLATE_LITERAL_NIL },  { "empty", TEMPLATE_LITERAL_EMPTY }, { "blank", TEMPLATE_LITERAL_BLANK } };
    for (size_t i = 0; i < ARRAY_COUNT(literals); i++) {
        if (!template_parse_word(parser, literals[i].word))
            continue;
        template_build_op(parser->build, TEMPLATE_OP_LITERAL, literals[i].literal, 0, 0);
        return true;
    }
    return false;
}
