/*
 * Private to the decoder: the values of arguments that contain no arguments
 * themselves, which are scalars, lists of texts and JSON that the engine reads.
 */
#pragma once

#include "api/decode_forms.h"

/* Stores the value where the struct of the arguments has the field. Refuses a value of another type or size, with the name of the
 * field. Not for objects and lists of objects. */
bool decode_simple_value(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                         struct error *err) NONNULL(1, 2, 4, 5);

/* Returns false. `wanted` completes "NAME must be". */
bool decode_refuse_type(const struct arg_field *field, const char *wanted, struct error *err) NONNULL(1, 2, 3);
/* False when the field does not take that number of items. */
bool decode_check_list_size(const struct arg_field *field, size_t count, struct error *err) NONNULL(1, 3);
/* Writes the path of an item of a list: "NAME.INDEX". */
void decode_item_path(char path[ERROR_PARAM_MAX_BYTES], const struct arg_field *field, size_t index) NONNULL(1, 2);
