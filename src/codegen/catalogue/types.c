#include "types.h"

#include <string.h>

struct type_walk {
    struct output *out;
    type_visitor *on_enum;
    type_visitor *on_object;
    json_t *seen; /* type name → its first definition */
};

json_t *enum_values(const struct param *param)
{
    return json_object_get(param->schema, "enum");
}

const char *enum_constant(const struct param *param, const char *value)
{
    return text("%s_%s", upper_case(param->type_name), upper_case(value));
}

bool always_present(const struct param *param)
{
    return param->required || json_object_get(param->schema, "default") != NULL;
}

bool is_nullable(const struct param *param)
{
    return member_true(param->schema, "nullable");
}

static const char *definition_of(const struct param *param)
{
    if (param->kind == PARAM_OBJECT_LIST) {
        return json_text(json_object_get(param->schema, "items"));
    }
    return json_text(param->kind == PARAM_OBJECT ? param->schema : enum_values(param));
}

static bool is_first_use(struct type_walk *type_walk, const struct param *param)
{
    const char *definition = definition_of(param);
    const char *known = member_text(type_walk->seen, param->type_name);
    if (known == NULL) {
        json_object_set_new(type_walk->seen, param->type_name, json_string(definition));
        return true;
    }
    if (strcmp(known, definition) != 0) {
        problem(param->where, "%s is declared differently elsewhere", param->type_name);
    }
    return false;
}

static void visit(struct type_walk *type_walk, const struct param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct param *param = &params[i];
        visit(type_walk, param->fields, param->field_count);
        if (param->type_name == NULL || !is_first_use(type_walk, param)) {
            continue;
        }
        if (param->kind == PARAM_ENUM || param->kind == PARAM_TOKENS) {
            type_walk->on_enum(type_walk->out, param);
        } else {
            type_walk->on_object(type_walk->out, param);
        }
    }
}

static void ignore_type(struct output *out UNUSED, const struct param *param UNUSED)
{
}

void lint_types(const struct catalogue *all)
{
    struct output nowhere = { .stream = NULL };
    visit_types(all, &nowhere, ignore_type, ignore_type);
}

void visit_types(const struct catalogue *all, struct output *out, type_visitor *on_enum, type_visitor *on_object)
{
    struct type_walk type_walk = { .out = out, .on_enum = on_enum, .on_object = on_object, .seen = keep(json_object()) };
    for (size_t i = 0; i < all->op_count; i++) {
        visit(&type_walk, all->ops[i].params, all->ops[i].param_count);
    }
}
