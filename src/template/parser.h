/*
 * Parser for names, signs and constants, used by the parsers of expressions and
 * tags. It reads from left to right and reports errors. Private to the compiler.
 */
#pragma once

#include "template/build.h"
#include "template/names.h"

enum { TEMPLATE_REASON_BYTES = 256 };

/* The state while an expression or a tag is parsed and its instructions are written. A function that fails writes `reason`, the
 * end of a sentence that begins with line and column. */
struct template_parser {
    struct template_build *build;
    struct template_names *names;
    const char *at;
    const char *end;
    unsigned nesting; /* nesting level of terms */
    char reason[TEMPLATE_REASON_BYTES];
};

/* Parses a name, which is borrowed from the parser's text. */
MUST_CHECK bool template_parse_name(struct template_parser *parser, const char *what, const char **ret_name, size_t *ret_size)
    NONNULL(1, 2, 3, 4);

/* Consumes a word or a sign if it comes next. */
bool template_parse_word(struct template_parser *parser, const char *word) NONNULL(1, 2);
bool template_parse_sign(struct template_parser *parser, char sign) NONNULL(1);

/* Fails unless the text ends here; `expected` names the tokens that could follow. */
MUST_CHECK bool template_parse_end(struct template_parser *parser, const char *expected) NONNULL(1, 2);

/* Write the reason and return false. */
PRINTF_LIKE(2, 3) bool template_parse_refuse(struct template_parser *parser, const char *format, ...) NONNULL(1, 2);
bool template_parse_refuse_here(struct template_parser *parser, const char *expected) NONNULL(1, 2);

/* Skips white space, including no-break spaces, which editors insert. */
void template_parse_blanks(struct template_parser *parser) NONNULL(1);

/* Parses a quoted text and removes its quotes and escapes. The parser is at the first quote. */
MUST_CHECK bool template_parse_quoted(struct template_parser *parser, const char **ret_text, size_t *ret_size) NONNULL(1, 2, 3);

/* Parses a number and writes the instruction that pushes it. The parser is at its sign or first digit. */
MUST_CHECK bool template_parse_number(struct template_parser *parser) NONNULL(1);

/* Parses true, false, nil, empty or blank, if one of them comes next, and writes the instruction that pushes it. */
bool template_parse_literal(struct template_parser *parser) NONNULL(1);

/* The next byte; NUL at the end. The text itself contains no NUL. */
static inline char template_parser_peek(const struct template_parser *parser)
{
    return parser->at == parser->end ? '\0' : *parser->at;
}

static inline char template_parser_second(const struct template_parser *parser)
{
    return parser->end - parser->at < 2 ? '\0' : parser->at[1];
}

static inline bool template_parser_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Bytes of the character at `at`, for messages. */
static inline int template_parser_character_size(const struct template_parser *parser)
{
    int size = 1;
    while (parser->at + size < parser->end && ((unsigned char)parser->at[size] & 0xC0) == 0x80)
        size++;
    return size;
}
