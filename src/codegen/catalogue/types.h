/*
 * C types of arguments: enums, and structs of object arguments. Operations may
 * share a type by enumName or structName. Each type is visited once, after the
 * types of its members.
 */
#pragma once

#include "model.h"

typedef void type_visitor(struct output *out, const struct param *param);

/* Visits each enum and struct of the operations. A shared name with two definitions is reported. */
void visit_types(const struct catalogue *all, struct output *out, type_visitor *on_enum, type_visitor *on_object)
    NONNULL(1, 2, 3, 4);

/* The values of an enum or of tokens. */
json_t *enum_values(const struct param *param) NONNULL(1);

/* The name of one constant: SEND_STATUS_QUEUED. */
const char *enum_constant(const struct param *param, const char *value) NONNULL(1, 2) RETURNS_NONNULL;

/* True when the argument always has a value after decoding. */
bool always_present(const struct param *param) NONNULL(1);

/* True when the argument may be null. */
bool is_nullable(const struct param *param) NONNULL(1);
