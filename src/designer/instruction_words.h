/*
 * The words of an instruction, and phrases of them. Private to the reader of
 * instructions (src/designer/instruction*.c).
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum { INSTRUCTION_MAX_WORDS = 4000 };

enum word_kind {
    WORD_PLAIN,   /* `text` is in lower case */
    WORD_QUOTED,  /* `text` is what the quotation marks enclose */
    WORD_ADDRESS, /* a link, or a merge tag */
    WORD_COMMA,
    WORD_STOP, /* the end of a sentence or of a line */
    WORD_END,  /* the last one */
};

struct word {
    enum word_kind kind;
    const char *text;
    size_t start; /* its place in the source, bytes */
    size_t end;
};

struct words {
    struct arena *arena;
    const char *source;
    const struct word *items;
    size_t at; /* the next word */
};

/* False: a quotation mark is not closed, or there are too many words. */
bool words_read(struct arena *arena, const char *source, struct words *ret_words) NONNULL(1, 2, 3);

const struct word *words_next(const struct words *words) NONNULL(1) RETURNS_NONNULL;

/* Takes one of several phrases, which `|` divides; a longer phrase is before its own beginning. False: none is next. */
bool words_take(struct words *words, const char *phrases) NONNULL(1, 2);

/* The text of the next word when it has this kind; NULL: it has not. */
const char *words_take_kind(struct words *words, enum word_kind kind) NONNULL(1);

/* Whether the sentence ends here. */
bool words_are_at_end(const struct words *words) NONNULL(1);

/* The source from one word up to the word before another one. */
const char *words_source(const struct words *words, size_t from, size_t to) NONNULL(1) RETURNS_NONNULL;

/* The source from the next word to the end of its sentence; the words are taken. */
const char *words_take_rest(struct words *words) NONNULL(1) RETURNS_NONNULL;
