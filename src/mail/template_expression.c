#include "mail/template_expression.h"

#include "mail/template_filter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct parser {
    struct template_build *build;
    const char *at;
    const char *end;
    char *reason;
};

static PRINTF_LIKE(2, 3) bool refuse(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->reason, TEMPLATE_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool begins_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool continues_name(char byte)
{
    return begins_name(byte) || is_digit(byte) || byte == '-';
}

/* The next byte, NUL at the end. The text itself holds no NUL. */
static char peek(const struct parser *parser)
{
    if (parser->at == parser->end)
        return '\0';
    return *parser->at;
}

static void skip_blanks(struct parser *parser)
{
    for (;;) {
        size_t left = (size_t)(parser->end - parser->at);
        if (left >= 1 && memchr(" \t\r\n\f", *parser->at, 5) != NULL)
            parser->at++;
        else if (left >= 2 && memcmp(parser->at, "\xC2\xA0", 2) == 0) /* editors put no-break spaces here */
            parser->at += 2;
        else
            return;
    }
}

/* Bytes of the character at `at`, for messages. */
static int character_size(const struct parser *parser)
{
    int size = 1;
    while (parser->at + size < parser->end && ((unsigned char)parser->at[size] & 0xC0) == 0x80)
        size++;
    return size;
}

static bool refuse_here(struct parser *parser, const char *expected)
{
    if (parser->at == parser->end)
        return refuse(parser, "%s is missing", expected);
    return refuse(parser, "%s is expected where '%.*s' stands", expected, character_size(parser), parser->at);
}

static bool parse_quoted(struct parser *parser)
{
    char quote = *parser->at++;
    const char *close = memchr(parser->at, quote, (size_t)(parser->end - parser->at));
    if (close == NULL)
        return refuse(parser, "a quoted text has no closing quote");
    uint32_t string = template_build_string(parser->build, parser->at, (size_t)(close - parser->at));
    template_build_op(parser->build, TEMPLATE_OP_CONST, 0, 0, string);
    parser->at = close + 1;
    return true;
}

static bool parse_number(struct parser *parser)
{
    const char *from = parser->at;
    if (peek(parser) == '-')
        parser->at++;
    if (!is_digit(peek(parser)))
        return refuse_here(parser, "a digit");
    while (is_digit(peek(parser)))
        parser->at++;
    if (peek(parser) == '.') {
        parser->at++;
        if (!is_digit(peek(parser)))
            return refuse_here(parser, "a digit");
        while (is_digit(peek(parser)))
            parser->at++;
    }
    uint32_t string = template_build_string(parser->build, from, (size_t)(parser->at - from));
    template_build_op(parser->build, TEMPLATE_OP_CONST, 0, 0, string);
    return true;
}

static bool parse_name(struct parser *parser, const char *what)
{
    if (!begins_name(peek(parser)))
        return refuse_here(parser, what);
    while (continues_name(peek(parser)))
        parser->at++;
    return true;
}

/* Words that mean values in Liquid, so a path may not begin with them. */
static bool is_reserved(const char *name, size_t size)
{
    static const char *const reserved[] = { "true", "false", "nil", "null", "empty", "blank", "and", "or", "not", "contains" };
    for (size_t i = 0; i < ARRAY_COUNT(reserved); i++)
        if (strlen(reserved[i]) == size && memcmp(reserved[i], name, size) == 0)
            return true;
    return false;
}

static bool parse_path(struct parser *parser)
{
    const char *from = parser->at;
    if (!parse_name(parser, "a name"))
        return false;
    size_t root_size = (size_t)(parser->at - from);
    if (is_reserved(from, root_size))
        return refuse(parser, "'%.*s' is a reserved word", (int)root_size, from);
    while (peek(parser) == '.') {
        parser->at++;
        if (!parse_name(parser, "a name after '.'"))
            return false;
    }
    if (peek(parser) == '[')
        return refuse(parser, "indexes in brackets are not supported");
    size_t size = (size_t)(parser->at - from);
    if (size > TEMPLATE_MAX_PATH_BYTES)
        return refuse(parser, "the path is longer than %d bytes", TEMPLATE_MAX_PATH_BYTES);
    uint32_t path = 0;
    if (!template_build_path(parser->build, from, size, &path))
        return refuse(parser, "the template names more than %d different paths", TEMPLATE_MAX_PATHS);
    template_build_op(parser->build, TEMPLATE_OP_LOAD, 0, 0, path);
    return true;
}

static bool parse_term(struct parser *parser)
{
    skip_blanks(parser);
    char first = peek(parser);
    if (first == '\'' || first == '"')
        return parse_quoted(parser);
    if (is_digit(first) || first == '-')
        return parse_number(parser);
    if (first == '\xE2') /* typographic quotes U+2018 … U+201F, the usual work of an editor */
        return refuse(parser, "straight quotes are needed instead of '%.*s'", character_size(parser), parser->at);
    return parse_path(parser);
}

static bool parse_arguments(struct parser *parser, unsigned max_count, unsigned *ret_count)
{
    *ret_count = 0;
    skip_blanks(parser);
    if (peek(parser) != ':')
        return true;
    do {
        parser->at++;
        if (*ret_count == max_count)
            return refuse(parser, "the filter takes %s", max_count == 0 ? "no argument" : "fewer arguments");
        if (!parse_term(parser))
            return false;
        *ret_count += 1;
        skip_blanks(parser);
    } while (peek(parser) == ',');
    return true;
}

static bool parse_filter(struct parser *parser)
{
    skip_blanks(parser);
    const char *name = parser->at;
    if (!parse_name(parser, "a filter"))
        return false;
    size_t size = (size_t)(parser->at - name);
    unsigned filter = template_filter_find(name, size);
    if (filter == TEMPLATE_FILTER_COUNT)
        return refuse(parser, "there is no filter '%.*s'", size > 64 ? 64 : (int)size, name);

    const struct template_filter_info *info = template_filter_info(filter);
    unsigned count = 0;
    if (!parse_arguments(parser, info->max_arguments, &count))
        return false;
    if (count < info->min_arguments)
        return refuse(parser, "the filter '%s' needs an argument, as in %s: 'text'", info->name, info->name);
    template_build_op(parser->build, TEMPLATE_OP_FILTER, filter, count, 0);
    return true;
}

bool template_expression_compile(struct template_build *build, const char *text, size_t size,
                                 char ret_reason[TEMPLATE_REASON_BYTES])
{
    struct parser parser = { .build = build, .at = text, .end = text + size, .reason = ret_reason };
    skip_blanks(&parser);
    if (parser.at == parser.end)
        return refuse(&parser, "it is empty");
    if (!parse_term(&parser))
        return false;
    for (;;) {
        skip_blanks(&parser);
        if (parser.at == parser.end)
            return true;
        if (peek(&parser) != '|')
            return refuse_here(&parser, "'|' or the end");
        parser.at++;
        if (!parse_filter(&parser))
            return false;
    }
}
