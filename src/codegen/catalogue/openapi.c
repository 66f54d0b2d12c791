#include "openapi.h"

#include "types.h"
#include "words.h"

#include <ctype.h>
#include <string.h>

/* ---- Schemas ---- */

json_t *openapi_relink(json_t *schema)
{
    if (json_is_array(schema)) {
        json_t *items = json_array();
        size_t i;
        json_t *item;
        json_array_foreach(schema, i, item)
        {
            json_array_append_new(items, openapi_relink(item));
        }
        return items;
    }
    if (!json_is_object(schema)) {
        return json_incref(schema);
    }
    json_t *made = json_object();
    const char *name;
    json_t *member;
    json_object_foreach(schema, name, member)
    {
        if (strcmp(name, "$ref") == 0 && json_string_length(member) > strlen(".json")) {
            int length = (int)(json_string_length(member) - strlen(".json"));
            const char *target = text("#/components/schemas/%.*s", length, json_string_value(member));
            json_object_set_new(made, name, json_string(target));
        } else if (strcmp(name, "open") != 0 && strcmp(name, "view") != 0) {
            json_object_set_new(made, name, openapi_relink(member));
        }
    }
    return made;
}

/* Adds the shapes that a part of the document refers to, recursively. Shapes of tools only are left out. */
static void add_used_schemas(const struct catalogue *all, json_t *schemas, json_t *part)
{
    static const char place[] = "#/components/schemas/";
    size_t i;
    json_t *item;
    json_array_foreach(part, i, item)
    {
        add_used_schemas(all, schemas, item);
    }
    const char *reference = member_text(part, "$ref");
    if (reference != NULL && strncmp(reference, place, strlen(place)) == 0) {
        const char *name = reference + strlen(place);
        if (json_object_get(schemas, name) == NULL) {
            json_t *schema = openapi_relink(json_object_get(all->resources, name));
            json_object_set_new(schemas, name, schema);
            add_used_schemas(all, schemas, schema);
        }
    }
    const char *name;
    json_t *member;
    json_object_foreach(part, name, member)
    {
        add_used_schemas(all, schemas, member);
    }
}

/* ---- Parameters and bodies ---- */

static json_t *header_parameter(const char *name, const char *description, int max_length)
{
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:i}}", "name", name, "in", "header", "description", description, "schema", "type",
                     "string", "maxLength", max_length);
}

static void add_parameter(const struct catalogue *all, json_t *list, const struct param *param, bool required)
{
    json_t *schema = param_schema(param, false);
    json_t *row = json_pack("{s:s, s:s, s:b}", "name", param->name, "in", param->place == PLACE_PATH ? "path" : "query", "required",
                            required);
    json_object_set(row, "description", json_object_get(schema, "description"));
    json_object_del(schema, "description");
    if (param->kind == PARAM_TOKENS) {
        json_object_set_new(row, "style", json_string("form"));
        json_object_set_new(row, "explode", json_false());
    }
    json_object_set_new(row, "schema", schema);
    if (required) {
        json_object_set_new(row, "example", example_of_param(all, param));
    }
    json_array_append_new(list, row);
}

