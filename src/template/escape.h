/*
 * Escaping of slot values by context, chosen at compile time by
 * template_context. Values are UTF-8; nothing is allocated but the growth of
 * the buffer.
 */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"
#include "template/format.h"

/* Appends `text` so that it cannot leave its context.
 *
 * URL_START: a URL whose scheme is http, https, mailto or tel, or that has none; any other becomes "#".
 *            Characters that RFC 3986 does not allow in a URL are percent-encoded.
 * URL_PART: everything but unreserved characters (RFC 3986 §2.3) is percent-encoded.
 * URL_OPAQUE: the same, keeping '+' and '@' (RFC 3966, RFC 6068). */
void template_escape_add(struct buf *out, enum template_escape escape, const char *text, size_t size) NONNULL(1, 3);
