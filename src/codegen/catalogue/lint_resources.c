#include "lint.h"

/* Every reference names an existing shape. */
static void lint_references(const struct catalogue *all, json_t *schema, const char *place)
{
    size_t i;
    json_t *item;
    json_array_foreach(schema, i, item) {
        lint_references(all, item, place);
    }
    const json_t *reference = json_object_get(schema, "$ref");
    if (reference != NULL && (!json_is_string(reference) || without_reference(all, schema) == NULL)) {
        problem(place, "refers to %s, which is not in schemas/resources", json_is_string(reference) ? json_string_value(reference) : "");
    }
    const char *name;
    json_t *member;
    json_object_foreach(schema, name, member) {
        lint_references(all, member, place);
    }
}

static void lint_shape(json_t *schema, const char *place);

static void lint_members_of(json_t *schema, const char *place)
{
    json_t *properties = json_object_get(schema, "properties");
    if (properties != NULL && !json_is_object(properties)) {
        problem(place, "properties must be an object");
        return;
    }
    const char *name;
    json_t *member;
    json_object_foreach(properties, name, member) {
        lint_shape(member, text("%s: %s", place, name));
    }
    const json_t *required = json_object_get(schema, "required");
    if (required != NULL && !json_is_array(required)) {
        problem(place, "required must be a list of names");
    }
    size_t i;
    const json_t *wanted;
    json_array_foreach(required, i, wanted) {
        if (!json_is_string(wanted) || json_object_get(properties, json_string_value(wanted)) == NULL) {
            problem(place, "requires %s, which is not among its properties",
                    json_is_string(wanted) ? json_string_value(wanted) : "an entry that is not a name");
        }
    }
}

static void lint_forms(json_t *schema, const char *name, const char *place)
{
    json_t *forms = json_object_get(schema, name);
    if (forms != NULL && json_array_size(forms) == 0) {
        problem(place, "%s must be a list of shapes", name);
    }
    size_t i;
    json_t *form;
    json_array_foreach(forms, i, form) {
        lint_shape(form, place);
    }
}

/* Examples and OpenAPI are generated from a shape and rely on its form, as defined by JSON Schema. */
static void lint_shape(json_t *schema, const char *place)
{
    if (!json_is_object(schema)) {
        problem(place, "is not a shape");
        return;
    }
    const json_t *type = json_object_get(schema, "type");
    size_t named = 0;
    while (json_is_string(json_array_get(type, named))) {
        named++;
    }
    if (type != NULL && !json_is_string(type) && (named == 0 || named < json_array_size(type))) {
        problem(place, "type must be a name or a list of names");
    }
    lint_members_of(schema, place);
    lint_forms(schema, "anyOf", place);
    lint_forms(schema, "oneOf", place);
    if (json_object_get(schema, "items") != NULL) {
        lint_shape(json_object_get(schema, "items"), place);
    }
}

void lint_resources(const struct catalogue *all)
{
    const char *name;
    json_t *schema;
    json_object_foreach(all->resources, name, schema) {
        const char *place = text("schemas/resources/%s.json", name);
        if (member_text(schema, "type") == NULL) {
            problem(place, "has no type");
        }
        lint_text(schema, "description", place);
        lint_references(all, schema, place);
        lint_shape(schema, place);
    }
}
