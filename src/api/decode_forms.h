/*
 * Private to the decoder: other forms of an argument that mean the same, and
 * the refusals of names and forms that do not. The text "5" means the number
 * 5, JSON text the value inside it, email_id the name emailId, and a bare item
 * a list of one. A refusal names the correction.
 */
#pragma once

#include "api/call.h"
#include "crypto/ids.h"

/* The memory of the trees that are read from texts within the arguments. With the tree of the arguments, they take at most
 * JSON_CALLER_TREE_MAX_BYTES. */
struct inner_trees {
    const json_t *arguments; /* the tree that is still to be counted; NULL: none */
    size_t bytes;            /* counted so far */
    bool exceeded;           /* a text was not read, because its tree would have been too large */
};

/* The state of one decoding. */
struct decoder {
    struct arena *arena;
    const struct id_codec *ids;
    struct inner_trees *inner;
    bool coerces;                 /* scalars and JSON text */
    bool heals;                   /* spellings of names and bare items, too */
    const struct arg_shape *root; /* the arguments, NULL for a REST call */
    const char *const *shown;     /* the names of `root` that may be suggested; NULL: all */
};

/* The field of this exact name, NULL when there is none. */
const struct arg_field *arg_field_named(const struct arg_shape *shape, const char *name) NONNULL(1, 2) PURE;

/* The value in the form that the field declares, when the decoder accepts its form; otherwise the value itself. */
const json_t *decode_form(const struct decoder *decoder, const struct arg_field *field, const json_t *value)
    NONNULL(1, 2) RETURNS_NONNULL;

/* The object with its names as declared, when the decoder heals names; otherwise the object itself. */
const json_t *decode_spelling(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object) NONNULL(1, 2);

/* After a refusal of `value`: suggests the declared form of it, when it has one. Returns false. */
bool decode_suggest_form(const struct decoder *decoder, const struct arg_field *field, const json_t *value, struct error *err)
    NONNULL(1, 2, 4);

/* Refuse a name that the shape does not have, and a text that is no value of an enum. Both suggest the nearest. */
bool decode_refuse_name(const struct decoder *decoder, const struct arg_shape *shape, const char *name, struct error *err)
    NONNULL(1, 2, 3, 4);
bool decode_refuse_value(const struct arg_field *field, const char *text, size_t size, struct error *err) NONNULL(1, 2, 4);
