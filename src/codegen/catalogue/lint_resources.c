#include "lint.h"

/* Every reference names a shape that is there. */
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
    }
}