static bool parameter_is_listed(const json_t *list, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach(list, i, row)
    {
        if (strcmp(member_text(row, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

/* True when every operation of the route requires the parameter. */
static bool all_require(const struct catalogue *all, const struct op_decl *route, const char *name)
{
    for (size_t i = 0; i < all->op_count; i++) {
        const struct param *param = is_same_route(&all->ops[i], route) ? find_param(&all->ops[i], name) : NULL;
        if (is_same_route(&all->ops[i], route) && (param == NULL || !param->required)) {
            return false;
        }
    }
    return true;
}

/* The path, query and header parameters of all operations of a route. */
static json_t *route_parameters(const struct catalogue *all, const struct op_decl *route)
{
    json_t *list = json_array();
    bool honours_key = false;
    for (size_t at = 0; at < all->op_count; at++) {
        const struct op_decl *op = &all->ops[at];
        if (!is_same_route(op, route)) {
            continue;
        }
        honours_key = honours_key || member_true(op->json, "idempotencyKey");
        for (size_t i = 0; i < op->param_count; i++) {
            const struct param *param = &op->params[i];
            if (param->place != PLACE_BODY && !parameter_is_listed(list, param->name)) {
                add_parameter(all, list, param, all_require(all, route, param->name));
            }
        }
    }
    if (strcmp(member_text(route->json, "reach"), "brand") == 0) {
        json_array_append_new(list, header_parameter("X-Brand-Id", "The brand to use; required with an organization key.", 64));
    }
    if (honours_key) {
        json_array_append_new(
            list, header_parameter("Idempotency-Key", "A request repeated with the same key is executed only once.", 100));
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
        json_t *schema = keep(param_schema(param, false));
        json_object_set_new(properties, param->name, openapi_relink(schema));
        if (param->required) {
            json_array_append_new(required, json_string(param->name));
        }
    }
    if (json_object_size(properties) == 0) {
        json_decref(properties);
        json_decref(required);
        return NULL;
    }
    json_t *body = json_pack("{s:s, s:s, s:s, s:o, s:b}", "type", "object", "title", op->id, "description",
                             member_text(op->json, "summary"), "properties", properties, "additionalProperties", 0);
    if (json_array_size(required) > 0) {
        json_object_set(body, "required", required);
    }
    json_decref(required);
    if (!op->built) {
        json_object_set_new(body, "x-available", json_false());
    }
    return body;
}

/* ---- Paths ---- */

/* The forms of the body, each titled by its operation. The body is optional when an operation requires no member. */
static json_t *request_body(const struct catalogue *all, const struct op_decl *route)
{
    json_t *forms = json_array();
    json_t *examples = json_object();
    bool required = true;
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        json_t *schema = is_same_route(op, route) ? body_schema(op) : NULL;
        if (schema == NULL) {
            continue;
        }
        required = required && json_array_size(json_object_get(schema, "required")) > 0;
        json_object_set_new(
            examples, op->id,
            json_pack("{s:s, s:o}", "summary", member_text(op->json, "summary"), "value", example_request(all, op)));
        json_array_append_new(forms, schema);
    }
    if (json_array_size(forms) == 0) {
        json_decref(forms);
        json_decref(examples);
        return NULL;
    }
    json_t *schema = json_array_size(forms) == 1 ? json_incref(json_array_get(forms, 0)) : json_pack("{s:O}", "anyOf", forms);
    json_decref(forms);
    return json_pack("{s:b, s:{s:{s:o, s:o}}}", "required", required, "content", "application/json", "schema", schema, "examples",
                     examples);
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
    return json_pack("[{s:[]}, {s:[]}, {s:[]}]", "bearer", "apiKey", "session");
}

/* The required scope, the rate limit and the cost of a call. */
static const char *call_facts(const struct catalogue *all, const struct op_decl *op)
{
    const char *scope = member_text(op->json, "scope");
    const char *policy = member_text(op->json, "policy");
    const char *sentences = scope != NULL ? text("Needs the scope %s. ", scope) : "";
    if (policy != NULL) {
        const json_t *rate = json_object_get(json_object_get(all->policies, "rates"), policy);
        sentences = text("%sCounts as %s: %.0f calls in %.0f s. ", sentences, policy, member_number(rate, "limit", 0),
                         member_number(rate, "windowS", 60));
    }
    return text("%s%s%s", sentences, price_sentence(all, op), op->built ? "" : " Not built yet: returns 501 NOT_IMPLEMENTED.");
}

/* One row for each operation of the route: its id, its condition, and whether it is built. */
static json_t *operations_of(const struct catalogue *all, const struct op_decl *route, bool *ret_available)
{
    json_t *rows = json_array();
    *ret_available = false;
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        if (!is_same_route(op, route)) {
            continue;
        }
        json_t *row = json_pack("{s:s, s:b}", "id", op->id, "available", op->built);
        if (json_object_get(op->json, "when") != NULL) {
            json_object_set(row, "when", json_object_get(op->json, "when"));
        }
        json_array_append_new(rows, row);
        *ret_available = *ret_available || op->built;
    }
    return rows;
}

static const char *descriptions(const struct catalogue *all, const struct op_decl *route)
{
    const char *sentences = "";
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        if (is_same_route(op, route)) {
            const char *when =
                json_object_get(op->json, "when") != NULL ? text(" (when `%s`)", json_text(json_object_get(op->json, "when"))) : "";
            sentences = text("%s%s%s%s: %s", sentences, sentences[0] != '\0' ? "\n\n" : "", op->id, when, call_facts(all, op));
        }
    }
    return sentences;
}

static json_t *path_item(const struct catalogue *all, const struct op_decl *route)
{
    bool available;
    json_t *operations = operations_of(all, route, &available);
    json_t *item = json_pack("{s:s, s:s, s:s, s:[s], s:o, s:o}", "operationId", route->id, "summary",
                             member_text(route->json, "summary"), "description", descriptions(all, route), "tags", route->domain,
                             "security", security(route), "parameters", route_parameters(all, route));
    json_t *body = request_body(all, route);
    if (body != NULL) {
        json_object_set_new(item, "requestBody", body);
    }
    json_object_set_new(item, "responses", openapi_responses(all, route));
    json_object_set_new(item, "x-errors", openapi_codes(all, route));
    json_object_set_new(item, "x-operations", operations);
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

/* ---- The document ---- */

static json_t *security_scheme(const char *place, const char *name, const char *description)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "type", "apiKey", "in", place, "name", name, "description", description);
}

static json_t *components(const struct catalogue *all, json_t *described)
{
    json_t *refusals = openapi_refusals(all);
    json_t *schemas = json_object();
    add_used_schemas(all, schemas, described);
    add_used_schemas(all, schemas, refusals);
    json_t *schemes = json_object();
    json_object_set_new(schemes, "bearer",
                        json_pack("{s:s, s:s, s:s}", "type", "http", "scheme", "bearer", "description", "An API key."));
    json_object_set_new(schemes, "apiKey", security_scheme("header", "X-API-Key", "The same API key."));
    json_object_set_new(schemes, "session", security_scheme("cookie", "__session", "A signed-in user."));
    return json_pack("{s:o, s:o, s:o, s:o}", "securitySchemes", schemes, "headers", openapi_headers(), "responses", refusals,
                     "schemas", schemas);
}

static json_t *tags(const struct catalogue *all)
{
    json_t *rows = json_array();
    const char *name;
    json_t *description;
    json_object_foreach(json_object_get(all->interface, "tags"), name, description)
    {
        json_array_append_new(rows, json_pack("{s:s, s:O}", "name", name, "description", description));
    }
    return rows;
}

json_t *openapi_document(const struct catalogue *all)
{
    static json_t *document;
    if (document == NULL) {
        json_t *described = paths(all);
        document = keep(json_pack("{s:s, s:O, s:[{s:s, s:s}], s:o, s:o, s:o}", "openapi", "3.1.0", "info",
                                  json_object_get(all->interface, "info"), "servers", "url", "/", "description",
                                  "The server of this document.", "tags", tags(all), "paths", described, "components",
                                  components(all, described)));
    }
    return document;
}
