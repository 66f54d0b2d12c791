#include "designer/sources.h"

#include "base/json_read.h"
#include "designer/texts.h"

/* The address of a picture, a new reference; NULL: it stays. */
static json_t *new_address(void *addresses, const struct document_field *field, const char *text)
{
    json_t *address = field->kind == DOCUMENT_SOURCE ? json_object_get(addresses, text) : NULL;
    return json_is_string(address) ? json_incref(address) : NULL;
}

const json_t *document_with_sources(struct arena *arena, const json_t *document, const json_t *addresses)
{
    json_t *copy = json_in_arena(arena, json_copy(json_for_iteration(document)));
    json_t *blocks = json_array();
    const struct text_map map = { .new_value = new_address, .context = json_for_iteration(addresses) };
    for (size_t i = 0; i < json_array_size(json_object_get(document, "blocks")); i++) {
        const json_t *block = json_array_get(json_object_get(document, "blocks"), i);
        json_array_append_new(blocks, texts_map_block(&map, block));
    }
    json_object_set_new(copy, "blocks", blocks);
    return copy;
}
