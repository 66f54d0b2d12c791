#include "nodes.h"

#include <stdint.h>
#include <string.h>

enum node_kind node_kind_of(const json_t *field)
{
    const char *type = member_text(field, "type");
    const char *format = member_text(field, "format");
    const json_t *items = json_object_get(field, "items");
    if (type == NULL) {
        return member_text(field, "shared") != NULL ? NODE_KIND_OBJECT : NODE_KIND_NONE;
    }
    if (strcmp(type, "string") == 0) {
        if (format != NULL) {
            return strncmp(format, "id:", 3) == 0 ? NODE_KIND_ID : strcmp(format, "local-time") == 0 ? NODE_KIND_LOCAL_TIME : NODE_KIND_NONE;
        }
        return member_text(field, "const") != NULL ? NODE_KIND_CONST : json_object_get(field, "enum") != NULL ? NODE_KIND_ENUM : NODE_KIND_TEXT;
    }
    if (strcmp(type, "array") == 0) {
        return json_object_get(items, "enum") != NULL ? NODE_KIND_SET : member_text(items, "shared") != NULL ? NODE_KIND_LIST : NODE_KIND_NONE;
    }
    static const struct {
        const char *type;
        enum node_kind kind;
    } plain[] = {
        { "integer", NODE_KIND_INTEGER }, { "number", NODE_KIND_NUMBER }, { "boolean", NODE_KIND_BOOLEAN },
        { "object", NODE_KIND_OBJECT },   { "any", NODE_KIND_VALUE },
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strcmp(type, plain[i].type) == 0) {
            return plain[i].kind;
        }
    }
    return NODE_KIND_NONE;
}

static const json_t *item_of(const json_t *field)
{
    const json_t *items = json_object_get(field, "items");
    return items != NULL ? items : field;
}

json_t *node_shape_of(const struct catalogue *all, const json_t *field)
{
    const char *shared = member_text(item_of(field), "shared");
    if (shared != NULL) {
        return json_object_get(all->node_shapes, shared);
    }
    return json_object_get(field, "properties") != NULL ? (json_t *)(uintptr_t)field : NULL;
}

const char *node_shape_name(const json_t *field, const char *owner, const char *name)
{
    const char *shared = member_text(item_of(field), "shared");
    return shared != NULL ? snake_case(shared) : text("%s_%s", owner, snake_case(name));
}

const json_t *node_words_of(const json_t *field)
{
    return item_of(field);
}
