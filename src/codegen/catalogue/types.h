/*
 * The C types that arguments need: enums, and structs of object arguments.
 * Several operations may share one by enumName or structName; it is visited
 * once, what it is made of before itself.
 */
#pragma once

#include "model.h"

typedef void type_visitor(struct output *out, const struct param *param);

/* Visits each enum and each struct that an operation needs; a shared name with two meanings is reported. */
void visit_types(const struct catalogue *all, struct output *out, type_visitor *on_enum, type_visitor *on_object)
    NONNULL(1, 2, 3, 4);

/* The values of an enum or of tokens. */
json_t *enum_values(const struct param *param) NONNULL(1);

/* The name of one constant: SEND_STATUS_QUEUED. */
const char *enum_constant(const struct param *param, const char *value) NONNULL(1, 2) RETURNS_NONNULL;

/* Whether the argument always has a value after decoding. */
bool always_present(const struct param *param) NONNULL(1);

/* Whether the argument may be set to null. */
bool is_nullable(const struct param *param) NONNULL(1);
