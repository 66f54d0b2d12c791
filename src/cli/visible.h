/*
 * Text for terminals: display width, and sanitised output: control and
 * formatting characters are written as escapes, so that they cannot act on the
 * terminal or disguise text.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <stdio.h>
#include <unitypes.h>

/* Decodes the first character of valid UTF-8; returns its bytes. character_columns gives its display width. */
size_t character_at(const char *text, size_t left, ucs4_t *ret_point) NONNULL(1, 3);
size_t character_columns(ucs4_t point);

/* The display width of a text. */
size_t text_columns(const char *text) NONNULL(1) PURE;

/* Adds text with control and formatting characters as \n, \x1b or \u{202e}. */
void visible_add(struct buf *out, const char *text) NONNULL(1, 2);
const char *visible_text(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* The same JSON value, with such characters as JSON escapes. Line breaks and tabs between members stay. */
const char *visible_json(struct arena *arena, const char *json) NONNULL(1, 2) RETURNS_NONNULL;

/* Prints JSON and a line break: unchanged to files and pipes, sanitised to a terminal. */
void print_json_text(struct arena *arena, FILE *file, const char *json) NONNULL(1, 2, 3);
