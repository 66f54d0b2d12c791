/*
 * Contextual escaping of placeholder values (XSS, header injection). context.c
 * chooses the escape at compile time. Values are UTF-8. Only the growth of the
 * buffer allocates memory.
 */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"
#include "template/format.h"

/* Appends `text` so that it cannot leave its context.
 *
 * URL_START: a URL with the scheme http, https, mailto or tel, or without one; any other URL becomes "#".
 *            Characters that RFC 3986 does not allow in a URL are percent-encoded.
 * URL_PART: all characters except unreserved ones (RFC 3986 §2.3) are percent-encoded.
 * URL_OPAQUE: the same, but '+' and '@' are kept (RFC 3966, RFC 6068). */
void template_escape_add(struct buf *out, enum template_escape escape, const char *text, size_t size) NONNULL(1, 3);
