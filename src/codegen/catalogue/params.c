#include "model.h"

#include <stdlib.h>
#include <string.h>

static bool is(const char *value, const char *wanted)
{
    return value != NULL && strcmp(value, wanted) == 0;
}

static bool starts_with(const char *value, const char *prefix)
{
    return value != NULL && strncmp(value, prefix, strlen(prefix)) == 0;
}

static bool is_tokens(const json_t *schema)
{
    return is(member_text(schema, "format"), "tokens");
}

static enum param_kind kind_of_string(const json_t *schema)
{
    const char *format = member_text(schema, "format");
    if (is_tokens(schema)) {
        return PARAM_TOKENS;
    }
    if (json_object_get(schema, "enum") != NULL) {
        return PARAM_ENUM;
    }
    if (starts_with(format, "id:")) {
        return PARAM_ID;
    }
    return is(format, "date-time") ? PARAM_TIME : PARAM_TEXT;
}

static enum param_kind kind_of_array(const json_t *schema)
{
    const json_t *items = json_object_get(schema, "items");
    if (is(member_text(items, "type"), "string")) {
        return PARAM_TEXT_LIST;
    }
    return json_object_get(items, "properties") != NULL ? PARAM_OBJECT_LIST : PARAM_JSON;
}

static enum param_kind kind_of(const json_t *schema, const char *where)
{
    const char *type = member_text(schema, "type");
    if (is(type, "string")) {
        return kind_of_string(schema);
    }
    if (is(type, "integer")) {
        return PARAM_INTEGER;
    }
    if (is(type, "number")) {
        return PARAM_NUMBER;
    }
    if (is(type, "boolean")) {
        return PARAM_BOOLEAN;
    }
    if (is(type, "array")) {
        return kind_of_array(schema);
    }
    if (is(type, "object")) {
        return json_object_get(schema, "properties") != NULL ? PARAM_OBJECT : PARAM_JSON;
    }
    problem(where, "has no type");
    return PARAM_TEXT;
}

static struct param *make_fields(json_t *properties, const json_t *required, enum param_place place, const char *where,
                                 const char *c_prefix);

static const char *type_name_of(const struct param *param, const char *c_prefix)
{
    const char *joined = text("%s_%s", c_prefix, param->c_name);
    const char *shared = NULL;
    switch (param->kind) {
    case PARAM_ENUM:
    case PARAM_TOKENS:
        shared = member_text(param->schema, "enumName");
        return shared != NULL ? shared : joined;
    case PARAM_OBJECT:
        shared = member_text(param->schema, "structName");
        return shared != NULL ? shared : joined;
    case PARAM_OBJECT_LIST:
        shared = member_text(json_object_get(param->schema, "items"), "structName");
        return shared != NULL ? shared : text("%s_item", joined);
    case PARAM_TEXT:
    case PARAM_ID:
    case PARAM_INTEGER:
    case PARAM_NUMBER:
    case PARAM_BOOLEAN:
    case PARAM_TIME:
    case PARAM_TEXT_LIST:
    case PARAM_JSON:
        return NULL;
    }
    return NULL;
}

static struct param make_param(const char *name, json_t *schema, enum param_place place, bool required, const char *where,
                               const char *c_prefix)
{
    struct param param = {
        .name = name,
        .c_name = snake_case(name),
        .where = text("%s.%s", where, name),
        .schema = schema,
        .place = place,
        .required = required,
    };
    param.kind = kind_of(schema, param.where);
    param.type_name = type_name_of(&param, c_prefix);
    if (param.kind == PARAM_OBJECT || param.kind == PARAM_OBJECT_LIST) {
        const json_t *object = param.kind == PARAM_OBJECT ? schema : json_object_get(schema, "items");
        json_t *properties = json_object_get(object, "properties");
        param.fields = make_fields(properties, json_object_get(object, "required"), place, param.where, param.type_name);
        param.field_count = json_object_size(properties);
    }
    return param;
}

static struct param *make_fields(json_t *properties, const json_t *required, enum param_place place, const char *where,
                                 const char *c_prefix)
{
    struct param *fields = calloc(json_object_size(properties) + 1, sizeof(*fields));
    if (fields == NULL) {
        perror("catalogue");
        exit(1);
    }
    size_t at = 0;
    const char *name;
    json_t *schema;
    json_object_foreach(properties, name, schema) {
        bool is_required = place == PLACE_PATH || list_has(required, name);
        fields[at++] = make_param(name, schema, place, is_required, where, c_prefix);
    }
    return fields;
}

static void append_place(struct op_decl *op, const char *member, enum param_place place)
{
    json_t *properties = json_object_get(op->json, member);
    size_t added = json_object_size(properties);
    if (added == 0) {
        return;
    }
    struct param *fields = make_fields(properties, json_object_get(op->json, "required"), place, op->where, op->c_name);
    struct param *joined = realloc(op->params, (op->param_count + added) * sizeof(*joined));
    if (joined == NULL) {
        perror("catalogue");
        exit(1);
    }
    memcpy(joined + op->param_count, fields, added * sizeof(*joined));
    free(fields);
    op->params = joined;
    op->param_count += added;
}

void resolve_params(struct op_decl *op)
{
    append_place(op, "path", PLACE_PATH);
    append_place(op, "query", PLACE_QUERY);
    append_place(op, "body", PLACE_BODY);
}

const struct param *find_param(const struct op_decl *op, const char *name)
{
    for (size_t i = 0; i < op->param_count; i++) {
        if (strcmp(op->params[i].name, name) == 0) {
            return &op->params[i];
        }
    }
    return NULL;
}
