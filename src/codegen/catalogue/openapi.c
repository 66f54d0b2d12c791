#include "types.h"
#include "words.h"

#include <ctype.h>
#include <string.h>

/* ---- Schemas ---- */

/* A copy in which references to files are references within the document, without our own members. */
static json_t *relinked(json_t *schema)
{
    if (json_is_array(schema)) {
        json_t *items = json_array();
        size_t i;
        json_t *item;
        json_array_foreach(schema, i, item) {
            json_array_append_new(items, relinked(item));
        }
        return items;
    }
    if (!json_is_object(schema)) {
        return json_incref(schema);
    }
    json_t *made = json_object();
    const char *name;
    json_t *member;
    json_object_foreach(schema, name, member) {
        if (strcmp(name, "$ref") == 0 && json_string_length(member) > strlen(".json")) {
            int length = (int)(json_string_length(member) - strlen(".json"));
            const char *target = text("#/components/schemas/%.*s", length, json_string_value(member));
            json_object_set_new(made, name, json_string(target));
        } else if (strcmp(name, "open") != 0) {
            json_object_set_new(made, name, relinked(member));
        }
    }
    return made;
}

static json_t *component_schemas(const struct catalogue *all)
{
    json_t *schemas = json_object();
    const char *name;
    json_t *schema;
    json_object_foreach(all->resources, name, schema) {
        json_object_set_new(schemas, name, relinked(schema));
    }
    return schemas;
}

static json_t *result_reference(const struct op_decl *op)
{
    json_t *result = json_object_get(op->json, "result");
    if (json_is_string(result)) {
        return json_pack("{s:s}", "$ref", text("#/components/schemas/%s", json_string_value(result)));
    }
    return result != NULL ? relinked(result) : json_pack("{s:s}", "type", "object");
}

/* ---- Parameters and bodies ---- */

static json_t *header_parameter(const char *name, const char *description, int max_length)
{
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:i}}", "name", name, "in", "header", "description", description, "schema", "type",
                     "string", "maxLength", max_length);
}

static void add_parameter(json_t *list, const struct param *param)
{
    json_t *schema = param_schema(param, false);
    json_t *row = json_pack("{s:s, s:s, s:b}", "name", param->name, "in", param->place == PLACE_PATH ? "path" : "query", "required",
                            param->required);
    json_object_set(row, "description", json_object_get(schema, "description"));
    json_object_del(schema, "description");
    if (param->kind == PARAM_TOKENS) {
        json_object_set_new(row, "style", json_string("form"));
        json_object_set_new(row, "explode", json_false());
    }
    json_object_set_new(row, "schema", schema);
    json_array_append_new(list, row);
}

static json_t *parameters(const struct op_decl *op)
{
    json_t *list = json_array();
    for (size_t i = 0; i < op->param_count; i++) {
        if (op->params[i].place != PLACE_BODY) {
            add_parameter(list, &op->params[i]);
        }
    }
    const char *reach = member_text(op->json, "reach");
    if (reach != NULL && strcmp(reach, "brand") == 0) {
        json_array_append_new(list, header_parameter("X-Brand-Id", "The brand to work in; needed with an organization key.", 64));
    }
    if (member_true(op->json, "idempotencyKey")) {
        json_array_append_new(list, header_parameter("Idempotency-Key", "Repeating a request with its key does not repeat the work.", 100));
    }
    return list;
}

/* The body of one operation, NULL when it takes none. */
static json_t *body_schema(const struct op_decl *op)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    for (size_t i = 0; i < op->param_count; i++) {
        const struct param *param = &op->params[i];
        if (param->place != PLACE_BODY) {
            continue;
        }
        json_object_set_new(properties, param->name, param_schema(param, false));
        if (param->required) {
            json_array_append_new(required, json_string(param->name));
        }
    }
    if (json_object_size(properties) == 0) {
        json_decref(properties);
        json_decref(required);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:b}", "type", "object", "title", op->id, "properties", properties, "required", required,
                     "additionalProperties", 0);
}

/* ---- Paths ---- */

/* Whether `at` is one of the operations of this route. */
static bool belongs(const struct catalogue *all, size_t at, const struct op_decl *route)
{
    return is_same_route(&all->ops[at], route);
}

