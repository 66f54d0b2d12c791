#include "designer/texts.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

/* One walk over the texts of an object. */
struct text_walk {
    const struct text_map *map;
    bool has_new; /* a text has got a new value */
};

/* ---- Walking ---- */

static json_t *walk_fields(struct text_walk *walk, const struct document_field *fields, size_t count, const json_t *object);

/* The value of a field, a new reference. */
static json_t *walk_value(struct text_walk *walk, const struct document_field *field, json_t *value)
{
    if (field->kind == DOCUMENT_GROUP)
        return walk_fields(walk, field->fields, field->field_count, value);
    if (field->kind == DOCUMENT_LIST) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(list, walk_value(walk, field->fields, json_array_get(value, i)));
        return list;
    }
    const char *text = json_string_value(value);
    json_t *new_value = text != NULL ? walk->map->new_value(walk->map->context, field, text) : NULL;
    walk->has_new = walk->has_new || new_value != NULL;
    return new_value != NULL ? new_value : json_incref(value);
}

static json_t *walk_fields(struct text_walk *walk, const struct document_field *fields, size_t count, const json_t *object)
{
    json_t *copy = json_copy(json_for_iteration(object));
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(object, fields[i].name);
        if (value != NULL)
            json_object_set_new(copy, fields[i].name, walk_value(walk, &fields[i], value));
    }
    return copy;
}

static json_t *walk_block(struct text_walk *walk, const json_t *block)
{
    const struct document_block_type *type = document_block_type(json_get_text(block, "type"));
    return walk_fields(walk, type->fields, type->field_count, block);
}

/* The members of `after` that are not those of `before`, a new reference. */
static json_t *changed_members(const json_t *before, const json_t *after)
{
    const char *name;
    json_t *value;
    json_t *values = json_object();
    json_object_foreach (json_for_iteration(after), name, value) {
        if (!json_equal(value, json_object_get(before, name)))
            json_object_set(values, name, value);
    }
    return values;
}

json_t *texts_map_block(const struct text_map *map, const json_t *block)
{
    struct text_walk walk = { .map = map };
    return walk_block(&walk, block);
}

void texts_change_block(const struct text_map *map, const json_t *block, json_t *operations)
{
    struct text_walk walk = { .map = map };
    json_t *changed = walk_block(&walk, block);
    if (walk.has_new)
        json_array_append_new(operations, json_pack("{ss ss so}", "op", "set", "block", json_get_text(block, "id"), "values",
                                                    changed_members(block, changed)));
    json_decref(changed);
}

void texts_change_members(const struct text_map *map, const json_t *document, json_t *operations)
{
    static const struct document_field members[] = {
        { .name = "subjectLine", .kind = DOCUMENT_PLAIN },
        { .name = "previewText", .kind = DOCUMENT_PLAIN },
    };
    struct text_walk walk = { .map = map };
    json_t *changed = walk_fields(&walk, members, sizeof(members) / sizeof(members[0]), document);
    if (walk.has_new)
        json_array_append_new(operations, json_pack("{ss so}", "op", "meta", "values", changed_members(document, changed)));
    json_decref(changed);
}

/* ---- Parts of a text ---- */

json_t *text_value(const char *text)
{
    return text[strspn(text, " \n")] == '\0' ? json_null() : json_string(text);
}

static size_t size_until(const char *text, const char *begin, const char *end)
{
    const char *close = text_starts_with(text, begin) ? strstr(text + strlen(begin), end) : NULL;
    return close != NULL ? (size_t)(close - text) + strlen(end) : 0;
}

size_t merge_tag_size(const char *text)
{
    size_t size = size_until(text, "{{", "}}");
    return size > 0 ? size : size_until(text, "{%", "%}");
}

size_t link_end_size(const char *text)
{
    return size_until(text, "](", ")");
}

bool text_has_whole_tags(const char *text)
{
    while (*text != '\0') {
        size_t size = merge_tag_size(text);
        if (size == 0 && (text_starts_with(text, "{{") || text_starts_with(text, "}}") || text_starts_with(text, "{%")))
            return false;
        text += size > 0 ? size : 1;
    }
    return true;
}

bool text_is_address_like(const char *text)
{
    return strchr(text, ' ') == NULL && strpbrk(text, "/:?#=&@%.") != NULL;
}
