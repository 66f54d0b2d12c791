/*
 * JSON reader, bounded: it checks the size and depth of untrusted text, and the
 * memory of its tree, before jansson builds that tree, so that the cost of any
 * input is bounded. A tree can be a hundred times as large as its text.
 * Duplicate keys are refused. The tree belongs to the arena.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <jansson.h>

enum {
    JSON_READ_MAX_DEPTH = 64,
    JSON_CALLER_TREE_MAX_BYTES = 64 * 1024 * 1024, /* of the tree of one call's arguments */
};

struct json_bounds {
    size_t max_bytes;
    unsigned max_depth; /* JSON_READ_MAX_DEPTH when 0 */
    bool allow_nul;     /* accept U+0000 in texts; most C code takes it for the end of the text */
    bool from_jsonb; /* the database has written it: it prints 1.5e300 as an integer. Integers beyond 64 bits are read as reals */

    /* At most JSON_CALLER_TREE_MAX_BYTES for the text of a caller. 0: only max_bytes bounds the tree. */
    size_t max_tree_bytes;
    /* Called with the memory that the tree will take at most, before it is built; false refuses with the error. NULL: not wanted.
     */
    bool (*claim)(void *context, size_t tree_bytes, struct error *err);
    void *claim_context;
};

/* Parses one JSON value of any type.
 * Errors: PAYLOAD_TOO_LARGE (text or tree), INVALID_REQUEST (malformed, too deep, not UTF-8), with line and column in the message,
 * and those of `claim`. */
MUST_CHECK bool json_read(struct arena *arena, const char *text, size_t size, struct json_bounds bounds, const json_t **ret_json,
                          struct error *err) NONNULL(1, 5, 6);

/* The bounds of the tree that a JSON text gives, found without building the tree. */
struct json_measure {
    unsigned depth;    /* the depth of nesting */
    size_t tree_bytes; /* the most memory that building the tree takes, the lexer's buffers included */
};
struct json_measure json_text_measure(const char *text, size_t size) PURE;

/* The memory that a tree takes at most. */
size_t json_tree_bytes(const json_t *json) NONNULL(1) PURE;

/* Makes the arena own a jansson object; returns the object. */
json_t *json_in_arena(struct arena *arena, json_t *json) NONNULL(1);

/* jansson's iteration needs a tree that is not const, but does not change it. */
static inline json_t *json_for_iteration(const json_t *json)
{
    return (json_t *)(uintptr_t)json;
}

/* Members by name; NULL when absent or of another type. The text lives as long as the tree. */
const char *json_get_text(const json_t *object, const char *name) NONNULL(2);
int64_t json_get_int(const json_t *object, const char *name, int64_t otherwise) NONNULL(2);
bool json_get_bool(const json_t *object, const char *name, bool otherwise) NONNULL(2);

/* Compact text with sorted keys: equal values give equal bytes. */
char *json_canonical(struct arena *arena, const json_t *json) NONNULL(1, 2) RETURNS_NONNULL;
char *json_compact(struct arena *arena, const json_t *json) NONNULL(1, 2) RETURNS_NONNULL;