static json_t *request_body(const struct catalogue *all, const struct op_decl *route)
{
    json_t *forms = json_array();
    for (size_t i = 0; i < all->op_count; i++) {
        json_t *schema = belongs(all, i, route) ? body_schema(&all->ops[i]) : NULL;
        if (schema != NULL) {
            json_array_append_new(forms, schema);
        }
    }
    if (json_array_size(forms) == 0) {
        json_decref(forms);
        return NULL;
    }
    json_t *schema = json_array_size(forms) == 1 ? json_incref(json_array_get(forms, 0)) : json_pack("{s:O}", "anyOf", forms);
    json_decref(forms);
    return json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content", "application/json", "schema", schema);
}

static json_t *responses(const struct catalogue *all, const struct op_decl *route)
{
    json_t *rows = json_object();
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        const char *status = text("%.0f", member_number(op->json, "status", 200));
        if (belongs(all, i, route) && json_object_get(rows, status) == NULL) {
            json_object_set_new(rows, status,
                                json_pack("{s:s, s:{s:{s:o}}}", "description", member_text(op->json, "summary"), "content",
                                          "application/json", "schema", result_reference(op)));
        }
    }
    json_object_set_new(rows, "default", json_pack("{s:s}", "$ref", "#/components/responses/error"));
    return rows;
}

static json_t *security(const struct op_decl *op)
{
    const char *reach = member_text(op->json, "reach");
    if (reach != NULL && strcmp(reach, "public") == 0) {
        return json_array();
    }
    if (reach != NULL && strcmp(reach, "session") == 0) {
        return json_pack("[{s:[]}]", "session");
    }
    return json_pack("[{s:[]}, {s:[]}]", "bearer", "apiKey");
}

static json_t *errors_of(const struct catalogue *all, const struct op_decl *route)
{
    json_t *codes = json_array();
    for (size_t i = 0; i < all->op_count; i++) {
        size_t at;
        json_t *code;
        json_array_foreach(belongs(all, i, route) ? json_object_get(all->ops[i].json, "errors") : NULL, at, code) {
            if (!list_has(codes, json_string_value(code))) {
                json_array_append(codes, code);
            }
        }
    }
    return codes;
}

static json_t *path_item(const struct catalogue *all, const struct op_decl *route)
{
    bool available = false;
    for (size_t i = 0; i < all->op_count; i++) {
        available = available || (belongs(all, i, route) && all->ops[i].built);
    }
    json_t *item = json_pack("{s:s, s:s, s:[s], s:o, s:o}", "operationId", route->id, "summary", member_text(route->json, "summary"),
                             "tags", route->domain, "security", security(route), "parameters", parameters(route));
    json_t *body = request_body(all, route);
    if (body != NULL) {
        json_object_set_new(item, "requestBody", body);
    }
    json_object_set_new(item, "responses", responses(all, route));
    json_object_set_new(item, "x-errors", errors_of(all, route));
    json_object_set_new(item, "x-available", json_boolean(available));
    return item;
}

static json_t *paths(const struct catalogue *all)
{
    json_t *made = json_object();
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        if (!is_main_of_route(all, i)) {
            continue;
        }
        json_t *methods = json_object_get(made, op->path);
        if (methods == NULL) {
            methods = json_object();
            json_object_set_new(made, op->path, methods);
        }
        char *method = text("%s", op->method);
        for (char *p = method; *p != '\0'; p++) {
            *p = (char)tolower((unsigned char)*p);
        }
        json_object_set_new(methods, method, path_item(all, op));
    }
    return made;
}

static json_t *components(const struct catalogue *all)
{
    json_t *schemes = json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "bearer", "type", "http", "scheme", "bearer",
                                "apiKey", "type", "apiKey", "in", "header", "name", "X-API-Key", "session", "type", "apiKey", "in",
                                "cookie", "name", "__session");
    json_t *error = json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", "A refusal; branch on error.code.", "content",
                              "application/json", "schema", "$ref", "#/components/schemas/errorEnvelope");
    return json_pack("{s:o, s:{s:o}, s:o}", "securitySchemes", schemes, "responses", "error", error, "schemas", component_schemas(all));
}

json_t *openapi_document(const struct catalogue *all)
{
    static json_t *document;
    if (document == NULL) {
        document = keep(json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:o}", "openapi", "3.1.0", "info", "title", "Posthorn", "version",
                                  "1.0.0", "summary", "Email design, sending and automation.", "paths", paths(all), "components",
                                  components(all)));
    }
    return document;
}
