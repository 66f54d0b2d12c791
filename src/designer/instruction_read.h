/*
 * The reader of instructions: its state, and the grammar by verbs. Private to
 * src/designer/instruction*.c.
 *
 * A clause is one order of an instruction. The function of a clause takes its
 * words and applies its operations to `document`. It returns false without a
 * reason when the words are not of its form, and with a reason when they are but
 * the design does not allow the order.
 */
#pragma once

#include "designer/document.h"
#include "designer/instruction_words.h"

enum { PART_STEPS_MAX = 5 };

struct reading {
    struct words words;
    struct arena *arena;
    const json_t *document; /* with the clauses so far applied; NULL for an outline */
    const json_t *outline;  /* of prepared HTML; NULL for a document */
    json_t *edits;          /* of an outline so far: the new text by id; a new object after each edit */
    int64_t serial;
    json_t *operations; /* so far */
    const char *reason; /* why the clause is refused; NULL: none */
    const char *done;   /* what the clause did, as a sentence */
    bool names_links;   /* the clause names the link that it changes */
    bool names_part;    /* the clause removes a part by its name, with all that is in it */
};

/* A block, or a member of one. */
struct part {
    size_t block;
    const char *steps[PART_STEPS_MAX]; /* member, index, member …; none: the whole block */
    size_t count;
};

struct noun {
    const char *phrases;
    const char *name;   /* for sentences */
    const char *type;   /* of the blocks that it names as a whole; NULL: none */
    const char *member; /* of other blocks; NULL: none */
    const char *in;     /* the only type that has the member; NULL: any */
    const char *value;  /* the member of the part that has its text; NULL: the part is a text */
};

struct target {
    const struct noun *noun;
    const struct part *parts;
    size_t count;
};

/* ---- instruction.c ---- */

/* Refuses the clause; returns false. */
bool reading_refuse(struct reading *reading, const char *reason) NONNULL(1, 2);

/* Applies one operation, a new reference. `done` says what it does. */
bool reading_apply(struct reading *reading, json_t *operation, const char *done) NONNULL(1, 2, 3);

/* Whether every merge tag and address of a value is in its new value or in the instruction; otherwise the clause is refused. */
bool reading_keeps(struct reading *reading, const json_t *before, const json_t *after) NONNULL(1, 2);

/* ---- instruction_parts.c ---- */

/* Takes the words of parts of the document: "the second image of the hero". With `is_one`, several parts are refused, unless one of
 * them is in the hero and `prefers_hero`. */
bool target_take(struct reading *reading, bool is_one, bool prefers_hero, struct target *ret_target) NONNULL(1, 4);

/* Takes a noun alone; NULL: none is next. */
const struct noun *noun_take(struct words *words) NONNULL(1);

const json_t *part_block(const struct reading *reading, const struct part *part) NONNULL(1, 2);
const char *part_block_id(const struct reading *reading, const struct part *part) NONNULL(1, 2);
const json_t *part_value(const struct reading *reading, const struct part *part) NONNULL(1, 2);

/* The part with one more step. */
struct part part_below(struct part part, const char *step) NONNULL(2);

/* The operation that gives a part a value, a new reference; a null removes it. */
json_t *part_set(const struct reading *reading, const struct part *part, json_t *value) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* ---- The clauses ---- */

bool clause_replace(struct reading *reading) NONNULL(1);
bool clause_link(struct reading *reading) NONNULL(1);
bool clause_colour(struct reading *reading) NONNULL(1);
bool clause_set(struct reading *reading) NONNULL(1);
bool clause_remove(struct reading *reading) NONNULL(1);
bool clause_add(struct reading *reading) NONNULL(1);
bool clause_move(struct reading *reading) NONNULL(1);

/* For outlines (instruction_outline.c). */
bool clause_outline(struct reading *reading) NONNULL(1);

/* ---- instruction_text.c ---- */

enum instruction_place { PLACE_TEXT, PLACE_ADDRESS };

/* Replaces words in one text, which may be an address, and adds their count. NULL: they are not in it. */
const char *text_replace(struct reading *reading, const char *text, const char *find, const char *with,
                         enum instruction_place place, size_t *count) NONNULL(1, 2, 3, 4, 6);

/* Takes the number of a part: 1 for the first, ORDINAL_LAST, or ORDINAL_ANY for none. */
enum { ORDINAL_EACH = -1, ORDINAL_LAST = -2, ORDINAL_ANY = 0 };
int ordinal_take(struct words *words) NONNULL(1);

/* Replaces words in all texts, or in those of one block, by operations. `with` "" removes them. */
bool texts_replace(struct reading *reading, const char *find, const char *with, const struct part *only) NONNULL(1, 2, 3);
