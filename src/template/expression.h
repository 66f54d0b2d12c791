/*
 * Expression parser, for placeholders and tags.
 *
 *     expression = condition *( "|" filter )
 *     condition  = [ "not" ] term *( operator [ "not" ] term )
 *     operator   = "==" / "!=" / "<" / ">" / "<=" / ">=" / "contains" / "and" / "or"
 *     filter     = name [ ":" argument *( "," argument ) ]
 *     argument   = term / "allow_false" ":" term
 *     term       = path / quoted text / number / literal / "(" term ".." term ")"
 *     path       = name *( "." name / "[" term "]" )
 *     literal    = "true" / "false" / "nil" / "null" / "empty" / "blank"
 *
 * As in Liquid, comparisons have a higher precedence than `and` and `or`, which have the same precedence and are
 * right-associative: a and b or c is a and (b or c).
 */
#pragma once

#include "template/parser.h"

/* Properties of a parsed expression. */
struct template_expression {
    const char *path;    /* the path, if the expression is only a path; else NULL */
    bool shows_breaks;   /* ends with newline_to_br */
    bool is_url_encoded; /* ends with url_encode */
};

/* Parse an expression or a term and write the instructions that push its value. */
MUST_CHECK bool template_parse_expression(struct template_parser *parser, struct template_expression *ret_expression) NONNULL(1, 2);
MUST_CHECK bool template_parse_term(struct template_parser *parser, const char **ret_path) NONNULL(1, 2);
