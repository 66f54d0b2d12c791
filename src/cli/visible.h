/*
 * Text for terminals: its width, and with everything written out that a
 * terminal would obey instead of show, or that makes text look like other text.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <stdio.h>
#include <unitypes.h>

/* The first character of valid UTF-8, and its bytes; the columns it takes. */
size_t character_at(const char *text, size_t left, ucs4_t *ret_point) NONNULL(1, 3);
size_t character_columns(ucs4_t point);

/* Columns that a text takes on a terminal. */
size_t text_columns(const char *text) NONNULL(1) PURE;

/* Control and formatting characters as \n, \x1b or \u{202e}. */
void visible_add(struct buf *out, const char *text) NONNULL(1, 2);
const char *visible_text(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* The same JSON, such characters as the escapes of JSON; it stays the same value. Line breaks and tabs between its members stay. */
const char *visible_json(struct arena *arena, const char *json) NONNULL(1, 2) RETURNS_NONNULL;

/* Prints JSON and a line break: byte by byte as it is, but to a terminal as it can be shown. */
void print_json_text(struct arena *arena, FILE *file, const char *json) NONNULL(1, 2, 3);
