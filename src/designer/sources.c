#include "designer/sources.h"

#include "base/json_read.h"

static json_t *with_sources(const struct document_field *field, json_t *value, const json_t *addresses);

static json_t *object_with_sources(const struct document_field *fields, size_t count, const json_t *object, const json_t *addresses)
{
    json_t *copy = json_copy(json_for_iteration(object));
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(object, fields[i].name);
        if (value != NULL)
            json_object_set_new(copy, fields[i].name, with_sources(&fields[i], value, addresses));
    }
    return copy;
}

/* The value of a field, a new reference. */
static json_t *with_sources(const struct document_field *field, json_t *value, const json_t *addresses)
{
    if (field->kind == DOCUMENT_GROUP)
        return object_with_sources(field->fields, field->field_count, value, addresses);
    if (field->kind == DOCUMENT_LIST) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(list, with_sources(field->fields, json_array_get(value, i), addresses));
        return list;
    }
    json_t *address = field->kind == DOCUMENT_SOURCE ? json_object_get(addresses, json_string_value(value)) : NULL;
    return json_incref(json_is_string(address) ? address : value);
}

const json_t *document_with_sources(struct arena *arena, const json_t *document, const json_t *addresses)
{
    json_t *copy = json_in_arena(arena, json_copy(json_for_iteration(document)));
    json_t *blocks = json_array();
    for (size_t i = 0; i < json_array_size(json_object_get(document, "blocks")); i++) {
        const json_t *block = json_array_get(json_object_get(document, "blocks"), i);
        const struct document_block_type *type = document_block_type(json_get_text(block, "type"));
        json_array_append_new(blocks, object_with_sources(type->fields, type->field_count, block, addresses));
    }
    json_object_set_new(copy, "blocks", blocks);
    return copy;
}
