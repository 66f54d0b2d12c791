/*
 * Documents: the design of an email as data. schemas/document.json declares the
 * form; src/designer/compile.mjs makes the tables and the JSON Schemas from it.
 *
 * A document that document_read accepts is canonical: its members are in the
 * order of the declaration, there are no nulls, each block has an id, and every
 * merge tag compiles. Equal documents have equal bytes.
 *
 * Pure: no clock, no connection, no randomness. Everything belongs to the arena.
 * Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

enum { DOCUMENT_BLOCKS_MAX = 60, DOCUMENT_MAX_BYTES = 512 * 1024 };

enum document_kind {
    DOCUMENT_INLINE, /* inline Markdown with merge tags */
    DOCUMENT_PLAIN,  /* merge tags only */
    DOCUMENT_NAME,   /* neither */
    DOCUMENT_LINK,
    DOCUMENT_SOURCE,
    DOCUMENT_ENUM,
    DOCUMENT_INTEGER,
    DOCUMENT_COLOUR,
    DOCUMENT_MOMENT,
    DOCUMENT_HTML,
    DOCUMENT_CONDITION,
    DOCUMENT_PATH,
    DOCUMENT_ID,
    DOCUMENT_GROUP,
    DOCUMENT_LIST, /* `fields` has one row, which describes each entry */
};

enum document_pattern { DOCUMENT_PATTERN_NONE, DOCUMENT_PATTERN_LANGUAGE, DOCUMENT_PATTERN_FONTS, DOCUMENT_PATTERN_TIME_ZONE };

struct document_field {
    const char *name;
    enum document_kind kind;
    bool is_required;
    int64_t min; /* characters, entries, or the number itself */
    int64_t max;
    enum document_pattern pattern;
    const char *const *values; /* of an enum, with a NULL behind */
    const struct document_field *fields;
    size_t field_count;
};

struct document_block_type {
    const char *type;
    const char *const *variants; /* with a NULL behind; the first one is taken when none is given */
    const struct document_field *fields;
    size_t field_count;
};

/* NULL: there is no such type. */
const struct document_block_type *document_block_type(const char *type) PURE;

/* Block ids of a design are given from a serial number, which only grows: b1, b2, … An operation on a design of another block
 * serial would reuse ids. */

/* Checks a document of a caller or of a model. Blocks have no ids yet: each gets the next one after `*serial`, which moves on.
 * Errors: INVALID_REQUEST with the path (blocks.2.items.0.href), PAYLOAD_TOO_LARGE. */
MUST_CHECK bool document_read(struct arena *arena, const json_t *given, int64_t *serial, const json_t **ret_document,
                              struct error *err) NONNULL(1, 3, 4, 5);

/* The JSON Schema of documents: the full one, or the strict one for model providers, whose blocks have no ids. */
const char *document_schema(void) RETURNS_NONNULL;
const char *document_strict_schema(void) RETURNS_NONNULL;

/* The members of documents and blocks in a short form, for assistants. */
const char *document_help(void) RETURNS_NONNULL;

/* The index of the block with this id; false: the document has none. */
bool document_find_block(const json_t *document, const char *id, size_t *ret_index) NONNULL(1, 2, 3);
