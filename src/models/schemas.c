#include "models/schemas.h"

#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char empty_note[] = " Empty: left out.";

/* ---- JSON ---- */

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    if (json == NULL)
        panic("a schema of the models is no JSON");
    return json;
}

/* In the order of the members: providers write an answer in the order of its schema. */
static const char *in_order(struct arena *arena, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    if (text == NULL)
        panic(PANIC_NO_MEMORY);
    const char *copy = arena_dup(arena, text);
    free(text);
    return copy;
}

/* ---- Members that are left out ---- */

/* "integer" for ["integer", "null"]; NULL: the node has one type. */
static const char *type_beside_null(const json_t *node)
{
    const json_t *types = json_object_get(node, "type");
    return json_array_size(types) == 2 ? json_string_value(json_array_get(types, 0)) : NULL;
}

static void replace_null_of_enum(json_t *node)
{
    json_t *values = json_object_get(node, "enum");
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_is_null(json_array_get(values, i)))
            json_array_set_new(values, i, json_string(""));
}

/* Makes a node that may be null one that may be empty. Integers have no empty value and stay. */
static void forbid_null(struct arena *arena, json_t *node)
{
    const char *type = type_beside_null(node);
    if (type == NULL || text_equal(type, "integer"))
        return;
    const char *description = json_get_text(node, "description");
    json_object_set_new(node, "description", json_string(arena_printf(arena, "%s%s", description, empty_note)));
    json_object_set_new(node, "type", json_string(type));
    replace_null_of_enum(node);
}

static void forbid_nulls(struct arena *arena, json_t *node)
{
    const char *name;
    json_t *member;
    forbid_null(arena, node);
    json_object_foreach (json_object_get(node, "properties"), name, member) {
        forbid_nulls(arena, member);
    }
    if (json_object_get(node, "items") != NULL)
        forbid_nulls(arena, json_object_get(node, "items"));
    json_t *forms = json_object_get(node, "anyOf");
    for (size_t i = 0; i < json_array_size(forms); i++)
        forbid_nulls(arena, json_array_get(forms, i));
}

/* ---- Documents ---- */

static json_t *member_of(const json_t *schema, const char *name)
{
    return json_object_get(json_object_get(schema, "properties"), name);
}

static bool is_type(const json_t *block, const char *type)
{
    const json_t *values = json_object_get(member_of(block, "type"), "enum");
    return text_equal(json_string_value(json_array_get(values, 0)), type);
}

static void drop_html(json_t *forms)
{
    for (size_t i = json_array_size(forms); i-- > 0;)
        if (is_type(json_array_get(forms, i), "html"))
            json_array_remove(forms, i);
}

static json_t *document_schema_of(struct arena *arena, enum absence absence)
{
    json_t *schema = json_in_arena(arena, parsed(document_strict_schema()));
    drop_html(json_object_get(json_object_get(member_of(schema, "blocks"), "items"), "anyOf"));
    if (absence == ABSENCE_EMPTY)
        forbid_nulls(arena, schema);
    return schema;
}

const char *schema_of_document(struct arena *arena, enum absence absence)
{
    return in_order(arena, document_schema_of(arena, absence));
}

/* ---- Operations ---- */

/* The members `value`, `theme` and `meta` of an operation are added to it. */
static const char operations_form[] =
    "{\"type\":\"object\",\"description\":\"An edit of a design.\",\"properties\":{"
    "\"touches\":{\"type\":\"object\",\"description\":\"What the edit changes. Nothing else may change.\",\"properties\":{"
    "\"blocks\":{\"type\":\"array\",\"description\":\"Ids of the blocks that are set, removed or moved.\","
    "\"items\":{\"type\":\"string\"}},"
    "\"theme\":{\"type\":\"boolean\",\"description\":\"Colours and fonts change.\"},"
    "\"meta\":{\"type\":\"boolean\",\"description\":\"Subject, preview text, title or language change.\"}},"
    "\"required\":[\"blocks\",\"theme\",\"meta\"],\"additionalProperties\":false},"
    "\"impossible\":{\"type\":[\"string\",\"null\"],"
    "\"description\":\"Why the edit cannot be made; there are no operations then.\"},"
    "\"operations\":{\"type\":\"array\",\"description\":\"Applied in this order.\","
    "\"items\":{\"type\":\"object\",\"description\":\"One operation.\",\"properties\":{"
    "\"op\":{\"type\":\"string\",\"enum\":[\"set\",\"insert\",\"remove\",\"move\",\"theme\",\"meta\"]},"
    "\"block\":{\"type\":[\"string\",\"null\"],\"description\":\"Id of the block; of set, remove and move.\"},"
    "\"after\":{\"type\":[\"string\",\"null\"],"
    "\"description\":\"Id of the block before the new place; of insert and move. Left out: at the top.\"},"
    "\"clear\":{\"type\":[\"array\",\"null\"],\"description\":\"Names of members that the block, the theme or the design loses.\","
    "\"items\":{\"type\":\"string\"}}}}}}}";

