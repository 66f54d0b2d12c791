/*
 * The expressions of slots and tags.
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
 * As in Liquid, comparisons bind before `and` and `or`, which bind alike and from the right: a and b or c is
 * a and (b or c).
 */
#pragma once

#include "template/parser.h"

/* What is known of an expression besides its instructions. */
struct template_expression {
    const char *path;    /* the path it is, and nothing but a path; NULL otherwise */
    bool shows_breaks;   /* ends with newline_to_br */
    bool is_url_encoded; /* ends with url_encode */
};

/* Writes what pushes the value. */
MUST_CHECK bool template_parse_expression(struct template_parser *parser, struct template_expression *ret_expression) NONNULL(1, 2);
MUST_CHECK bool template_parse_term(struct template_parser *parser, const char **ret_path) NONNULL(1, 2);
