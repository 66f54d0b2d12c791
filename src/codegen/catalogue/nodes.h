/*
 * Node declarations: the types of nodes of automations, from schemas/nodes, and
 * what the lint and the emitters ask about the fields of their configs.
 */
#pragma once

#include "model.h"

/* Mirrors enum node_field_kind of the generated catalogue/nodes.h. */
enum node_kind {
    NODE_KIND_NONE, /* not decodable */
    NODE_KIND_CONST,
    NODE_KIND_TEXT,
    NODE_KIND_ID,
    NODE_KIND_LOCAL_TIME,
    NODE_KIND_ENUM,
    NODE_KIND_SET,
    NODE_KIND_INTEGER,
    NODE_KIND_NUMBER,
    NODE_KIND_BOOLEAN,
    NODE_KIND_OBJECT,
    NODE_KIND_LIST,
    NODE_KIND_VALUE,
};

/* How a declared field is decoded. */
enum node_kind node_kind_of(const json_t *field) NONNULL(1);

/* The shape that a field refers to, or its own members; NULL when it has none. Of a list: that of its items. */
json_t *node_shape_of(const struct catalogue *all, const json_t *field) NONNULL(1, 2);

/* The C name of that shape. `owner` and `name` give an inline one its name. */
const char *node_shape_name(const json_t *field, const char *owner, const char *name) NONNULL(1, 2, 3);

/* The declaration with the words of an enum or a set. */
const json_t *node_words_of(const json_t *field) NONNULL(1);