static json_t *nullable(json_t *group, const char *description)
{
    json_object_set_new(group, "type", json_pack("[ss]", "object", "null"));
    json_object_set_new(group, "description", json_string(description));
    return group;
}

/* A copy of a member that may be left out. */
static json_t *optional(const json_t *member)
{
    json_t *copy = json_deep_copy(member);
    const char *type = json_get_text(copy, "type");
    if (type == NULL)
        return copy;
    if (json_object_get(copy, "enum") != NULL)
        json_array_append_new(json_object_get(copy, "enum"), json_null());
    json_object_set_new(copy, "type", json_pack("[ss]", type, "null"));
    return copy;
}

/* The members of a document but its blocks and its theme, each of which may be left out. */
static json_t *meta_schema(const json_t *document)
{
    static const char *const names[] = { "lang", "dir", "title", "subjectLine", "previewText", "category" };
    json_t *members = json_object();
    json_t *required = json_array();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_object_set_new(members, names[i], optional(member_of(document, names[i])));
        json_array_append_new(required, json_string(names[i]));
    }
    return json_pack("{soso sb}", "properties", members, "required", required, "additionalProperties", 0);
}

static json_t *value_schema(const json_t *document)
{
    json_t *forms = json_copy(json_object_get(json_object_get(member_of(document, "blocks"), "items"), "anyOf"));
    json_array_append_new(forms, json_pack("{ss}", "type", "null"));
    return json_pack("{ssso}", "description",
                     "The block; of insert and set. Of set: members that are left out stay as they are, and the type stays.",
                     "anyOf", forms);
}

static void close_operation(json_t *operation)
{
    const char *name;
    json_t *member;
    json_t *required = json_array();
    json_object_foreach (json_object_get(operation, "properties"), name, member) {
        json_array_append_new(required, json_string(name));
    }
    json_object_set_new(operation, "required", required);
    json_object_set_new(operation, "additionalProperties", json_false());
}

const char *schema_of_operations(struct arena *arena, enum absence absence)
{
    json_t *schema = json_in_arena(arena, parsed(operations_form));
    json_t *document = document_schema_of(arena, ABSENCE_NULL);
    json_t *operation = json_object_get(member_of(schema, "operations"), "items");
    json_t *members = json_object_get(operation, "properties");
    json_object_set_new(members, "value", value_schema(document));
    json_object_set_new(members, "theme", nullable(json_deep_copy(member_of(document, "theme")), "New values of the theme."));
    json_object_set_new(members, "meta", nullable(meta_schema(document), "New values of the design itself."));
    close_operation(operation);
    close_operation(schema);
    if (absence == ABSENCE_EMPTY)
        forbid_nulls(arena, schema);
    return in_order(arena, schema);
}

/* ---- Splices ---- */

const char *schema_of_splices(void)
{
    return "{\"type\":\"object\",\"description\":\"An edit of an imported design.\",\"properties\":{"
           "\"touches\":{\"type\":\"array\",\"description\":\"Ids of the texts, links and images that change. Nothing else may "
           "change.\",\"items\":{\"type\":\"string\"}},"
           "\"impossible\":{\"type\":\"string\",\"description\":\"Why the edit cannot be made; empty when it can.\"},"
           "\"operations\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
           "\"id\":{\"type\":\"string\",\"description\":\"Id of a text, link or image, or the altId of an image.\"},"
           "\"with\":{\"type\":\"string\",\"description\":\"The new text or address.\"}},"
           "\"required\":[\"id\",\"with\"],\"additionalProperties\":false}}},"
           "\"required\":[\"touches\",\"impossible\",\"operations\"],\"additionalProperties\":false}";
}

/* ---- Answers ---- */

static bool is_absent(const char *name, const json_t *value, enum absence absence)
{
    bool is_empty_text = json_is_string(value) && *json_string_value(value) == '\0';
    if (is_empty_text && absence == ABSENCE_NULL && text_equal(name, "alt"))
        return false;
    return json_is_null(value) || is_empty_text || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* Returns a new reference. The depth is bounded by that of the reader. */
static json_t *without_absent(const json_t *value, enum absence absence)
{
    const char *name;
    json_t *member;
    if (json_is_array(value)) {
        json_t *copy = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(copy, without_absent(json_array_get(value, i), absence));
        return copy;
    }
    if (!json_is_object(value))
        return json_incref(json_for_iteration(value));
    json_t *copy = json_object();
    json_object_foreach (json_for_iteration(value), name, member) {
        json_t *kept = without_absent(member, absence);
        if (is_absent(name, kept, absence))
            json_decref(kept);
        else
            json_object_set_new(copy, name, kept);
    }
    return copy;
}

json_t *answer_without_absent(struct arena *arena, const json_t *answer, enum absence absence)
{
    return json_in_arena(arena, without_absent(answer, absence));
}
