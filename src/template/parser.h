/*
 * The parser under expressions and tags: reads names, signs and constants from
 * left to right, and says what is wrong where. Used by the compiler only.
 */
#pragma once

#include "template/build.h"
#include "template/names.h"

enum { TEMPLATE_REASON_BYTES = 256 };

/* Reads an expression or a tag from left to right, writing instructions. A function that fails has written the reason,
 * as the end of a sentence that begins with the place. */
struct template_parser {
    struct template_build *build;
    struct template_names *names;
    const char *at;
    const char *end;
    unsigned nesting; /* terms inside terms */
    char reason[TEMPLATE_REASON_BYTES];
};

/* A name, which borrows from the parser's text. */
MUST_CHECK bool template_parse_name(struct template_parser *parser, const char *what, const char **ret_name, size_t *ret_size)
    NONNULL(1, 2, 3, 4);

/* Takes a word or a sign if it comes next. */
bool template_parse_word(struct template_parser *parser, const char *word) NONNULL(1, 2);
bool template_parse_sign(struct template_parser *parser, char sign) NONNULL(1);

/* Fails unless everything has been read; `expected` is what else could follow. */
MUST_CHECK bool template_parse_end(struct template_parser *parser, const char *expected) NONNULL(1, 2);

/* Writes the reason and gives false. */
PRINTF_LIKE(2, 3) bool template_parse_refuse(struct template_parser *parser, const char *format, ...) NONNULL(1, 2);
bool template_parse_refuse_here(struct template_parser *parser, const char *expected) NONNULL(1, 2);

/* Skips white space; no-break spaces come from editors. */
void template_parse_blanks(struct template_parser *parser) NONNULL(1);

/* A quoted text without its quotes and escapes; the parser stands on the first quote. */
MUST_CHECK bool template_parse_quoted(struct template_parser *parser, const char **ret_text, size_t *ret_size) NONNULL(1, 2, 3);

/* Writes what pushes a number; the parser stands on its sign or first digit. */
MUST_CHECK bool template_parse_number(struct template_parser *parser) NONNULL(1);

/* Writes what pushes true, false, nil, empty or blank, if one of them comes next. */
bool template_parse_literal(struct template_parser *parser) NONNULL(1);

/* The next byte, NUL at the end. The text itself holds no NUL. */
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
