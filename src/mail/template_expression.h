/*
 * The expression of a slot: what stands between {{ and }}.
 *
 *     expression = term *( "|" filter )
 *     filter     = name [ ":" term *( "," term ) ]
 *     term       = path | quoted text | number
 *     path       = name *( "." name )
 *     name       = ( letter / "_" ) *( letter / digit / "_" / "-" )
 *
 * As in Liquid, a quoted text uses single or double quotes and has no escapes. A number is shown as it is written.
 */
#pragma once

#include "mail/template_build.h"

enum { TEMPLATE_REASON_BYTES = 192 };

/* Writes the instructions that push the value of the expression. On failure `ret_reason` says why, as the end of
 * a sentence that begins with the place. */
MUST_CHECK bool template_expression_compile(struct template_build *build, const char *text, size_t size,
                                            char ret_reason[TEMPLATE_REASON_BYTES]) NONNULL(1, 2, 4);
