/*
 * Texts of briefs: lines, sentences and templates. Private to src/designer.
 * Results belong to the arena.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* One line: white space is one space, there are no control characters. */
const char *line_of(struct arena *arena, const char *text, size_t size) NONNULL(1, 2) RETURNS_NONNULL;

/* At most `max_points` characters, cut between words and with an ellipsis. */
const char *cut_line(struct arena *arena, const char *text, size_t max_points) NONNULL(1, 2) RETURNS_NONNULL;

/* The first letter in upper case (ASCII and Latin-1). */
const char *capital(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* A text that compiles as a template: merge tags with a mistake are left out, and `*changed` is set. */
const char *safe_template(struct arena *arena, const char *text, bool *changed) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The text without its merge tags. */
const char *without_tags(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* The bytes of the first sentence with the white space behind it. */
size_t sentence_size(const char *text) NONNULL(1) PURE;

/* The bytes of an opening quotation mark at `text`, and the mark that closes it; 0: there is none. */
size_t quote_open(const char *text, const char **ret_close) NONNULL(1, 2);

/* Whether a letter, a digit or a part of a character beyond ASCII is here. */
bool is_word_part(char byte) PURE;

/* The place of one of several phrases with | between, at the beginning of a word; NULL: none. `*ret_size` is the length. */
const char *find_phrase(const char *text, const char *phrases, size_t *ret_size) NONNULL(1, 2, 3);

/* A price in a text: its place, and its bytes; NULL: none. */
const char *find_price(const char *text, size_t *ret_size) NONNULL(1, 2);

/* The first address in a text without the marks behind it; NULL: none. */
const char *find_address(const char *text, size_t *ret_size) NONNULL(1, 2);

/* The text as inline Markdown in which every address is a link. */
const char *link_addresses(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;
